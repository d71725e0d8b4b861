#include "sim/simulation.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace weir::sim {
namespace {

TEST(ExactlyOnce, HoldsInALinearPipelineUnderFailures) { checkSeeds(20, {.linear = true}); }

TEST(ExactlyOnce, HoldsInAnyTopologyUnderFailures) { checkSeeds(25, {}); }

TEST(ExactlyOnce, HoldsWithoutFailures) { checkSeeds(5, {.failures = false}); }

TEST(ExactlyOnce, HoldsWhereCheckpointsExpire) { checkSeeds(5, {.shortTimeouts = true}); }

TEST(ExactlyOnce, HoldsWhereNoticesOfCheckpointsAreLost) { checkSeeds(5, {.losses = true}); }

TEST(Unaligned, HoldsInALinearPipelineUnderFailures) { checkSeeds(20, {.linear = true, .unaligned = true}); }

TEST(Unaligned, HoldsInAnyTopologyUnderFailures) { checkSeeds(35, {.unaligned = true}); }

TEST(Unaligned, HoldsWhereCheckpointsExpireAndNoticesAreLost) {
  checkSeeds(10, {.shortTimeouts = true, .unaligned = true, .losses = true});
}

TEST(Unaligned, GoesOnAtAnotherParallelismWhereTheJobWasCancelled) {
  checkSeeds(20, {.failures = false, .rescale = true, .unaligned = true});
}

TEST(Unaligned, StandsFailuresAfterARescaleToo) { checkSeeds(5, {.rescale = true, .unaligned = true}); }

TEST(Unaligned, StandsTroubleWithTheDisk) { checkSeeds(10, {.disk = true, .unaligned = true}); }

TEST(Unaligned, GivesWhatTheSameJobGivesAligned) {
  checkSeeds(5, {.unaligned = true}, [](const Scenario& scenario, const Outcome&) {
    Scenario aligned = scenario;
    aligned.unaligned = false;
    const Outcome outcome = simulate(aligned);
    EXPECT_TRUE(outcome.problems.empty()) << "aligned, seed " << scenario.seed << "\n" << scenario.describe() << outcome.problems.front();
  });
}

TEST(AtLeastOnce, LosesNothingUnderFailures) { checkSeeds(10, {.atLeastOnce = true}); }

TEST(RescaledRestore, GoesOnWhereTheJobWasCancelled) { checkSeeds(10, {.failures = false, .rescale = true}); }

TEST(RescaledRestore, StandsFailuresToo) { checkSeeds(5, {.rescale = true}); }

TEST(DiskFaults, LeaveTheOutputExact) { checkSeeds(10, {.failures = false, .disk = true}); }

TEST(DiskFaults, StandFailuresToo) { checkSeeds(5, {.disk = true}); }

TEST(FinishedTasks, LeaveTheOutputExact) { checkSeeds(5, {.unevenEnds = true}); }

// Watermarks, timers and windows.

TEST(ExactlyOnce, HoldsForTimersAndWindowsInALinearPipeline) { checkSeeds(10, {.linear = true, .timed = true}); }

TEST(ExactlyOnce, HoldsForTimersAndWindowsInAnyTopology) { checkSeeds(15, {.timed = true}); }

TEST(ExactlyOnce, HoldsForTimersAndWindowsWhereCheckpointsExpireAndNoticesAreLost) {
  checkSeeds(5, {.shortTimeouts = true, .losses = true, .timed = true});
}

TEST(Unaligned, HoldsForTimersAndWindowsInAnyTopology) { checkSeeds(20, {.unaligned = true, .timed = true}); }

TEST(Unaligned, TakesTimersAndWatermarksInFlightToAnotherParallelism) {
  checkSeeds(15, {.failures = false, .rescale = true, .unaligned = true, .timed = true});
}

TEST(Unaligned, TakesThemThroughFailuresToo) { checkSeeds(5, {.rescale = true, .unaligned = true, .timed = true}); }

TEST(AtLeastOnce, LosesNothingThatTimersAndWindowsHold) { checkSeeds(5, {.atLeastOnce = true, .timed = true}); }

TEST(RescaledRestore, TakesTimersAndWindowsToTheirNewOwners) { checkSeeds(10, {.failures = false, .rescale = true, .timed = true}); }

TEST(RescaledRestore, TakesThemThroughFailuresToo) { checkSeeds(5, {.rescale = true, .timed = true}); }

TEST(DiskFaults, LeaveTimersAndWindowsExact) { checkSeeds(5, {.disk = true, .timed = true}); }

TEST(FinishedTasks, EndTheirEventTime) { checkSeeds(10, {.unevenEnds = true, .timed = true}); }

/// A source that never waits, and a map that keeps its task busy for 200 ms.
Scenario busyTask() {
  Scenario scenario;
  Node source;
  source.op = Op::kSource;
  source.records = 2000;
  Node map;
  map.inputs = {{{0}, Edge::kForward}};
  map.cost = std::chrono::microseconds(100);
  scenario.nodes = {source, map};
  Sink sink;
  sink.from = 1;
  sink.edge = Edge::kRebalance;
  scenario.sinks = {sink};
  scenario.incarnations.emplace_back().parallelism = {1};
  scenario.spareSegments = 20;
  return scenario;
}

TEST(Checkpoints, AreTakenBetweenTwoRecordsOfATaskThatNeverWaits) {
  const Scenario scenario = busyTask();
  const Outcome outcome = simulate(scenario);
  ASSERT_TRUE(outcome.problems.empty()) << outcome.problems.front();
  EXPECT_GE(outcome.checkpoints, 15) << "one every 10 ms";
}

/// The hashes of the first scenarios, a line each. Run by another process too, which prints them.
std::string traceHashes() {
  std::string hashes;
  for (uint64_t seed = firstSeed(); seed < firstSeed() + 50; ++seed)
    hashes += fmt::format("{} {:016x}\n", seed, simulate(drawScenario(seed, {})).traceHash);
  return hashes;
}

TEST(Replay, GivesTheSameTraceInEveryProcess) {
  const std::string here = traceHashes();
  if (std::getenv("WEIR_SIM_PRINT_HASHES")) {
    fmt::print("{}end of hashes\n", here);
    return;
  }
  FILE* child = ::popen("WEIR_SIM_PRINT_HASHES=1 $(readlink -f /proc/$PPID/exe) --gtest_filter=Replay.*", "r");
  ASSERT_NE(child, nullptr);
  std::string output;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, child)) output.append(buffer, n);
  ASSERT_EQ(::pclose(child), 0) << output;
  EXPECT_NE(output.find(here + "end of hashes"), std::string::npos) << "here:\n" << here << "there:\n" << output;
}

}  // namespace
}  // namespace weir::sim
