#include "weir/base/actor_loop.h"

#include <string>

#include "unit/base/executors.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

template <class T>
struct ActorLoopTest : ::testing::Test {
  typename T::Executor executor;
  ActorLoop loop;
  std::string order;

  Mail note(char c) {
    return {"note", [this, c] { order += c; }};
  }
  Mail stop() {
    return {"stop", [this] { loop.stop(); }};
  }
  void runLoop() {
    executor.run("main", [this](ExecutionContext& context) { loop.run(context); });
  }
};
TYPED_TEST_SUITE(ActorLoopTest, AllExecutors, ExecutorNames);

TYPED_TEST(ActorLoopTest, RunsMailsInTheOrderOfTheirPostsAndUrgentOnesFirst) {
  this->loop.post(this->note('a'));
  this->loop.post(this->note('b'));
  this->loop.postUrgent(this->note('x'));
  this->loop.postUrgent(this->note('y'));
  this->loop.post(this->stop());
  this->runLoop();
  EXPECT_EQ(this->order, "xyab");
}

TYPED_TEST(ActorLoopTest, RunsTimersInTheOrderOfTheirDeadlinesThenOfTheirPosts) {
  const Nanos now = this->executor.clock().monotonic();
  this->loop.postAt(Deadline::work(now + 5ms), this->stop());
  this->loop.postAt(Deadline::work(now + 3ms), this->note('c'));
  this->loop.postAt(Deadline::work(now + 1ms), this->note('a'));
  this->loop.postAt(Deadline::work(now + 3ms), this->note('d'));
  this->loop.postAt(Deadline::work(now + 2ms), this->note('b'));
  this->runLoop();
  EXPECT_EQ(this->order, "abcd");
  EXPECT_GE(this->executor.clock().monotonic(), now + 5ms);
}

TYPED_TEST(ActorLoopTest, ACancelledTimerDoesNotRun) {
  const Nanos now = this->executor.clock().monotonic();
  const auto id = this->loop.postAt(Deadline::work(now + 1ms), this->note('a'));
  this->loop.postAt(Deadline::work(now + 2ms), this->note('b'));
  this->loop.postAt(Deadline::work(now + 3ms), this->stop());
  EXPECT_TRUE(this->loop.cancel(id));
  EXPECT_FALSE(this->loop.cancel(id)) << "once only";
  EXPECT_FALSE(this->loop.cancel({})) << "no timer";
  this->runLoop();
  EXPECT_EQ(this->order, "b");
}

TYPED_TEST(ActorLoopTest, ATimerThatHasRunCannotBeCancelled) {
  ActorLoop::TimerId id;
  id = this->loop.postAt(Deadline::work(this->executor.clock().monotonic()), {"once", [&] {
                                                                               this->loop.post({"check", [&] {
                                                                                                  EXPECT_FALSE(this->loop.cancel(id));
                                                                                                  this->loop.stop();
                                                                                                }});
                                                                             }});
  this->runLoop();
}

TYPED_TEST(ActorLoopTest, AnEarlierTimerFromAnotherActorShortensTheWait) {
  this->executor.run("main", [this](ExecutionContext& context) {
    auto actor = this->executor.spawn({.name = "loop"}, [this](ExecutionContext& own) { this->loop.run(own); });
    const Nanos now = context.clock().monotonic();
    this->loop.postAt(Deadline::work(now + 1h), this->note('z'));
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(now + 1ms));
    this->loop.postAt(Deadline::work(now + 2ms), this->stop());
    await(context, actor->done());
    EXPECT_LT(context.clock().monotonic(), now + 1h);
  });
  EXPECT_EQ(this->order, "");
}

TYPED_TEST(ActorLoopTest, NeitherMailsNorDueTimersStarveTheOther) {
  std::function<void()> again = [&] {
    this->order += 'm';
    this->loop.post({"again", again});
  };
  const Nanos now = this->executor.clock().monotonic();
  std::function<void()> tick = [&] {
    this->order += 't';
    if (std::count(this->order.begin(), this->order.end(), 't') == 5) this->loop.stop();
    else this->loop.postAt(Deadline::work(now), {"tick", tick});
  };
  this->loop.post({"again", again});
  this->loop.postAt(Deadline::work(now), {"tick", tick});
  this->runLoop();
  EXPECT_EQ(this->order, "tmtmtmtmt");
}

TYPED_TEST(ActorLoopTest, AStoppedLoopDropsEverything) {
  auto owned = std::make_shared<int>();
  this->loop.post({"queued", [owned] {}});
  this->loop.postAt(Deadline::work(1h), {"timer", [owned] {}});
  EXPECT_EQ(owned.use_count(), 3);
  this->loop.stop();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_FALSE(this->loop.post(this->note('a')));
  EXPECT_FALSE(this->loop.postUrgent(this->note('a')));
  EXPECT_FALSE(this->loop.postAt(Deadline::work(0ms), this->note('a')));
  this->runLoop();
  EXPECT_EQ(this->order, "");
}

TYPED_TEST(ActorLoopTest, CancellingItsActorStopsTheLoop) {
  this->executor.run("main", [this](ExecutionContext& context) {
    auto actor = this->executor.spawn({.name = "loop"}, [this](ExecutionContext& own) { this->loop.run(own); });
    actor->cancel();
    await(context, actor->done());
  });
  EXPECT_TRUE(this->loop.isStopped());
  EXPECT_FALSE(this->loop.post(this->note('a')));
}

TYPED_TEST(ActorLoopTest, AnExceptionOfAMailLeavesRunAndStopsTheLoop) {
  this->loop.post({"bad", [] { throw std::runtime_error("bad mail"); }});
  EXPECT_THROW(this->runLoop(), std::runtime_error);
  EXPECT_TRUE(this->loop.isStopped());
}

TYPED_TEST(ActorLoopTest, TakesMailsFromManyActors) {
  int64_t sum = 0;
  this->executor.run("main", [&](ExecutionContext& context) {
    auto actor = this->executor.spawn({.name = "loop"}, [this](ExecutionContext& own) { this->loop.run(own); });
    std::vector<std::shared_ptr<Actor>> senders;
    for (int i = 0; i < 4; ++i) {
      senders.push_back(this->executor.spawn({.name = "sender " + std::to_string(i)}, [&](ExecutionContext& own) {
        for (int n = 1; n <= 500; ++n) {
          const Nanos soon = own.clock().monotonic() + 50us;
          if (n % 2) this->loop.post({"add", [&sum, n] { sum += n; }});
          else this->loop.postAt(Deadline::work(soon), {"add later", [&sum, n] { sum += n; }});
          own.interleave("sent");
        }
      }));
    }
    for (auto& sender : senders) await(context, sender->done());
    this->loop.postAt(Deadline::work(context.clock().monotonic() + 1ms), this->stop());
    await(context, actor->done());
  });
  EXPECT_EQ(sum, 4 * 500 * 501 / 2);
}

TEST(ActorLoopInSimulation, WaitsForWorkBehindHousekeeping) {
  SimulatedExecutor executor;
  ActorLoop loop;
  bool late = false;
  executor.run("main", [&](ExecutionContext& context) {
    auto actor = executor.spawn({.name = "loop"}, [&](ExecutionContext& own) { loop.run(own); });
    loop.postAt(Deadline::work(2h), {"work", [&] {
                                       late = true;
                                       loop.stop();
                                     }});
    std::function<void()> beat = [&] { loop.postAt(Deadline::housekeeping(executor.clock().monotonic() + 10s), {"beat", beat}); };
    beat();
    context.wait(WaitReason::kInputOrMail, {&actor->done()});
  });
  EXPECT_TRUE(late);
}

TEST(ActorLoopInSimulation, HeartBeatsAloneAreADeadlock) {
  SimulatedExecutor executor;
  ActorLoop loop;
  std::function<void()> beat = [&] { loop.postAt(Deadline::housekeeping(executor.clock().monotonic() + 10s), {"beat", beat}); };
  const auto run = [&] {
    executor.run("main", [&](ExecutionContext& context) {
      auto actor = executor.spawn({.name = "loop"}, [&](ExecutionContext& own) { loop.run(own); });
      beat();
      context.wait(WaitReason::kInputOrMail, {&actor->done()});
    });
  };
  EXPECT_THROW(run(), SimulationError);
}

}  // namespace
}  // namespace weir
