#include <fmt/format.h>

#include "sim/record.h"
#include "sim/scenario.h"

// Scenarios and records in words, for those who read what has failed.
namespace weir::sim {
namespace {

const char* nameOf(Op op) {
  static constexpr const char* kNames[] = {"source",        "map",       "rekey",        "filter",  "flatMap",       "list counter",
                                           "union counter", "keyed sum", "keyed reduce", "connect", "keyed connect", "broadcast state",
                                           "bundle",        "hold",      "hold connect", "delay",   "window",        "watch"};
  return kNames[static_cast<size_t>(op)];
}
const char* nameOf(Edge edge) {
  static constexpr const char* kNames[] = {"default", "forward",   "rebalance", "rescale", "shuffle",
                                           "global",  "broadcast", "custom",    "hash"};
  return kNames[static_cast<size_t>(edge)];
}
const char* nameOf(Spot spot) {
  static constexpr const char* kNames[] = {"a record", "open", "snapshot", "complete", "finish", "a timer"};
  return kNames[static_cast<size_t>(spot)];
}
const char* nameOf(DiskTrouble trouble) {
  static constexpr const char* kNames[] = {"error", "full", "torn write", "slow"};
  return kNames[static_cast<size_t>(trouble)];
}

const char* nameOf(WindowKind kind) {
  static constexpr const char* kNames[] = {"tumbling", "sliding", "session"};
  return kNames[static_cast<size_t>(kind)];
}

std::string watermarksInWords(const EventTimes& event) {
  std::string text = event.silent ? "no watermarks" : fmt::format("watermarks {} ms behind", event.boundMs);
  if (event.everyRecord) text += " with every record";
  if (event.idleMs > 0) text += fmt::format(", idle after {} ms", event.idleMs);
  if (event.driftMs > 0) text += fmt::format(", at most {} ms ahead of the others", event.driftMs);
  return text;
}
std::string timeInWords(const Node& node) {
  const EventTimes& event = node.event;
  const Timing& timing = node.timing;
  if (node.op == Op::kSource)
    return fmt::format(", from {} on one every {} ms up to {} ms late, {}", event.startMs, event.stepMs, event.disorderMs,
                       watermarksInWords(event));
  if (node.op == Op::kDelay) return fmt::format(", {} ms, then {}", timing.delayMs, watermarksInWords(event));
  if (node.op == Op::kWindow)
    return fmt::format(", {} of {} x {} ms at {}, {} ms of lateness{}", nameOf(timing.window), timing.slides, timing.sizeMs,
                       timing.offsetMs, timing.latenessMs, timing.purging ? ", purging" : "");
  if (node.op == Op::kHold || node.op == Op::kHoldConnect)
    return fmt::format(", {} ms, rounded up to {} ms", timing.delayMs, timing.gridMs);
  return "";
}

}  // namespace

std::string Rec::text() const {
  return fmt::format("source {} split {} index {} key {} value {} count {} sum {} path {:x} payload of {} bytes", source, split, index, key,
                     value, count, sum, static_cast<uint64_t>(path), payload.size());
}

std::string Scenario::describe() const {
  std::string text;
  for (size_t i = 0; i < incarnations.size(); ++i) {
    text += fmt::format("  run {}: groups at parallelism {}", i + 1, fmt::join(incarnations[i].parallelism, ", "));
    if (incarnations[i].stopAt) text += fmt::format(", cancelled at {} ms", incarnations[i].stopAt->count());
    text += incarnations[i].claim ? ", claims its checkpoint\n" : "\n";
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    text += fmt::format("  node {}: {} in group {}", i, nameOf(node.op), node.group);
    if (node.op == Op::kSource) text += fmt::format(", {} records, {:.0f} a second", node.records, node.recordsPerSecond);
    for (const Input& input : node.inputs) text += fmt::format(", {} from {}", nameOf(input.edge), fmt::join(input.from, "+"));
    if (node.cost.count() > 0) text += fmt::format(", {} us a record", node.cost.count() / 1000);
    if (timed) text += timeInWords(node);
    text += fmt::format("{}{}\n", node.newChain ? ", new chain" : "", node.ordered ? ", ordered" : "");
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    text += fmt::format("  sink {} in group {}: {} from {}{}\n", i, sinks[i].group, nameOf(sinks[i].edge), sinks[i].from,
                        sinks[i].audit ? ", audit" : "");
  }
  text +=
      fmt::format("  max parallelism {}, chaining {}, segments of {} bytes and {} spare, {} TaskManagers, buffer timeout {} ms, {} cores\n",
                  maxParallelism, chaining ? "on" : "off", segmentSize, spareSegments, taskManagers, bufferTimeoutMs, cores);
  text += fmt::format("  {} exclusive buffers per channel, debloating {}\n", buffersPerChannel, debloat ? "on" : "off");
  text += fmt::format("  checkpoints: {}, every {} ms, timeout {} ms, min pause {} ms, {} at once, {} failures tolerated, {} retained, "
                      "{} bytes inline, restart after {} ms\n",
                      exactlyOnce ? "exactly once" : "at least once", intervalMs, timeoutMs, minPauseMs, maxConcurrent, tolerable, retained,
                      inlineBytes, restartDelayMs);
  if (timed) text += fmt::format("  watermarks every {} ms{}\n", watermarkIntervalMs, interruptible ? ", timers can be interrupted" : "");
  if (unaligned)
    text += fmt::format("  unaligned after {} ms, {} subtasks share a file of in-flight data{}\n", alignedTimeoutMs, subtasksPerFile,
                        independentAcks ? ", each acknowledges on its own" : "");
  for (const Bomb& bomb : bombs) text += fmt::format("  fails at {} {}\n", nameOf(bomb.spot), bomb.call);
  for (const Kill& kill : kills)
    text += fmt::format("  {} at {} ms\n", kill.whole ? "the job fails" : "a subtask is failed", kill.at.count());
  if (lostPercent > 0) text += fmt::format("  {} % of the notices of completed and aborted checkpoints are lost\n", lostPercent);
  for (const DiskFault& fault : disk) {
    text += fmt::format("  disk: {} {} times after {} calls of operation {} on {}, {} us\n", nameOf(fault.trouble), fault.times,
                        fault.afterCalls, fault.operation, fault.path, fault.latency.count() / 1000);
  }
  return text;
}

}  // namespace weir::sim
