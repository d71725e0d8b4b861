#include "unit/exchange/traffic.h"

#include <gtest/gtest.h>

#include "weir/base/simulated_executor.h"

namespace weir {
namespace {

using namespace testing;

// A failing seed alone reproduces the run.
TEST(Traffic, ArrivesCompleteInOrderAndCutByBarriersUnderHostileSchedules) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedExecutor executor({.seed = seed});
    executor.run("test", [&](ExecutionContext& context) { Traffic(executor, TrafficOptions::random(seed)).run(context); });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Traffic, OfOneSeedRunsTheSameWayTwice) {
  const auto hash = [] {
    SimulatedExecutor executor({.seed = 5});
    executor.run("test", [&](ExecutionContext& context) { Traffic(executor, TrafficOptions::random(5)).run(context); });
    return executor.traceHash();
  };
  EXPECT_EQ(hash(), hash());
}

}  // namespace
}  // namespace weir
