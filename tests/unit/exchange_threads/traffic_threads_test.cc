#include <gtest/gtest.h>

#include "unit/exchange/traffic.h"
#include "weir/base/thread_executor.h"

// The same traffic on threads, for the thread sanitizer: no fibers in this binary.
namespace weir {
namespace {

using namespace testing;

TEST(TrafficOnThreads, ArrivesCompleteInOrderAndCutByBarriers) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TrafficOptions options = TrafficOptions::random(seed);
    options.records = 1000;
    ThreadExecutor executor({.seed = seed});
    executor.run("test", [&](ExecutionContext& context) { Traffic(executor, options).run(context); });
    if (::testing::Test::HasFailure()) return;
  }
}

/// Pools that grow, shrink, die and are born while others request and recycle.
TEST(PoolsOnThreads, KeepAllSegmentsWhilePoolsComeAndGo) {
  ThreadExecutor executor({.seed = 3});
  executor.run("test", [&](ExecutionContext& context) {
    const auto network = NetworkBufferPool::create(24, 64).value();
    std::vector<std::shared_ptr<Actor>> actors;
    for (int i = 0; i < 4; ++i)
      actors.push_back(executor.spawn({.name = "user " + std::to_string(i)}, [&](ExecutionContext& own) {
        Random random(7, own.name());
        for (int round = 0; round < 200; ++round) {
          const auto pool = network->createBufferPool({.required = 2, .max = 10, .maxOverdraft = 2});
          if (pool.has_error()) continue;
          std::vector<BufferBuilder> held;
          for (int step = 0; step < 30; ++step) {
            if (random.oneIn(2)) {
              if (auto builder = (*pool)->requestBufferBuilder(); builder.isOpen()) held.push_back(std::move(builder));
            } else if (!held.empty()) {
              held.erase(held.begin() + static_cast<int64_t>(random.below(held.size())));
            }
          }
          (*pool)->lazyDestroy();
        }
      }));
    for (const auto& actor : actors) context.wait(WaitReason::kInputOrMail, {&actor->done()});
    EXPECT_EQ(network->availableSegments(), 24);
    EXPECT_EQ(network->requiredSegments(), 0);
  });
}

}  // namespace
}  // namespace weir
