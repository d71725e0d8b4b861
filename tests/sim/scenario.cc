#include "sim/scenario.h"

#include <algorithm>

#include "weir/base/faulty_file_system.h"

namespace weir::sim {
namespace {

bool holdsBack(Op op) { return op == Op::kHold || op == Op::kHoldConnect || op == Op::kDelay || op == Op::kWindow; }
bool isKeyed(Op op) { return op == Op::kKeyedSum || op == Op::kKeyedReduce || op == Op::kKeyedConnect || holdsBack(op); }
bool hasTwoInputs(Op op) {
  return op == Op::kConnect || op == Op::kKeyedConnect || op == Op::kBroadcastState || op == Op::kHoldConnect;
}

/// Draws one scenario. Order matters: each draw moves the stream on, so new choices are added behind old ones where that is possible.
class Drawing {
 public:
  Drawing(uint64_t seed, const Taste& taste) : taste_(taste), random_(seed, "scenario") { s_.seed = seed; }

  Scenario draw() {
    drawParallelism();
    drawSources();
    drawOperators();
    drawSinks();
    drawCluster();
    drawCheckpointing();
    if (taste_.failures) drawFailures();
    if (taste_.disk) drawDisk();
    if (taste_.losses) s_.lostPercent = static_cast<int32_t>(between(5, 40));
    s_.buffersPerChannel = static_cast<int32_t>(between(0, 2));
    s_.debloat = oneIn(4);
    if (taste_.unaligned) drawUnaligned();
    if (taste_.timed) drawEventTime();
    return std::move(s_);
  }

 private:
  int64_t between(int64_t low, int64_t high) { return random_.between(low, high); }
  bool oneIn(uint64_t n) { return random_.oneIn(n); }
  size_t below(size_t n) { return random_.below(n); }

  void drawParallelism() {
    s_.maxParallelism = static_cast<int32_t>(std::vector{4, 5, 16, 128}[below(4)]);
    const size_t runs = taste_.rescale ? 2 + below(2) : 1;
    for (size_t run = 0; run < runs; ++run) {
      Incarnation& incarnation = s_.incarnations.emplace_back();
      for (int group = 0; group < 3; ++group) incarnation.parallelism.push_back(static_cast<int32_t>(between(1, 4)));
      if (run + 1 < runs) incarnation.stopAt = Millis(between(15, 150));
      incarnation.claim = run > 0 && oneIn(2);
    }
  }

  void drawSources() {
    const size_t sources = taste_.linear ? 1 : 1 + below(3);
    const int64_t total = taste_.shortTimeouts ? between(50, 120) : between(50, 300);
    durationMs_ = between(20, 250);
    for (size_t i = 0; i < sources; ++i) {
      Node node;
      node.op = Op::kSource;
      node.group = static_cast<int32_t>(below(3));
      node.records = std::max<int64_t>(1, total / static_cast<int64_t>(sources));
      double duration = static_cast<double>(durationMs_);
      if (taste_.unevenEnds) {
        if (oneIn(2)) node.records = between(0, 10);
        duration *= random_.unit();
      }
      if (!oneIn(8)) node.recordsPerSecond = static_cast<double>(std::max<int64_t>(1, node.records)) / std::max(duration, 1.0) * 1000;
      node.ordered = true;
      s_.nodes.push_back(std::move(node));
      open_.push_back(static_cast<int32_t>(i));
    }
  }

  Edge edgeFor(Op op, int32_t fromGroup, int32_t group, bool isUnion) {
    if (isKeyed(op)) return Edge::kHash;
    // A task that is back-pressured behind an edge whose barriers always align may wait for one that waits for it, where another way from
    // the same source is unaligned: a deadlock in Flink too, which the time-out of the checkpoint ends.
    if (taste_.unaligned && !taste_.linear) return std::vector{Edge::kRebalance, Edge::kShuffle, Edge::kGlobal}[below(3)];
    // Union list state refuses a checkpoint in which some subtasks have ended: with these edges they end together.
    static constexpr Edge kToAll[] = {Edge::kRebalance, Edge::kShuffle, Edge::kGlobal, Edge::kBroadcast, Edge::kCustom};
    if (op == Op::kUnionCounter) return kToAll[below(std::size(kToAll) - (taste_.rescale && taste_.unaligned ? 1 : 0))];
    std::vector<Edge> choices{Edge::kDefault, Edge::kRebalance, Edge::kRescale, Edge::kShuffle,
                              Edge::kGlobal,  Edge::kBroadcast, Edge::kCustom};
    // What is in flight on such an edge cannot be given to other subtasks.
    if (taste_.rescale && taste_.unaligned) std::erase(choices, Edge::kCustom);
    // Rescaled, a default edge would chain here and not there, and finished operators would meet others in one task.
    if (taste_.rescale && (fromGroup != group || isUnion)) choices.erase(choices.begin());
    if (fromGroup == group && !isUnion)
      for (const Edge edge : {Edge::kForward, Edge::kDefault, Edge::kDefault}) choices.push_back(edge);
    return choices[below(choices.size())];
  }

  /// Whether order within a split and key survives `edge`.
  bool keepsOrder(const Node& from, Edge edge, int32_t group) const {
    if (!from.ordered) return false;
    switch (edge) {
      case Edge::kForward:
      case Edge::kHash:
      case Edge::kGlobal:
      case Edge::kCustom: return true;
      case Edge::kDefault: return from.group == group || isAlwaysOne(group);
      default: return isAlwaysOne(group);
    }
  }
  bool isAlwaysOne(int32_t group) const {
    return std::all_of(s_.incarnations.begin(), s_.incarnations.end(), [&](const Incarnation& i) { return i.parallelism[group] == 1; });
  }

  Input drawInput(Op op, int32_t group, bool& ordered) {
    Input input;
    const size_t at = below(open_.size());
    input.from.push_back(open_[at]);
    // Left open now and then: then another operator reads it as well.
    if (!oneIn(5)) open_.erase(open_.begin() + static_cast<ptrdiff_t>(at));
    if (!taste_.linear && !open_.empty() && oneIn(4)) {
      const size_t second = below(open_.size());
      if (open_[second] != input.from[0]) {
        input.from.push_back(open_[second]);
        open_.erase(open_.begin() + static_cast<ptrdiff_t>(second));
      }
    }
    input.edge = edgeFor(op, s_.nodes[static_cast<size_t>(input.from[0])].group, group, input.from.size() > 1);
    if (open_.empty()) open_.push_back(input.from[0]);  // never nothing to read
    const int32_t firstGroup = s_.nodes[static_cast<size_t>(input.from[0])].group;
    for (const int32_t from : input.from) {
      const Node& node = s_.nodes[static_cast<size_t>(from)];
      ordered = ordered && keepsOrder(node, input.edge, group);
      // A reduction is led by a map beside its first input: the others come to it over a rebalance.
      if (op == Op::kKeyedReduce && node.group != firstGroup) ordered = false;
    }
    return input;
  }

  void drawOperators() {
    const size_t count = taste_.linear ? 1 + below(4) : 1 + below(6);
    for (size_t i = 0; i < count; ++i) {
      Node node;
      std::vector<Op> ops{Op::kMap,          Op::kFilter,   Op::kFlatMap,     Op::kListCounter, Op::kUnionCounter,
                          Op::kKeyedSum,     Op::kKeyedSum, Op::kKeyedReduce, Op::kRekey, Op::kBundle};
      if (!taste_.linear) ops.insert(ops.end(), {Op::kConnect, Op::kKeyedConnect});
      if (!taste_.linear && !taste_.unaligned) ops.push_back(Op::kBroadcastState);
      if (!taste_.linear && taste_.unaligned) std::erase(ops, Op::kKeyedReduce);  // it is led by a map behind a forward edge
      if (taste_.timed) addTimedOperators(ops);
      node.op = ops[below(ops.size())];
      if (taste_.linear && i + 1 == count && !sawKeyed_) node.op = Op::kKeyedSum;
      sawKeyed_ |= isKeyed(node.op);
      node.group = static_cast<int32_t>(below(3));
      bool ordered = true;
      node.inputs.push_back(drawInput(node.op, node.group, ordered));
      if (hasTwoInputs(node.op)) {
        node.inputs.push_back(drawInput(node.op, node.group, ordered));
        if (node.op == Op::kBroadcastState) node.inputs[1].edge = Edge::kBroadcast;
      }
      // A filter leaves no mark: where both ways meet again, it cannot be told who overtook whom.
      node.ordered = ordered && node.op != Op::kRekey && (node.op != Op::kFilter || taste_.linear) && !holdsBack(node.op);
      if (holdsBack(node.op)) drawTiming(node);
      node.newChain = oneIn(5);
      if (oneIn(4)) node.cost = Nanos(between(1'000, 300'000));
      if (taste_.shortTimeouts && oneIn(2)) node.cost = Nanos(between(300'000, 3'000'000));
      const auto self = static_cast<int32_t>(s_.nodes.size());
      s_.nodes.push_back(std::move(node));
      if (taste_.linear) open_.clear();
      if (std::find(open_.begin(), open_.end(), self) == open_.end()) open_.push_back(self);
      if (isKeyed(s_.nodes.back().op)) addSink(self, true);
    }
  }

  void addTimedOperators(std::vector<Op>& ops) const {
    ops.insert(ops.end(), {Op::kHold, Op::kHold, Op::kHold, Op::kDelay, Op::kWindow, Op::kWindow, Op::kWindow, Op::kWindow, Op::kWatch});
    if (!taste_.linear) ops.insert(ops.end(), {Op::kHoldConnect, Op::kHoldConnect});
  }
  void drawTiming(Node& node) {
    Timing& timing = node.timing;
    timing.delayMs = oneIn(4) ? 0 : between(1, node.op == Op::kDelay ? 60 : 300);
    timing.gridMs = std::vector<int64_t>{4, 10, 50}[below(3)];
    timing.window = static_cast<WindowKind>(below(3));
    if (timing.window == WindowKind::kSliding && ++sliding_ > 2) timing.window = WindowKind::kTumbling;  // records multiply
    timing.sizeMs = between(5, 200);
    if (timing.window == WindowKind::kSliding) timing.slides = between(1, 3);
    if (oneIn(2)) timing.offsetMs = between(1 - timing.sizeMs, timing.sizeMs - 1);
    timing.latenessMs = oneIn(2) ? 0 : between(1, 500);
    timing.purging = oneIn(2);
    if (node.op == Op::kDelay) drawWatermarks(node.event);
  }
  void drawWatermarks(EventTimes& event) {
    event.boundMs = oneIn(4) ? 0 : between(1, 100);
    event.everyRecord = oneIn(4);
    event.silent = oneIn(10);
    event.idleMs = oneIn(5) ? between(1, 40) : 0;
  }

  /// Behind all that has nothing to do with time.
  void drawEventTime() {
    s_.timed = true;
    s_.watermarkIntervalMs = between(1, 40);
    // A watermark goes to every channel. Over slow links little else would pass.
    if (s_.taskManagers > 1) s_.watermarkIntervalMs = std::max(s_.watermarkIntervalMs, mostChannels() / 2);
    s_.interruptible = oneIn(2);
    const bool aligned = oneIn(4);
    for (Node& node : s_.nodes) {
      if (node.op == Op::kSource) {
        drawWatermarks(node.event);
        node.event.startMs = between(-200, 200);
        node.event.stepMs = between(1, 20);
        node.event.disorderMs = oneIn(5) ? node.event.boundMs + between(1, 100) : between(0, node.event.boundMs);
        if (aligned) node.event.driftMs = between(10, 400);
      }
      if (s_.taskManagers > 1) node.event.everyRecord = false;
    }
    if (taste_.failures && oneIn(2)) s_.bombs.push_back({Spot::kTimer, between(1, 150)});
  }

  void addSink(int32_t from, bool audit) {
    Sink sink;
    sink.from = from;
    sink.group = static_cast<int32_t>(below(3));
    sink.audit = audit;
    sink.edge = edgeFor(Op::kMap, s_.nodes[static_cast<size_t>(from)].group, sink.group, false);
    if (sink.edge == Edge::kBroadcast) sink.edge = Edge::kRebalance;
    s_.sinks.push_back(sink);
  }

  void drawSinks() {
    // Everything that nobody reads ends in a sink.
    for (int32_t i = 0; i < static_cast<int32_t>(s_.nodes.size()); ++i) {
      const bool isRead = std::any_of(s_.nodes.begin(), s_.nodes.end(), [i](const Node& node) {
        return std::any_of(node.inputs.begin(), node.inputs.end(),
                           [i](const Input& input) { return std::find(input.from.begin(), input.from.end(), i) != input.from.end(); });
      });
      const bool isAudited = std::any_of(s_.sinks.begin(), s_.sinks.end(), [i](const Sink& sink) { return sink.from == i; });
      if (!isRead && !isAudited) addSink(i, false);
    }
  }

  void drawCluster() {
    s_.chaining = !oneIn(4);
    s_.segmentSize = static_cast<uint32_t>(std::vector{64, 64, 64, 100, 256}[below(5)]);
    s_.spareSegments = oneIn(2) ? 0 : static_cast<int32_t>(between(1, 30));
    s_.taskManagers = static_cast<int32_t>(between(1, 3));
    s_.bufferTimeoutMs = std::vector<int64_t>{0, -1, 1, between(2, 40)}[below(4)];
    s_.cores = oneIn(4) ? static_cast<int32_t>(between(1, 4)) : 0;
  }

  void drawCheckpointing() {
    s_.intervalMs = between(10, 50);
    s_.maxConcurrent = static_cast<int32_t>(between(1, 3));
    if (oneIn(3)) s_.minPauseMs = between(1, 40);
    if (s_.minPauseMs > 0) s_.maxConcurrent = oneIn(2) ? 1 : s_.maxConcurrent;
    if (taste_.shortTimeouts || taste_.losses || oneIn(6)) {
      s_.timeoutMs = between(10, 60);
      spareTheLinks();
    }
    s_.exactlyOnce = !taste_.atLeastOnce;
    s_.inlineBytes = oneIn(3) ? 20'480 : between(0, 400);
    s_.retained = static_cast<int32_t>(between(1, 3));
    s_.restartDelayMs = oneIn(2) ? 0 : between(1, 20);
  }

  /// Of all edges together, if each went to all; in the run that has most.
  int64_t mostChannels() const {
    int64_t most = 0;
    for (size_t run = 0; run < s_.incarnations.size(); ++run) {
      int64_t channels = 0;
      const auto count = [&](int32_t from, int32_t toGroup) {
        channels += s_.parallelismOf(s_.nodes[static_cast<size_t>(from)].group, run) * s_.parallelismOf(toGroup, run);
      };
      for (const Node& node : s_.nodes)
        for (const Input& input : node.inputs)
          for (const int32_t from : input.from) count(from, node.group);
      for (const Sink& sink : s_.sinks) count(sink.from, sink.group);
      most = std::max(most, channels);
    }
    return most;
  }

  /// Links are slow, and some take a message at a time: a checkpoint that cannot be over in time, or is declined because a task is still
  /// recovering, is followed by the next for ever, and so many barriers and markers that nothing else passes.
  void spareTheLinks() {
    if (s_.taskManagers == 1) return;
    s_.intervalMs = std::max<int64_t>({s_.intervalMs, 30, mostChannels() / 2});
    s_.timeoutMs = std::max<int64_t>(s_.timeoutMs, std::max<int64_t>(60, mostChannels()));
  }

  void drawUnaligned() {
    s_.unaligned = true;
    s_.maxConcurrent = 1;
    s_.alignedTimeoutMs = std::vector<int64_t>{0, 0, 1, between(2, 40)}[below(4)];
    s_.subtasksPerFile = static_cast<int32_t>(between(1, 6));
    s_.independentAcks = oneIn(3);
    spareTheLinks();
    // Back pressure is what such checkpoints are for: somebody is slow.
    Node& slow = s_.nodes[below(s_.nodes.size())];
    if (slow.op != Op::kSource && oneIn(2)) slow.cost = Nanos(between(100'000, 2'000'000));
  }

  void drawFailures() {
    int64_t passed = 0;
    for (uint64_t left = below(4); left > 0; --left) {
      // Twice in a row, also while the job is still recovering, now and then.
      passed += oneIn(3) ? between(1, 5) : between(1, 400);
      s_.bombs.push_back({Spot::kRecord, passed});
    }
    if (oneIn(5)) s_.bombs.push_back({Spot::kOpen, between(1, 25)});
    if (oneIn(5)) s_.bombs.push_back({Spot::kSnapshot, between(1, 20)});
    if (oneIn(6)) s_.bombs.push_back({Spot::kComplete, between(1, 15)});
    if (oneIn(6)) s_.bombs.push_back({Spot::kFinish, between(1, 8)});
    int64_t at = 0;
    for (uint64_t left = below(4); left > 0; --left) {
      at += oneIn(3) ? between(0, 6) : between(0, durationMs_);
      s_.kills.push_back({Millis(at), random_.next(), oneIn(4)});
    }
    if (s_.bombs.empty() && s_.kills.empty()) s_.bombs.push_back({Spot::kRecord, between(1, 200)});
  }

  void drawDisk() {
    static constexpr FileOperation kOperations[] = {FileOperation::kCreate, FileOperation::kAppend, FileOperation::kClose,
                                                    FileOperation::kOpen,   FileOperation::kRead,   FileOperation::kRename,
                                                    FileOperation::kRemove, FileOperation::kCreateDirectories};
    for (uint64_t left = 1 + below(3); left > 0; --left) {
      DiskFault fault;
      fault.trouble = static_cast<DiskTrouble>(below(4));
      fault.operation = oneIn(3) ? -1 : static_cast<int32_t>(kOperations[below(std::size(kOperations))]);
      if (fault.trouble == DiskTrouble::kFull || fault.trouble == DiskTrouble::kTorn)
        fault.operation = static_cast<int32_t>(FileOperation::kAppend);
      if (oneIn(4)) fault.path = "*_metadata*";
      fault.afterCalls = below(60);
      fault.times = 1 + below(fault.trouble == DiskTrouble::kSlow ? 40 : 6);
      fault.latency = Nanos(between(10'000, 30'000'000));
      s_.disk.push_back(fault);
    }
  }

  const Taste taste_;
  Random random_;
  Scenario s_;
  std::vector<int32_t> open_;  ///< nodes whose output may still be read
  bool sawKeyed_ = false;
  int sliding_ = 0;  ///< windows of that kind
  int64_t durationMs_ = 0;
};

}  // namespace

Scenario drawScenario(uint64_t seed, const Taste& taste) { return Drawing(seed, taste).draw(); }

}  // namespace weir::sim
