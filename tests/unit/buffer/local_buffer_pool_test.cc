#include "weir/buffer/local_buffer_pool.h"

#include <gtest/gtest.h>

#include "weir/base/simulated_executor.h"

namespace weir {
namespace {

struct Pools {
  Pools(int32_t total, const LocalBufferPoolOptions& options)
      : network(NetworkBufferPool::create(total, 64).value()), local(network->createBufferPool(options).value()) {}
  ~Pools() { local->lazyDestroy(); }

  BufferBuilder take(int32_t subpartition = -1) { return local->requestBufferBuilder(subpartition); }

  std::shared_ptr<NetworkBufferPool> network;
  std::shared_ptr<LocalBufferPool> local;
};

/// Accepts or refuses what it is offered.
struct Listener final : BufferListener {
  explicit Listener(bool accepts) : accepts(accepts) {}
  bool notifyBufferAvailable(Buffer& buffer) override {
    ++offered;
    if (accepts) got = std::move(buffer);
    return accepts;
  }
  void notifyBufferDestroyed() override { destroyed = true; }
  bool accepts;
  int offered = 0;
  bool destroyed = false;
  Buffer got;
};

TEST(LocalBufferPool, HoldsOneSegmentInHandFromTheStart) {
  Pools pools(10, {.required = 2, .max = 2});
  EXPECT_EQ(pools.local->requested(), 1);
  EXPECT_TRUE(pools.local->isAvailable());
  EXPECT_EQ(pools.local->used(), 0);
}

TEST(LocalBufferPool, FollowsTheWorkedExampleOfSizeTwoWithOverdraft) {
  Pools pools(10, {.required = 2, .max = 2, .maxOverdraft = 20});
  auto r1 = pools.take();
  EXPECT_EQ(pools.local->requested(), 2) << "the second one is fetched ahead";
  EXPECT_TRUE(pools.local->isAvailable());
  auto r2 = pools.take();
  EXPECT_FALSE(pools.local->isAvailable());
  auto r3 = pools.take();
  EXPECT_TRUE(r3.isOpen()) << "overdraft";
  EXPECT_EQ(pools.local->requested(), 3);
  r1.finish();
  EXPECT_EQ(pools.local->requested(), 2) << "back to the global pool";
  EXPECT_FALSE(pools.local->isAvailable());
  r2.finish();
  EXPECT_EQ(pools.local->requested(), 2);
  EXPECT_TRUE(pools.local->isAvailable());
}

TEST(LocalBufferPool, RefusesBeyondTheOverdraft) {
  Pools pools(10, {.required = 1, .max = 1, .maxOverdraft = 2});
  auto one = pools.take(), two = pools.take(), three = pools.take();
  EXPECT_TRUE(three.isOpen());
  EXPECT_FALSE(pools.take().isOpen());
  EXPECT_EQ(pools.local->requested(), 3);
}

TEST(LocalBufferPool, GetsAsOverdraftOrSurplusOnlyWhatNobodyIsOwed) {
  Pools pools(5, {.required = 1, .max = 3, .maxOverdraft = 20});
  auto one = pools.take();
  const auto other = pools.network->createBufferPool({.required = 3, .max = 3}).value();
  EXPECT_TRUE(other->isSecured());
  EXPECT_EQ(pools.network->owedSegments(), 2);
  auto two = pools.take();
  EXPECT_TRUE(two.isOpen()) << "fetched before the other pool was there";
  EXPECT_FALSE(pools.take().isOpen()) << "the last two are the other pool's";
  EXPECT_EQ(pools.network->availableSegments(), 2);
  auto a = other->requestBufferBuilder(), b = other->requestBufferBuilder(), c = other->requestBufferBuilder();
  EXPECT_TRUE(c.isOpen());
  EXPECT_EQ(pools.network->owedSegments(), 0);
  other->lazyDestroy();
}

TEST(LocalBufferPool, ThatComesWhenOthersHoldTheSurplusWaitsForIt) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) {
    const auto network = NetworkBufferPool::create(4, 64, Millis(500)).value();
    const auto early = network->createBufferPool({.required = 1, .max = 4}).value();
    std::vector<BufferBuilder> held;
    for (int i = 0; i < 4; ++i) held.push_back(early->requestBufferBuilder());
    const auto late = network->createBufferPool({.required = 3, .max = 3}).value();
    const auto failed = late->awaitSecured(context);
    ASSERT_TRUE(failed.has_error());
    EXPECT_EQ(failed.error().message.substr(0, 54), "Timeout triggered when requesting exclusive buffers: T");
    const auto reader = executor.spawn({.name = "reader"}, [&](ExecutionContext& own) {
      while (held.size() > 1) {
        own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + Millis(100)));
        EXPECT_FALSE(late->isSecured());
        held.pop_back();
      }
    });
    EXPECT_TRUE(late->awaitSecured(context).has_value());
    EXPECT_EQ(held.size(), 1u);
    EXPECT_EQ(network->owedSegments(), 2) << "one is in hand";
    held.clear();
    early->lazyDestroy();
    late->lazyDestroy();
  });
}

TEST(LocalBufferPool, DestroyedWhileItWaitsInLineLeavesTheLine) {
  Pools pools(4, {.required = 1, .max = 4});
  auto one = pools.take(), two = pools.take(), three = pools.take();
  const auto waiting = pools.network->createBufferPool({.required = 3, .max = 3}).value();
  EXPECT_FALSE(waiting->isSecured());
  waiting->lazyDestroy();
  EXPECT_EQ(pools.network->owedSegments(), 0);
  EXPECT_TRUE(pools.take().isOpen()) << "the surplus is free again";
}

TEST(LocalBufferPool, GivesNoOverdraftWhileBelowItsSize) {
  Pools pools(2, {.required = 1, .max = 2, .maxOverdraft = 20});
  MemorySegment* borrowed = pools.network->tryTake();
  auto one = pools.take();
  EXPECT_TRUE(pools.network->give(borrowed));
  EXPECT_FALSE(pools.take().isOpen()) << "a global segment enters through the free list only";
  EXPECT_EQ(pools.local->requested(), 1);
  pools.network->notifyListeners();
  EXPECT_TRUE(pools.take().isOpen());
}

TEST(LocalBufferPool, WithAnEmptyGlobalPoolSubscribesAndBecomesAvailableWhenASegmentReturns) {
  Pools pools(2, {.required = 1, .max = 2});
  MemorySegment* borrowed = pools.network->tryTake();
  ASSERT_NE(borrowed, nullptr);
  auto one = pools.take();
  EXPECT_FALSE(pools.local->isAvailable());
  EXPECT_FALSE(pools.take().isOpen());
  pools.local->available().reset();
  EXPECT_TRUE(pools.network->give(borrowed)) << "somebody is in line";
  EXPECT_FALSE(pools.local->isAvailable());
  pools.network->notifyListeners();
  EXPECT_TRUE(pools.local->isAvailable());
  EXPECT_TRUE(pools.local->available().isSet());
}

TEST(LocalBufferPool, ASubpartitionAtItsCapMakesThePoolUnavailableButIsStillServed) {
  Pools pools(10, {.required = 8, .max = 8, .subpartitions = 2, .maxBuffersPerChannel = 2});
  auto one = pools.take(0);
  EXPECT_TRUE(pools.local->isAvailable());
  auto two = pools.take(0);
  EXPECT_EQ(pools.local->cappedSubpartitions(), 1);
  EXPECT_FALSE(pools.local->isAvailable());
  auto three = pools.take(0);
  EXPECT_TRUE(three.isOpen());
  EXPECT_EQ(pools.local->cappedSubpartitions(), 1) << "above the cap is not capped twice";
  three.finish();
  EXPECT_FALSE(pools.local->isAvailable()) << "still at the cap";
  two.finish();
  EXPECT_EQ(pools.local->cappedSubpartitions(), 0);
  EXPECT_TRUE(pools.local->isAvailable());
}

TEST(LocalBufferPool, TwoSubpartitionsAtTheirCapsBothHaveToLeaveThem) {
  Pools pools(10, {.required = 8, .max = 8, .subpartitions = 2, .maxBuffersPerChannel = 1});
  auto one = pools.take(0), two = pools.take(1);
  one.finish();
  EXPECT_FALSE(pools.local->isAvailable());
  two.finish();
  EXPECT_TRUE(pools.local->isAvailable());
}

TEST(LocalBufferPool, SetsItsSignalOnceWhenItBecomesAvailable) {
  Pools pools(10, {.required = 1, .max = 1});
  auto one = pools.take();
  pools.local->available().reset();
  one.finish();
  EXPECT_TRUE(pools.local->available().isSet());
  pools.local->available().reset();
  auto again = pools.take();
  EXPECT_FALSE(pools.local->available().isSet()) << "a request tells nobody";
}

TEST(LocalBufferPool, OffersARecycledSegmentToTheFirstListenerThatTakesIt) {
  Pools pools(10, {.required = 1, .max = 1});
  auto one = pools.take();
  const auto refuses = std::make_shared<Listener>(false), accepts = std::make_shared<Listener>(true),
             late = std::make_shared<Listener>(true);
  for (const auto& listener : {refuses, accepts, late}) EXPECT_TRUE(pools.local->addBufferListener(listener));
  one.finish();
  EXPECT_EQ(refuses->offered, 1);
  EXPECT_EQ(accepts->offered, 1);
  EXPECT_EQ(late->offered, 0);
  EXPECT_TRUE(accepts->got);
  EXPECT_EQ(pools.local->free(), 0);
  accepts->got.reset();
  EXPECT_TRUE(late->got);
  late->got.reset();
  EXPECT_EQ(pools.local->free(), 1);
}

TEST(LocalBufferPool, KeepsASegmentThatAllListenersRefuse) {
  Pools pools(10, {.required = 1, .max = 1});
  auto one = pools.take();
  const auto refuses = std::make_shared<Listener>(false);
  EXPECT_TRUE(pools.local->addBufferListener(refuses));
  one.finish();
  EXPECT_EQ(pools.local->free(), 1);
  EXPECT_TRUE(pools.local->isAvailable());
}

TEST(LocalBufferPool, TakesNoListenerWhileASegmentIsFree) {
  Pools pools(10, {.required = 1, .max = 1});
  EXPECT_FALSE(pools.local->addBufferListener(std::make_shared<Listener>(true)));
}

TEST(LocalBufferPool, WhenDestroyedTellsListenersAndReturnsSegmentsAsTheyComeBack) {
  Pools pools(10, {.required = 2, .max = 2});
  auto one = pools.take(), two = pools.take();
  const auto listener = std::make_shared<Listener>(true);
  EXPECT_TRUE(pools.local->addBufferListener(listener));
  pools.local->lazyDestroy();
  EXPECT_TRUE(listener->destroyed);
  EXPECT_TRUE(pools.local->available().isSet()) << "who waits has to see the end";
  EXPECT_THROW(pools.take(), Throwable);
  EXPECT_EQ(pools.network->availableSegments(), 8);
  one.finish();
  two.finish();
  EXPECT_EQ(pools.network->availableSegments(), 10);
  EXPECT_EQ(listener->offered, 0);
}

TEST(LocalBufferPool, AfterAShrinkReturnsRecycledSegmentsUntilItFits) {
  Pools pools(6, {.required = 1, .max = 6});
  std::vector<BufferBuilder> taken;
  for (int i = 0; i < 6; ++i) taken.push_back(pools.take());
  const auto other = pools.network->createBufferPool({.required = 3, .max = 3}).value();
  EXPECT_EQ(pools.local->size(), 3);
  EXPECT_EQ(pools.local->requested(), 6);
  for (int i = 0; i < 3; ++i) taken[i].finish();
  EXPECT_EQ(pools.local->requested(), 3);
  EXPECT_FALSE(pools.local->isAvailable());
  taken[3].finish();
  EXPECT_TRUE(pools.local->isAvailable());
  taken.clear();
  other->lazyDestroy();
}

TEST(LocalBufferPool, ABlockedRequestWaitsAsHardBackPressure) {
  SimulatedExecutor executor;
  struct Observer final : WaitObserver {
    void onWait(WaitReason reason, Nanos, Nanos) override { reasons.push_back(reason); }
    std::vector<WaitReason> reasons;
  } observer;
  executor.run("test", [&](ExecutionContext& context) {
    Pools pools(1, {.required = 1, .max = 1});
    auto held = pools.take();
    const auto recycler = executor.spawn({.name = "recycler"}, [&](ExecutionContext& other) {
      other.wait(WaitReason::kFile, {}, Deadline::work(other.clock().monotonic() + Millis(1)));
      held.finish();
    });
    context.setWaitObserver(&observer);
    auto got = pools.local->requestBufferBuilderBlocking(context, -1);
    context.setWaitObserver(nullptr);
    EXPECT_TRUE(got.isOpen());
  });
  EXPECT_EQ(observer.reasons, std::vector{WaitReason::kOutputBuffer});
}

TEST(LocalBufferPool, ABlockedRequestEndsWhenThePoolIsDestroyed) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) {
    Pools pools(1, {.required = 1, .max = 1});
    auto held = pools.take();
    const auto destroyer = executor.spawn({.name = "destroyer"}, [&](ExecutionContext&) { pools.local->lazyDestroy(); });
    EXPECT_THROW(pools.local->requestBufferBuilderBlocking(context, -1), Throwable);
  });
}

TEST(LocalBufferPool, ABlockedRequestEndsWhenItsActorIsCancelled) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) {
    Pools pools(1, {.required = 1, .max = 1});
    auto held = pools.take();
    bool cancelled = false;
    const auto victim = executor.spawn({.name = "victim"}, [&](ExecutionContext& other) {
      try {
        (void)pools.local->requestBufferBuilderBlocking(other, -1);
      } catch (const TaskCancelled&) {
        cancelled = true;
        throw;
      }
    });
    victim->cancel();
    context.wait(WaitReason::kInputOrMail, {&victim->done()});
    EXPECT_TRUE(cancelled);
  });
}

TEST(LocalBufferPool, ReservesTheFirstSegmentOfAGate) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) {
    const auto network = NetworkBufferPool::create(1, 64).value();
    MemorySegment* borrowed = network->tryTake();
    const auto local = network->createBufferPool(LocalBufferPoolOptions::forInputGate()).value();
    EXPECT_EQ(local->requested(), 0);
    const auto lender = executor.spawn({.name = "lender"}, [&](ExecutionContext&) {
      if (network->give(borrowed)) network->notifyListeners();
    });
    EXPECT_TRUE(local->reserveFirstSegment(context).has_value());
    EXPECT_EQ(local->requested(), 1);
    EXPECT_TRUE(local->isAvailable());
    local->lazyDestroy();
  });
}

TEST(LocalBufferPool, FailsWhenTheFirstSegmentOfAGateDoesNotComeInTime) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) {
    const auto network = NetworkBufferPool::create(1, 64, Millis(500)).value();
    MemorySegment* borrowed = network->tryTake();
    const auto local = network->createBufferPool(LocalBufferPoolOptions::forInputGate()).value();
    const auto reserved = local->reserveFirstSegment(context);
    ASSERT_TRUE(reserved.has_error());
    EXPECT_EQ(reserved.error().message.substr(0, 54), "Timeout triggered when requesting exclusive buffers: T");
    local->lazyDestroy();
    (void)network->give(borrowed);
  });
}

// ---- failures that users of Flink have met --------------------------------------------------------------------------------------------

// overdraft-accounting (FLINK-31293, FLINK-31763)
TEST(FailureMode, OverdraftAccounting) {
  Pools pools(20, {.required = 1, .max = 10, .maxOverdraft = 2});
  ASSERT_EQ(pools.local->size(), 10);
  std::vector<BufferBuilder> used;
  for (int i = 0; i < 7; ++i) used.push_back(pools.take());
  EXPECT_TRUE(pools.local->isAvailable());
  EXPECT_FALSE(pools.local->setNumBuffers(5));
  EXPECT_FALSE(pools.local->isAvailable()) << "two more are in use than it may have now";
  EXPECT_FALSE(pools.take().isOpen()) << "these two are all the overdraft there is";
  for (int left : {6, 5}) {
    used.back().finish();
    used.pop_back();
    EXPECT_EQ(pools.local->used(), left);
    EXPECT_FALSE(pools.local->isAvailable()) << left << " of 5 in use";
  }
  used.back().finish();
  used.pop_back();
  EXPECT_TRUE(pools.local->isAvailable()) << "4 of 5 in use";
  for (BufferBuilder& builder : used) builder.finish();
}

// exclusive-request-deadlock (FLINK-12852): three segments more than the minimums, and whoever came first has taken them.
TEST(FailureMode, ExclusiveRequestDeadlock) {
  SimulatedExecutor executor;
  executor.run("test", [&](ExecutionContext& context) {
    const auto network = NetworkBufferPool::create(9, 64).value();
    const auto source = network->createBufferPool({.required = 2, .max = 20}).value();
    std::vector<BufferBuilder> held;
    for (int i = 0; i < 5; ++i) held.push_back(source->requestBufferBuilder());
    const auto consumer = network->createBufferPool({.required = 5, .max = 5}).value();
    const Nanos before = context.clock().monotonic();
    const auto failed = consumer->awaitSecured(context);
    ASSERT_TRUE(failed.has_error()) << "no silent hang";
    EXPECT_EQ(context.clock().monotonic() - before, Millis(30'000));
    EXPECT_NE(failed.error().message.find("Timeout triggered when requesting exclusive buffers: The total number of network buffers is "
                                          "currently set to 9 of 64 bytes each."),
              std::string::npos)
        << failed.error().message;
    held.clear();
    EXPECT_TRUE(consumer->awaitSecured(context).has_value()) << "what comes back is its own, nobody else's";
    source->lazyDestroy();
    consumer->lazyDestroy();
  });
}

}  // namespace
}  // namespace weir
