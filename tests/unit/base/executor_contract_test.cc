#include <gmock/gmock.h>

#include <atomic>
#include <deque>
#include <stdexcept>

#include "unit/base/executors.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

template <class T>
struct ExecutorContract : ::testing::Test {
  typename T::Executor executor;

  void run(const std::function<void(ExecutionContext&)>& body) { executor.run("main", body); }
  std::shared_ptr<Actor> spawn(std::string name, std::function<void(ExecutionContext&)> body) {
    return executor.spawn({.name = std::move(name)}, std::move(body));
  }
  /// Starts `body`, cancels it once it has set the signal that it is given, and waits for its end.
  bool endsWhenCancelled(const std::function<void(ExecutionContext&, Signal&)>& body) {
    bool cancelled = false;
    run([&](ExecutionContext& context) {
      auto ready = makeSignal("ready");
      auto actor = spawn("victim", [&, ready](ExecutionContext& own) {
        try {
          body(own, *ready);
        } catch (const TaskCancelled&) {
          cancelled = true;
          throw;
        }
      });
      await(context, *ready);
      actor->cancel();
      await(context, actor->done());
    });
    return cancelled;
  }
};
TYPED_TEST_SUITE(ExecutorContract, AllExecutors, ExecutorNames);

TYPED_TEST(ExecutorContract, RunReturnsAfterItsBody) {
  int ran = 0;
  this->run([&](ExecutionContext& context) {
    EXPECT_EQ(context.name(), "main");
    ++ran;
  });
  this->run([&](ExecutionContext&) { ++ran; });
  EXPECT_EQ(ran, 2);
}

TYPED_TEST(ExecutorContract, WhatLeavesTheMainBodyLeavesRun) {
  EXPECT_THROW(this->run([](ExecutionContext&) { throw std::out_of_range("main"); }), std::out_of_range);
}

TYPED_TEST(ExecutorContract, AnActorBeginsAfterSpawnAndTellsItsEnd) {
  this->run([&](ExecutionContext& context) {
    auto go = makeSignal("go");
    auto actor = this->spawn("worker", [go](ExecutionContext& own) { await(own, *go); });
    EXPECT_EQ(actor->name(), "worker");
    EXPECT_FALSE(actor->isDone());
    go->set();
    await(context, actor->done());
    EXPECT_TRUE(actor->isDone());
  });
}

TYPED_TEST(ExecutorContract, NoWakeUpIsLost) {
  struct Shared {
    Signal there{"there"}, back{"back"};
    std::atomic<int> sent{0}, seen{0};
  };
  constexpr int kRounds = 20'000, kPairs = 4;
  this->run([&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> actors;
    for (int pair = 0; pair < kPairs; ++pair) {
      auto shared = std::make_shared<Shared>();
      actors.push_back(this->spawn("sender " + std::to_string(pair), [shared](ExecutionContext& own) {
        for (int i = 1; i <= kRounds; ++i) {
          shared->sent = i;
          shared->there.set();
          own.progress();
          while (shared->seen != i) {
            shared->back.reset();
            if (shared->seen != i) await(own, shared->back);
            if (::testing::Test::HasFatalFailure()) return;
          }
        }
      }));
      actors.push_back(this->spawn("receiver " + std::to_string(pair), [shared](ExecutionContext& own) {
        while (shared->seen != kRounds) {
          shared->there.reset();
          if (shared->sent == shared->seen) await(own, shared->there);
          if (::testing::Test::HasFatalFailure()) return;
          if (shared->sent != shared->seen) {
            shared->seen = shared->sent.load();
            shared->back.set();
          }
        }
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
  });
}

TYPED_TEST(ExecutorContract, OneWaiterHearsManySignallers) {
  struct Shared {
    Signal any{"any"};
    std::atomic<int> count{0};
  };
  constexpr int kActors = 6, kEach = 3'000;
  this->run([&](ExecutionContext& context) {
    auto shared = std::make_shared<Shared>();
    for (int i = 0; i < kActors; ++i) {
      this->spawn("caller " + std::to_string(i), [shared](ExecutionContext& own) {
        for (int n = 0; n < kEach; ++n) {
          ++shared->count;
          shared->any.set();
          own.bill(1);
        }
      });
    }
    while (shared->count != kActors * kEach) {
      shared->any.reset();
      if (shared->count != kActors * kEach) await(context, shared->any);
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST(ExecutorContract, AWaitEndsAtItsDeadlineAndNotBefore) {
  this->run([](ExecutionContext& context) {
    auto never = makeSignal("never");
    const Nanos until = context.clock().monotonic() + 3ms;
    EXPECT_EQ(context.wait(WaitReason::kOutput, {never.get()}, Deadline::work(until)), WaitOutcome::kDeadline);
    EXPECT_GE(context.clock().monotonic(), until);
    EXPECT_EQ(context.wait(WaitReason::kOutput, {never.get()}, Deadline::work(until)), WaitOutcome::kDeadline) << "already past";
  });
}

TYPED_TEST(ExecutorContract, ASignalEndsAWaitBeforeItsDeadline) {
  this->run([&](ExecutionContext& context) {
    auto first = makeSignal(), second = makeSignal();
    this->spawn("setter", [second](ExecutionContext& own) {
      own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1ms));
      second->set();
    });
    const Nanos from = context.clock().monotonic();
    EXPECT_EQ(context.wait(WaitReason::kInputOrMail, {first.get(), second.get()}, Deadline::work(from + 1h)), WaitOutcome::kSignalled);
    EXPECT_LT(context.clock().monotonic(), from + 1h);
    EXPECT_TRUE(second->isSet()) << "a wait does not reset flags";
  });
}

TYPED_TEST(ExecutorContract, SleepersWakeInTheOrderOfTheirDeadlines) {
  std::deque<int> order;
  Mutex mutex;
  this->run([&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> actors;
    const Nanos base = context.clock().monotonic() + 20ms;
    for (int i = 0; i < 20; ++i) {
      const int rank = i * 7 % 20;
      actors.push_back(this->spawn("sleeper " + std::to_string(rank), [&, rank, base](ExecutionContext& own) {
        own.wait(WaitReason::kInputOrMail, {}, Deadline::work(base + rank * 10ms));
        Lock lock(mutex);
        order.push_back(rank);
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
  });
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 20u);
}

TYPED_TEST(ExecutorContract, CancelEndsAWaitForASignal) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    auto never = makeSignal("never");
    ready.set();
    own.wait(WaitReason::kOutputBuffer, {never.get()});
  }));
}

TYPED_TEST(ExecutorContract, CancelEndsASleep) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    ready.set();
    own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1h));
  }));
}

TYPED_TEST(ExecutorContract, CancelEndsASleptCost) {
  EXPECT_TRUE(this->endsWhenCancelled([](ExecutionContext& own, Signal& ready) {
    ready.set();
    own.spend(1h, CostMode::kSleep);
  }));
}

TYPED_TEST(ExecutorContract, CancelEndsASpunCost) {
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

TYPED_TEST(ExecutorContract, CancelEndsTheWaitsThatFollow) {
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

TYPED_TEST(ExecutorContract, AnActorCancelledBeforeItBeginsStillBegins) {
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

TYPED_TEST(ExecutorContract, NeitherBillNorInterleaveThrowsWhenCancelled) {
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

TYPED_TEST(ExecutorContract, AShieldedWaitOutlivesCancellation) {
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

TYPED_TEST(ExecutorContract, KillEndsAProcessAndNoOther) {
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

TYPED_TEST(ExecutorContract, TheEndOfARunUnwindsEverybody) {
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

TYPED_TEST(ExecutorContract, TheMeanOfASleptCostIsExact) {
  double best = 1;
  for (int attempt = 0; attempt < 5 && best > 0.02; ++attempt) {  // a busy machine may spoil one
    this->run([&](ExecutionContext& context) {
      constexpr int kRecords = 2'000;
      const Nanos from = context.clock().monotonic();
      for (int i = 0; i < kRecords; ++i) context.spend(150us, CostMode::kSleep);
      const double took = static_cast<double>((context.clock().monotonic() - from).count());
      best = std::min(best, std::abs(took / (kRecords * 150e3) - 1));
    });
  }
  EXPECT_LT(best, 0.02);
}

/// Time that passes only when somebody looks: what a spinning actor sees where nobody takes its core away.
struct TickingClock final : Clock {
  int64_t epochMillis() const override { return 0; }
  Nanos monotonic() const override { return Nanos(now += 137); }
  mutable int64_t now = 0;
};

TYPED_TEST(ExecutorContract, TheMeanOfASpunCostIsExact) {
  const TickingClock ticking;
  const Clock& clock = TypeParam::kReal ? ticking : this->executor.clock();
  this->run([&](ExecutionContext& context) {
    auto actor = this->executor.spawn({.name = "spinner", .clock = &clock}, [](ExecutionContext& own) {
      constexpr int kRecords = 10'000;
      const Nanos from = own.clock().monotonic();
      for (int i = 0; i < kRecords; ++i) own.spend(700ns, CostMode::kSpin);
      EXPECT_NEAR(static_cast<double>((own.clock().monotonic() - from).count()), kRecords * 700.0, kRecords * 14.0);
    });
    await(context, actor->done());
  });
}

TYPED_TEST(ExecutorContract, SleptCostsOfDifferentActorsPassAtTheSameTime) {
  this->run([&](ExecutionContext& context) {
    const Nanos from = context.clock().monotonic();
    std::vector<std::shared_ptr<Actor>> actors;
    for (int i = 0; i < 16; ++i) {
      actors.push_back(this->spawn("sleeper " + std::to_string(i), [](ExecutionContext& own) {
        for (int n = 0; n < 100; ++n) own.spend(1ms, CostMode::kSleep);
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
    EXPECT_GE(context.clock().monotonic() - from, 98ms);
    EXPECT_LT(context.clock().monotonic() - from, 800ms) << "1.6 s one after the other";
  });
}

TYPED_TEST(ExecutorContract, BlockingRunsTheCallAndHandsOverItsException) {
  this->run([](ExecutionContext& context) {
    int value = 0;
    context.blocking([&] { value = 7; });
    EXPECT_EQ(value, 7);
    EXPECT_THROW(context.blocking([] { throw std::domain_error("disk"); }), std::domain_error);
  });
}

TYPED_TEST(ExecutorContract, BlockingEndsAlsoWhenCancelledMeanwhile) {
  std::atomic<bool> ran{false};
  this->run([&](ExecutionContext& context) {
    auto actor = this->spawn("uploader", [&](ExecutionContext& own) {
      int onStack = 0;
      own.blocking([&] { onStack = 1; });
      ran = onStack == 1;
    });
    actor->cancel();
    await(context, actor->done());
  });
  EXPECT_TRUE(ran);
}

TYPED_TEST(ExecutorContract, WaitsInsideACatchBlockKeepTheirOwnException) {
  std::vector<std::string> caught(2);
  this->run([&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Signal>> signals{makeSignal(), makeSignal()};
    std::vector<std::shared_ptr<Actor>> actors;
    for (size_t i = 0; i < 2; ++i) {
      actors.push_back(this->spawn("catcher " + std::to_string(i), [&caught, signals, i](ExecutionContext& own) {
        try {
          try {
            throw std::runtime_error("of " + std::to_string(i));
          } catch (...) {
            signals[1 - i]->set();  // both are in their catch block when the first goes on
            await(own, *signals[i]);
            throw;
          }
        } catch (const std::runtime_error& e) {
          caught[i] = e.what();
        }
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
  });
  EXPECT_EQ(caught[0], "of 0");
  EXPECT_EQ(caught[1], "of 1");
}

TYPED_TEST(ExecutorContract, AThousandActorsPassAToken) {
  constexpr int kActors = 1'000;
  struct Ring {
    std::vector<Signal> places = std::vector<Signal>(kActors + 1);
    std::atomic<int> hops{0};
  };
  auto ring = std::make_shared<Ring>();
  this->run([&](ExecutionContext& context) {
    for (int i = 0; i < kActors; ++i) {
      this->spawn("place " + std::to_string(i), [ring, i](ExecutionContext& own) {
        await(own, ring->places[i]);
        ++ring->hops;
        ring->places[i + 1].set();
      });
    }
    ring->places[0].set();
    await(context, ring->places[kActors]);
  });
  EXPECT_EQ(ring->hops, kActors);
}

TYPED_TEST(ExecutorContract, AnActorSeesTheClockOfItsProcess) {
  const SkewedClock late(this->executor.clock(), Millis(90'000));
  this->run([&](ExecutionContext& context) {
    auto actor = this->executor.spawn({.name = "skewed", .clock = &late}, [&](ExecutionContext& own) {
      const auto ahead = own.clock().epochMillis() - this->executor.clock().epochMillis();
      EXPECT_GE(ahead, 89'000);
      EXPECT_LE(ahead, 90'000);
      own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + 1ms));
    });
    await(context, actor->done());
  });
}

TYPED_TEST(ExecutorContract, AnObserverIsToldOfWaits) {
  struct Sum final : WaitObserver {
    void onWait(WaitReason reason, Nanos from, Nanos to) override { waited[static_cast<int>(reason)] += to - from; }
    Nanos waited[6] = {};
  } sum;
  this->run([&](ExecutionContext& context) {
    context.setWaitObserver(&sum);
    context.wait(WaitReason::kOutput, {}, Deadline::work(context.clock().monotonic() + 2ms));
    context.spend(3ms, CostMode::kSleep);
    context.setWaitObserver(nullptr);
  });
  EXPECT_GE(sum.waited[static_cast<int>(WaitReason::kOutput)], 2ms);
  EXPECT_GE(sum.waited[static_cast<int>(WaitReason::kRecordCost)], 3ms);
  EXPECT_EQ(sum.waited[static_cast<int>(WaitReason::kInputOrMail)], 0ms);
}

TYPED_TEST(ExecutorContract, RandomNumbersDependOnSeedAndNameAlone) {
  this->run([&](ExecutionContext& context) {
    auto actor =
        this->spawn("dice", [&](ExecutionContext& own) { EXPECT_EQ(own.random().next(), Random(this->executor.seed(), "dice").next()); });
    await(context, actor->done());
  });
}

TYPED_TEST(ExecutorContract, ARegionRestartsQuickly) {
  this->run([&](ExecutionContext& context) {
    Nanos best = 1h;
    for (int round = 0; round < 5; ++round) {
      const Nanos from = context.clock().monotonic();
      std::vector<std::shared_ptr<Actor>> tasks;
      for (int i = 0; i < 12; ++i) tasks.push_back(this->spawn("task " + std::to_string(i), [](ExecutionContext&) {}));
      for (auto& task : tasks) await(context, task->done());
      best = std::min(best, context.clock().monotonic() - from);
    }
    EXPECT_LT(best, 5ms);
  });
}

template <class T>
struct ExecutorContractDeathTest : ExecutorContract<T> {
  ExecutorContractDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
TYPED_TEST_SUITE(ExecutorContractDeathTest, AllExecutors, ExecutorNames);

TYPED_TEST(ExecutorContractDeathTest, AWaitWithAMutexHeldAborts) {
  const auto wait = [&] {
    this->run([](ExecutionContext& context) {
      Mutex mutex;
      Lock lock(mutex);
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic()));
    });
  };
  EXPECT_DEATH(wait(), "heldMutexes");
}

TYPED_TEST(ExecutorContractDeathTest, ASecondWaiterOnASignalAborts) {
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

TYPED_TEST(ExecutorContractDeathTest, SwallowingCancellationForEverAborts) {
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

TYPED_TEST(ExecutorContractDeathTest, AnExceptionThatLeavesAnActorIsNotLost) {
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
