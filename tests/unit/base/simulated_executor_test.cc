#include "weir/base/simulated_executor.h"

#include <gmock/gmock.h>

#include <set>

#include "unit/base/executors.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

/// Five actors that meet at interleaving points; returns the order in which they got there.
std::string race(SimulatedExecutor& executor) {
  std::string order;
  executor.run("main", [&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> actors;
    for (char name = 'a'; name < 'f'; ++name) {
      actors.push_back(executor.spawn({.name = std::string(1, name)}, [&order, name](ExecutionContext& own) {
        for (int i = 0; i < 4; ++i) {
          order += name;
          own.bill(static_cast<int64_t>(own.random().below(50)));
          own.interleave("race");
        }
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
  });
  return order;
}

/// The error that the run ends with; an empty text if none.
std::string failureOf(SimulatedExecutor& executor, SimulationError::Kind kind, const std::function<void(ExecutionContext&)>& body) {
  try {
    executor.run("main", body);
  } catch (const SimulationError& e) {
    EXPECT_EQ(e.kind(), kind);
    return e.what();
  }
  return "";
}

TEST(SimulatedExecutor, ReplaysASeed) {
  SimulatedExecutor one({.seed = 42}), again({.seed = 42});
  EXPECT_EQ(race(one), race(again));
  EXPECT_EQ(one.traceHash(), again.traceHash());
  EXPECT_EQ(one.steps(), again.steps());
  EXPECT_EQ(one.clock().monotonic(), again.clock().monotonic());
  EXPECT_EQ(one.trace(), again.trace());
}

TEST(SimulatedExecutor, FindsAnotherOrderWithAnotherSeed) {
  std::set<std::string> orders;
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SimulatedExecutor executor({.seed = seed});
    orders.insert(race(executor));
    hashes.insert(executor.traceHash());
  }
  EXPECT_EQ(orders.size(), 50u);
  EXPECT_EQ(hashes.size(), 50u);
}

TEST(SimulatedExecutor, LetsAnybodyGoFirst) {
  std::set<char> first;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SimulatedExecutor executor({.seed = seed});
    first.insert(race(executor).front());
  }
  EXPECT_EQ(first.size(), 5u);
}

TEST(SimulatedExecutor, BeginsAtAFixedDateAndJumpsOverTimeInWhichNobodyRuns) {
  SimulatedExecutor executor;
  executor.run("main", [](ExecutionContext& context) {
    EXPECT_EQ(context.clock().epochMillis(), 1'704'067'200'000);
    const Nanos until = context.clock().monotonic() + 24h;
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(until));
    EXPECT_GE(context.clock().monotonic(), until);
    EXPECT_LT(context.clock().monotonic(), until + 1ms);
    EXPECT_EQ(context.clock().epochMillis(), 1'704'067'200'000 + 24 * 3'600'000);
  });
  EXPECT_LT(executor.steps(), 10u);
}

TEST(SimulatedExecutor, ChargesRecordsSoThatABusySourceCannotStopTheClock) {
  SimulatedExecutor executor;
  executor.run("main", [&](ExecutionContext& context) {
    auto stop = std::make_shared<bool>(false);
    int64_t records = 0;
    auto source = executor.spawn({.name = "source"}, [stop, &records](ExecutionContext& own) {
      for (; !*stop; records += 64) own.bill(64);
    });
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 10ms));
    *stop = true;
    await(context, source->done());
    EXPECT_NEAR(static_cast<double>(records), 100'000, 40'000) << "100 ns each, and some steps";
  });
}

TEST(SimulatedExecutor, GivesEachActorACoreOfItsOwnUnlessTold) {
  const auto took = [](int cores) {
    SimulatedExecutor executor({.cores = cores});
    Nanos end{};
    executor.run("main", [&](ExecutionContext& context) {
      std::vector<std::shared_ptr<Actor>> actors;
      for (int i = 0; i < 8; ++i) {
        actors.push_back(executor.spawn({.name = "spinner " + std::to_string(i)}, [](ExecutionContext& own) {
          for (int n = 0; n < 10; ++n) own.spend(1ms, CostMode::kSpin);
        }));
      }
      for (auto& actor : actors) await(context, actor->done());
      end = context.clock().monotonic();
    });
    return end;
  };
  EXPECT_NEAR(static_cast<double>(took(0).count()), 10e6, 1e6);
  EXPECT_NEAR(static_cast<double>(took(2).count()), 40e6, 2e6);
  EXPECT_NEAR(static_cast<double>(took(1).count()), 80e6, 2e6);
}

TEST(SimulatedExecutor, ReportsADeadlockWithNamesAndWhatTheyWaitFor) {
  SimulatedExecutor executor({.seed = 9});
  auto never = makeSignal("credit"), none = makeSignal("buffers");
  const std::string report = failureOf(executor, SimulationError::Kind::kDeadlock, [&](ExecutionContext& context) {
    executor.spawn({.name = "map (1/2)", .process = "tm-1"},
                   [&](ExecutionContext& own) { own.wait(WaitReason::kOutputBuffer, {none.get()}); });
    context.wait(WaitReason::kInputOrMail, {never.get()});
  });
  EXPECT_THAT(report, HasSubstr("deadlock: nobody can run, with seed 9"));
  EXPECT_THAT(report, HasSubstr("#0 'main' waits for input or mail: credit\n"));
  EXPECT_THAT(report, HasSubstr("#1 'map (1/2)' of tm-1 waits for output buffer: buffers\n"));
  EXPECT_THAT(report, HasSubstr("last steps:\n"));
}

TEST(SimulatedExecutor, ReportsADeadlockThoughHousekeepingGoesOn) {
  SimulatedExecutor executor;
  auto never = makeSignal("credit");
  const std::string report = failureOf(executor, SimulationError::Kind::kDeadlock, [&](ExecutionContext& context) {
    executor.spawn({.name = "gauges"}, [](ExecutionContext& own) {
      for (;;) own.wait(WaitReason::kInputOrMail, {}, Deadline::housekeeping(own.clock().monotonic() + 5s));
    });
    context.wait(WaitReason::kInputOrMail, {never.get()});
  });
  EXPECT_THAT(report, HasSubstr("nothing but housekeeping is left"));
  EXPECT_THAT(report, HasSubstr("'gauges' waits for input or mail, until"));
  EXPECT_THAT(report, HasSubstr("(housekeeping)"));
  EXPECT_LT(executor.clock().monotonic(), 70s);
}

TEST(SimulatedExecutor, LetsHousekeepingFreeSomebody) {
  SimulatedExecutor executor;
  auto flushed = makeSignal("flushed");
  executor.run("main", [&](ExecutionContext& context) {
    executor.spawn({.name = "flusher"}, [&](ExecutionContext& own) {
      own.wait(WaitReason::kInputOrMail, {}, Deadline::housekeeping(own.clock().monotonic() + 100ms));
      flushed->set();
    });
    EXPECT_EQ(context.wait(WaitReason::kInputOrMail, {flushed.get()}), WaitOutcome::kSignalled);
  });
}

TEST(SimulatedExecutor, ReportsALivelockWithNames) {
  SimulatedExecutor executor({.livelockSteps = 1'000});
  const std::string report = failureOf(executor, SimulationError::Kind::kLivelock, [&](ExecutionContext& context) {
    executor.spawn({.name = "poller"}, [](ExecutionContext& own) {
      for (;;) {
        own.checkCancelled();
        own.interleave("poll");
      }
    });
    auto never = makeSignal("never");
    context.wait(WaitReason::kInputOrMail, {never.get()});
  });
  EXPECT_THAT(report, HasSubstr("livelock: 1000 steps without progress"));
  EXPECT_THAT(report, HasSubstr("'poller' can run, from 'poll'"));
}

TEST(SimulatedExecutor, TakesProgressMarksForProgress) {
  SimulatedExecutor executor({.livelockSteps = 1'000});
  executor.run("main", [&](ExecutionContext& context) {
    for (int i = 0; i < 10'000; ++i) {
      if (i % 500 == 0) context.progress();
      context.interleave("loop");
    }
  });
  EXPECT_GT(executor.steps(), 10'000u);
}

TEST(SimulatedExecutor, EndsARunAtItsTimeLimit) {
  SimulatedExecutor executor({.timeLimit = 1s});
  const std::string report = failureOf(executor, SimulationError::Kind::kTimeLimit, [](ExecutionContext& context) {
    for (;;) context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 1ms));
  });
  EXPECT_THAT(report, HasSubstr("the run has reached its time limit"));
}

TEST(SimulatedExecutor, RunsAgainAfterAFailure) {
  SimulatedExecutor executor;
  auto never = makeSignal();
  failureOf(executor, SimulationError::Kind::kDeadlock,
            [&](ExecutionContext& context) { context.wait(WaitReason::kInputOrMail, {never.get()}); });
  bool ran = false;
  executor.run("main", [&](ExecutionContext&) { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(SimulatedExecutor, DoesNotLoseAnExceptionThrownWhileUnwinding) {
  SimulatedExecutor executor;
  const auto run = [&] {
    executor.run("main", [&](ExecutionContext& context) {
      executor.spawn({.name = "clumsy"}, [](ExecutionContext& own) {
        try {
          own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1h));
        } catch (const TaskCancelled&) {
          throw std::runtime_error("while cleaning up");
        }
      });
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 1ms));
    });
  };
  EXPECT_THROW(run(), ActorFailure);
}

TEST(SimulatedExecutor, UnwindsActorsThatSpawnOthersOnTheirWayOut) {
  SimulatedExecutor executor;
  int ended = 0;
  executor.run("main", [&](ExecutionContext& context) {
    executor.spawn({.name = "parent"}, [&](ExecutionContext& own) {
      try {
        own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1h));
      } catch (const TaskCancelled&) {
        executor.spawn({.name = "child"}, [&](ExecutionContext& child) {
          ++ended;
          child.wait(WaitReason::kInputOrMail, {}, Deadline::work(child.clock().monotonic() + 1h));
          ++ended;
        });
        throw;
      }
    });
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + 1ms));
  });
  EXPECT_EQ(ended, 1) << "the child begins, and is cancelled";
}

TEST(SimulatedExecutor, DestroysActorsThatNeverRan) {
  auto owned = std::make_shared<int>(1);
  {
    SimulatedExecutor executor;
    executor.spawn({.name = "too early"}, [owned](ExecutionContext&) {});
    EXPECT_EQ(owned.use_count(), 2);
  }
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(SimulatedExecutor, WakesThousandsOfSleepersInOrder) {
  SimulatedExecutor executor({.shortestStep = 0ns, .longestStep = 0ns});
  std::vector<Nanos> woken;
  executor.run("main", [&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> actors;
    auto early = std::make_shared<std::vector<Signal>>(2'000);
    for (int i = 0; i < 2'000; ++i) {
      actors.push_back(executor.spawn({.name = "sleeper " + std::to_string(i)}, [&woken, early, i](ExecutionContext& own) {
        const Nanos at = Millis(1) + Nanos(own.random().below(1'000'000'000));
        // Some are woken before their deadline, and leave the heap from its middle.
        const auto outcome = own.wait(WaitReason::kInputOrMail, {&(*early)[i]}, Deadline::work(at));
        if (outcome == WaitOutcome::kDeadline) woken.push_back(at);
      }));
    }
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(500us));
    for (int i = 0; i < 2'000; i += 3) (*early)[i].set();
    for (auto& actor : actors) await(context, actor->done());
  });
  EXPECT_EQ(woken.size(), 2'000u - 667u);
  EXPECT_TRUE(std::is_sorted(woken.begin(), woken.end()));
}

TEST(SimulatedExecutor, KeepsTheLastStepsAsText) {
  SimulatedExecutor executor({.traceLines = 3});
  race(executor);
  const std::string text = executor.trace();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_THAT(text, HasSubstr("#0 'main' from 'wait'"));
}

using SimulatedExecutorDeathTest = ::testing::Test;

TEST(SimulatedExecutorDeathTest, AnInterleavingPointWithAMutexHeldAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto interleave = [] {
    SimulatedExecutor().run("main", [](ExecutionContext& context) {
      Mutex mutex;
      Lock lock(mutex);
      context.interleave("here");
    });
  };
  EXPECT_DEATH(interleave(), "heldMutexes");
}

TEST(SimulatedExecutorDeathTest, TheContextOfAnotherActorAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto borrow = [] {
    SimulatedExecutor executor;
    executor.run("main", [&](ExecutionContext& context) {
      auto actor = executor.spawn({.name = "thief"}, [&](ExecutionContext&) { context.interleave("here"); });
      await(context, actor->done());
    });
  };
  EXPECT_DEATH(borrow(), "context of 'main' is used by somebody else");
}

}  // namespace
}  // namespace weir
