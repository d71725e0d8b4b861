#include <atomic>
#include <deque>
#include <stdexcept>

#include "unit/base/executors.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

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
  Nanos gap = 10ms;
  const auto sleepAll = [&](ExecutionContext& context) {
    std::vector<std::shared_ptr<Actor>> actors;
    const Nanos base = context.clock().monotonic() + 20ms;
    for (int i = 0; i < 20; ++i) {
      const int rank = i * 7 % 20;
      actors.push_back(this->spawn("sleeper " + std::to_string(rank), [&, rank, base](ExecutionContext& own) {
        own.wait(WaitReason::kInputOrMail, {}, Deadline::work(base + rank * gap));
        EXPECT_GE(own.clock().monotonic(), base + rank * gap);
        Lock lock(mutex);
        order.push_back(rank);
      }));
    }
    for (auto& actor : actors) await(context, actor->done());
  };
  bool sorted = false;
  // The threads of a busy machine may overtake each other between wake-up and lock: then the deadlines lie further apart.
  for (int attempt = 0; attempt < 7 && !sorted; ++attempt, gap *= 2) {
    order.clear();
    this->run(sleepAll);
    ASSERT_EQ(order.size(), 20u);
    sorted = std::is_sorted(order.begin(), order.end());
  }
  EXPECT_TRUE(sorted);
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

}  // namespace
}  // namespace weir
