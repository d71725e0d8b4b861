#include <gtest/gtest.h>

#include "sim/simulation.h"

// What the search has found, shrunk: the job in which it happened, and enough orders of its events that one of them is the bad one.
namespace weir::sim {
namespace {

void checkOrders(Scenario scenario, uint64_t orders) {
  for (scenario.seed = 1; scenario.seed <= orders; ++scenario.seed) {
    const Outcome outcome = simulate(scenario);
    ASSERT_TRUE(outcome.problems.empty()) << "seed " << scenario.seed << "\n" << scenario.describe() << outcome.problems.front();
  }
}

Node node(Op op, int32_t group, std::vector<Input> inputs) {
  Node made;
  made.op = op;
  made.group = group;
  made.inputs = std::move(inputs);
  return made;
}

/// Not one segment more than the tasks require. After the restart one source is still recovering when others have filled their outputs,
/// also with what it requires; and who reads these is blocked until the last source has handed over what was in flight.
TEST(Found, SourceRecoversWhileOthersHoldTheBuffersThatItRequires) {
  Scenario s;
  s.incarnations.emplace_back().parallelism = {3, 4, 1};
  s.nodes = {node(Op::kSource, 0, {}), node(Op::kUnionCounter, 1, {{{0}, Edge::kShuffle}}), node(Op::kKeyedSum, 1, {{{1}, Edge::kHash}})};
  s.nodes[0].records = 252;
  s.nodes[0].ordered = true;
  s.sinks = {{.from = 2, .edge = Edge::kRebalance, .group = 1, .audit = true}};
  s.maxParallelism = 5;
  s.segmentSize = 256;
  s.bufferTimeoutMs = -1;
  s.intervalMs = 37;
  s.inlineBytes = 20'480;
  s.restartDelayMs = 9;
  s.unaligned = true;
  s.alignedTimeoutMs = 1;
  s.bombs = {{Spot::kComplete, 7}};
  checkOrders(s, 100);
}

/// One subtask of the source has read all it has and ends its event time; the other one was idle at that moment and goes on. What it still
/// brought came behind the end of event time, where no timer fires any more.
TEST(Found, ChannelEndsBesideOneThatIsIdle) {
  Scenario s;
  s.incarnations.emplace_back().parallelism = {2, 1};
  s.nodes = {node(Op::kSource, 0, {}), node(Op::kWindow, 1, {{{0}, Edge::kHash}})};
  s.timed = true;
  s.watermarkIntervalMs = 4;
  s.nodes[0].records = 9;
  s.nodes[0].recordsPerSecond = 111;
  s.nodes[0].event = {.stepMs = 15, .idleMs = 12};
  s.nodes[1].timing.sizeMs = 85;
  s.sinks = {{.from = 1, .edge = Edge::kRebalance, .group = 1, .audit = true}};
  s.spareSegments = 16;
  s.intervalMs = 30;
  checkOrders(s, 20);
}

}  // namespace
}  // namespace weir::sim
