#include "sim/shrink.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace weir::sim {
namespace {

Scenario drawn(uint64_t seed) { return drawScenario(seed, {.rescale = true, .disk = true, .losses = true}); }

bool has(const Scenario& s, Op op) {
  return std::any_of(s.nodes.begin(), s.nodes.end(), [op](const Node& node) { return node.op == op; });
}

TEST(Shrinking, LeavesOnlyWhatTheFailureNeeds) {
  // As if every job with a flat map and a kill went wrong.
  const auto wrong = [](const Scenario& s) { return has(s, Op::kFlatMap) && !s.kills.empty() ? Failure("wrong") : Failure(); };
  int shrunkOnes = 0;
  for (uint64_t seed = 1; seed < 200; ++seed) {
    const Scenario scenario = drawn(seed);
    if (!wrong(scenario)) continue;
    ++shrunkOnes;
    const Scenario least = shrink(scenario, "wrong", 10'000, wrong).scenario;
    EXPECT_EQ(least.kills.size(), 1u);
    EXPECT_TRUE(least.bombs.empty() && least.disk.empty());
    EXPECT_EQ(least.incarnations.size(), 1u);
    EXPECT_EQ(least.lostPercent, 0);
    EXPECT_TRUE(has(least, Op::kFlatMap));
    EXPECT_EQ(least.sinks.size(), 1u);
    for (const Node& node : least.nodes) EXPECT_LE(node.records, 1) << least.describe();
    for (const int32_t parallelism : least.incarnations[0].parallelism) EXPECT_EQ(parallelism, 1);
  }
  EXPECT_GT(shrunkOnes, 10);
}

TEST(Shrinking, OfTimeOnlyWhatTheFailureNeedsIsLeft) {
  // As if every job with a sliding window behind a source that may be idle went wrong.
  const auto slides = [](const Node& node) { return node.op == Op::kWindow && node.timing.window == WindowKind::kSliding; };
  const auto idles = [](const Node& node) { return node.op == Op::kSource && node.event.idleMs > 0; };
  const auto wrong = [&](const Scenario& s) {
    return std::any_of(s.nodes.begin(), s.nodes.end(), slides) && std::any_of(s.nodes.begin(), s.nodes.end(), idles) ? Failure("wrong")
                                                                                                                     : Failure();
  };
  int shrunkOnes = 0;
  for (uint64_t seed = 1; seed < 200; ++seed) {
    const Scenario scenario = drawScenario(seed, {.timed = true});
    if (!wrong(scenario)) continue;
    ++shrunkOnes;
    const Scenario least = shrink(scenario, "wrong", 10'000, wrong).scenario;
    for (const Node& node : least.nodes) {
      EXPECT_EQ(node.event.startMs, 0);
      EXPECT_EQ(node.event.boundMs, 0);
      EXPECT_EQ(node.event.disorderMs, 0);
      EXPECT_FALSE(node.event.everyRecord || node.event.silent);
      EXPECT_EQ(node.timing.delayMs + node.timing.offsetMs + node.timing.latenessMs, 0);
    }
  }
  EXPECT_GT(shrunkOnes, 5);
}

TEST(Shrinking, EveryStepLeavesAJobThatStillRuns) {
  // Follows every smaller scenario that is offered, whatever becomes of it, and runs a few of them.
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    int tried = 0;
    const auto run = [&](const Scenario& s) {
      if (++tried % 15 == 0) {
        const Outcome outcome = simulate(s);
        EXPECT_TRUE(outcome.problems.empty()) << "seed " << seed << "\n" << s.describe() << outcome.problems.front();
      }
      return Failure("any");
    };
    shrink(drawScenario(seed, {.failures = false, .timed = seed % 2 == 0}), "any", 300, run);
    EXPECT_GT(tried, 15);
  }
}

TEST(Shrinking, StopsWhereItWasToldTo) {
  const auto any = [](const Scenario&) { return Failure("any"); };
  EXPECT_EQ(shrink(drawn(3), "any", 5, any).runs, 5);
}

TEST(Shrinking, AnotherFailureIsNotFollowed) {
  const Scenario scenario = drawn(3);
  const auto other = [](const Scenario&) { return Failure("something else"); };
  EXPECT_EQ(shrink(scenario, "wrong", 1'000, other).scenario.describe(), scenario.describe());
}

TEST(Shrinking, ARunThatDiesIsAFailureOfItsKind) {
  Scenario scenario;  // sinks that read a node that is not there
  scenario.sinks.push_back({.from = 0});
  scenario.incarnations.push_back({.parallelism = {1, 1, 1}, .stopAt = {}});
  EXPECT_NE(failureOf(scenario), std::nullopt);
  EXPECT_EQ(failureOf(drawScenario(1, {.failures = false})), std::nullopt);
}

}  // namespace
}  // namespace weir::sim
