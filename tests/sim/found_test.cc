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

/// A source that had finished before the restore still had the end of its event time in flight, in a file that it shares with one that goes
/// on, and acknowledged after that one: the checkpoint leaves its part out, and did not know how long the file was.
TEST(Found, FinishedSourceWritesTheLastPartOfASharedFile) {
  Scenario s;
  s.incarnations = {{{1, 4}, Millis(54), false}, {{3, 1}, Millis(71), true}, {{1, 1}, {}, true}};
  s.nodes = {node(Op::kSource, 0, {}), node(Op::kSource, 1, {}), node(Op::kFilter, 1, {{{0, 1}, Edge::kGlobal}})};
  s.timed = true;
  s.watermarkIntervalMs = 28;
  s.nodes[0].records = 4;
  s.nodes[0].event.stepMs = 20;
  s.nodes[1].records = 36;
  s.nodes[1].recordsPerSecond = 313;
  s.nodes[1].event.stepMs = 14;
  s.nodes[0].ordered = s.nodes[1].ordered = true;
  s.sinks = {{.from = 2, .edge = Edge::kShuffle, .group = 1}};
  s.maxParallelism = 16;
  s.segmentSize = 100;
  s.taskManagers = 2;
  s.buffersPerChannel = 1;
  s.bufferTimeoutMs = -1;
  s.intervalMs = 43;
  s.retained = 2;
  s.unaligned = true;
  s.subtasksPerFile = 2;
  s.independentAcks = true;
  s.inlineBytes = 43;
  checkOrders(s, 200);
}

}  // namespace
}  // namespace weir::sim
