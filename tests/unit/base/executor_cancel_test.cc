#include <atomic>

#include "unit/base/executors.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

template <class T>
struct ExecutorCancel : ExecutorContract<T> {};
TYPED_TEST_SUITE(ExecutorCancel, AllExecutors, ExecutorNames);

TYPED_TEST(ExecutorCancel, EndsAWaitForASignal) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    auto never = makeSignal("never");
    ready.set();
    own.wait(WaitReason::kOutputBuffer, {never.get()});
  }));
}

TYPED_TEST(ExecutorCancel, EndsASleep) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    ready.set();
    own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1h));
  }));
}

TYPED_TEST(ExecutorCancel, EndsASleptCost) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    ready.set();
    own.spend(1h, CostMode::kSleep);
  }));
}

TYPED_TEST(ExecutorCancel, EndsASpunCost) {
  typename TypeParam::Executor executor;
  bool cancelled = false;
  executor.run("main", [&](ExecutionContext&) {
    auto actor = executor.spawn({.name = "spinner"}, [&](ExecutionContext& own) {
      try {
        own.spend(1h, CostMode::kSpin);
      } catch (const TaskCancelled&) {
        cancelled = true;
      }
    });
  });  // the end of the run cancels it
  EXPECT_TRUE(cancelled);
}

TYPED_TEST(ExecutorCancel, EndsTheWaitsThatFollow) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    ready.set();
    while (!own.isCancelled()) {
      own.interleave("until cancelled");
      own.bill(1);
    }
    auto set = makeSignal();
    set->set();
    own.wait(WaitReason::kInputOrMail, {set.get()});
  }));
}

TYPED_TEST(ExecutorCancel, AnActorCancelledBeforeItBeginsStillBegins) {
  bool began = false, waited = false;
  this->run([&](ExecutionContext& context) {
    auto actor = this->spawn("victim", [&](ExecutionContext& own) {
      began = true;
      own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1h));
      waited = true;
    });
    actor->cancel();
    await(context, actor->done());
  });
  EXPECT_TRUE(began);
  EXPECT_FALSE(waited);
}

TYPED_TEST(ExecutorCancel, NeitherBillNorInterleaveThrowsWhenCancelled) {
  bool passed = false;
  this->endsWhenCancelled([&](ExecutionContext& own, Signal& ready) {
    ready.set();
    while (!own.isCancelled()) own.interleave("until cancelled");
    for (int i = 0; i < 1'000; ++i) {
      own.bill(100);
      own.interleave("after");
    }
    passed = true;
  });
  EXPECT_TRUE(passed);
}

TYPED_TEST(ExecutorCancel, AShieldedWaitOutlivesCancellation) {
  WaitOutcome outcome = WaitOutcome::kSignalled;
  EXPECT_TRUE(this->endsWhenCancelled([&](ExecutionContext& own, Signal& ready) {
    own.setShielded(true);
    ready.set();
    while (!own.isCancelled()) own.interleave("until cancelled");
    outcome = own.wait(WaitReason::kFile, {}, Deadline::work(own.clock().monotonic() + 1ms));
    own.setShielded(false);
    own.checkCancelled();
  }));
  EXPECT_EQ(outcome, WaitOutcome::kDeadline);
}

TYPED_TEST(ExecutorCancel, KillEndsAProcessAndNoOther) {
  bool killed = false, other = false;
  this->run([&](ExecutionContext& context) {
    auto ready = makeSignal("ready");
    auto victim = this->executor.spawn({.name = "victim", .process = "tm-1"}, [&, ready](ExecutionContext& own) {
      own.setShielded(true);
      ready->set();
      auto never = makeSignal("never");
      try {
        own.wait(WaitReason::kInputOrMail, {never.get()});
      } catch (const TaskCancelled&) {
        killed = true;
      }
    });
    auto bystander = this->executor.spawn({.name = "bystander", .process = "tm-2"}, [&](ExecutionContext& own) {
      own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 5ms));
      other = true;
    });
    await(context, *ready);
    this->executor.kill("tm-1");
    await(context, victim->done());
    await(context, bystander->done());
  });
  EXPECT_TRUE(killed);
  EXPECT_TRUE(other);
}

TYPED_TEST(ExecutorCancel, TheEndOfARunUnwindsEverybody) {
  struct Count {
    explicit Count(std::atomic<int>& n) : count(n) {}
    ~Count() { ++count; }
    std::atomic<int>& count;
  };
  std::atomic<int> unwound{0};
  this->run([&](ExecutionContext& context) {
    auto ready = makeSignal("ready");
    auto begun = std::make_shared<std::atomic<int>>(0);
    for (int i = 0; i < 10; ++i) {
      this->spawn("left behind " + std::to_string(i), [&unwound, i, ready, begun](ExecutionContext& own) {
        Count count(unwound);
        own.setShielded(i == 3);  // killed after the grace
        if (++*begun == 10) ready->set();
        auto never = makeSignal("never");
        own.wait(WaitReason::kInputOrMail, {never.get()});
      });
    }
    await(context, *ready);
  });
  EXPECT_EQ(unwound, 10);
}

}  // namespace
}  // namespace weir
