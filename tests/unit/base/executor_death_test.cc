#include <gmock/gmock.h>

#include <stdexcept>

#include "unit/base/executors.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

template <class T>
struct ExecutorDeathTest : ExecutorContract<T> {
  ExecutorDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
TYPED_TEST_SUITE(ExecutorDeathTest, AllExecutors, ExecutorNames);

TYPED_TEST(ExecutorDeathTest, AWaitWithAMutexHeldAborts) {
  const auto wait = [&] {
    this->run([](ExecutionContext& context) {
      Mutex mutex;
      Lock lock(mutex);
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic()));
    });
  };
  EXPECT_DEATH(wait(), "heldMutexes");
}

TYPED_TEST(ExecutorDeathTest, ASecondWaiterOnASignalAborts) {
  const auto wait = [&] {
    this->run([&](ExecutionContext& context) {
      auto one = makeSignal("crowded");
      for (const char* name : {"first", "second"}) {
        this->spawn(name, [one](ExecutionContext& own) { own.wait(WaitReason::kInputOrMail, {one.get()}); });
      }
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 20s));
    });
  };
  EXPECT_DEATH(wait(), "'crowded' has two waiters");
}

TYPED_TEST(ExecutorDeathTest, SwallowingCancellationForEverAborts) {
  const auto swallow = [&] {
    this->run([&](ExecutionContext&) {
      this->spawn("glutton", [](ExecutionContext& own) {
        for (;;) {
          try {
            auto never = makeSignal();
            own.wait(WaitReason::kInputOrMail, {never.get()});
          } catch (const TaskCancelled&) {
          }
        }
      });
    });
  };
  EXPECT_DEATH(swallow(), "'glutton' swallows TaskCancelled");
}

TYPED_TEST(ExecutorDeathTest, AnExceptionThatLeavesAnActorIsNotLost) {
  const auto fail = [&] {
    this->run([&](ExecutionContext& context) {
      this->spawn("careless", [](ExecutionContext&) { throw std::runtime_error("oops"); });
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 20s));
    });
  };
  if (TypeParam::kReal) {
    EXPECT_DEATH(fail(), "actor 'careless' failed: java.lang.Exception: oops");
  } else {
    try {
      fail();
      FAIL() << "it was lost";
    } catch (const ActorFailure& e) {
      EXPECT_THAT(e.what(), HasSubstr("actor 'careless' failed"));
      EXPECT_THROW(std::rethrow_exception(e.cause()), std::runtime_error);
    }
  }
}

}  // namespace
}  // namespace weir
