#include "sim/program.h"

#include "sim/timed_functions.h"
#include "weir/api/windowed_stream.h"
#include "weir/base/check.h"

namespace weir::sim {
namespace {

using Stream = DataStream<Rec>;

Stream partitioned(const Stream& stream, Edge edge) {
  switch (edge) {
    case Edge::kForward: return stream.forward();
    case Edge::kRebalance: return stream.rebalance();
    case Edge::kRescale: return stream.rescale();
    case Edge::kShuffle: return stream.shuffle();
    case Edge::kGlobal: return stream.global();
    case Edge::kBroadcast: return stream.broadcast();
    case Edge::kCustom: return stream.partitionCustom([](int32_t key, int32_t channels) { return key % channels; }, &Rec::key);
    case Edge::kDefault:
    case Edge::kHash: break;
  }
  return stream;
}

class Building {
 public:
  Building(const Scenario& scenario, std::shared_ptr<Journal> journal, StreamExecutionEnvironment& env)
      : scenario_(scenario), journal_(std::move(journal)), env_(env) {}

  Stream build(int32_t index) {
    const Node& node = scenario_.nodes[static_cast<size_t>(index)];
    node_ = index;
    parallelism_ = scenario_.parallelismOf(node.group, journal_->incarnation);
    Stream stream = operatorOf(node);
    settle(stream, "");
    if (node.newChain) stream.startNewChain();
    if (node.cost.count() > 0 && node.op != Op::kSource) stream.cost(node.cost);
    streams.push_back(stream);
    return stream;
  }
  Stream read(const Input& input) const {
    Stream all = streams[static_cast<size_t>(input.from[0])];
    for (size_t i = 1; i < input.from.size(); ++i) all = all.unionWith(streams[static_cast<size_t>(input.from[i])]);
    return partitioned(all, input.edge);
  }

  std::vector<Stream> streams;

 private:
  template <class F>
  F make() const {
    return F(journal_, node_);
  }
  void settle(Stream& stream, const std::string& suffix) const {
    const std::string id = "node" + std::to_string(node_) + suffix;
    stream.name(id).uid(id).setParallelism(parallelism_);
  }
  /// An input whose records arrive once, whatever the edge.
  Stream once(const Input& input, const std::string& suffix = "-mine") {
    Stream stream = read(input);
    if (input.edge != Edge::kBroadcast) return stream;
    Stream mine = stream.filter(make<MineFunction>());
    settle(mine, suffix);
    return mine;
  }

  Stream operatorOf(const Node& node) {
    switch (node.op) {
      case Op::kSource: return source(node);
      case Op::kMap: return once(node.inputs[0]).map(make<MapFunction>());
      case Op::kRekey: return once(node.inputs[0]).map(make<RekeyFunction>());
      case Op::kFilter: return once(node.inputs[0]).filter(make<FilterFunction>());
      case Op::kFlatMap: return once(node.inputs[0]).flatMap<Rec>(make<FlatMapFunction>());
      case Op::kListCounter: return once(node.inputs[0]).process<Rec>(CounterFunction(journal_, node_, false));
      case Op::kUnionCounter: return once(node.inputs[0]).process<Rec>(CounterFunction(journal_, node_, true));
      case Op::kKeyedSum: return read(node.inputs[0]).keyBy(&Rec::key).process<Rec>(make<KeyedSumFunction>());
      case Op::kKeyedReduce: {
        // The first record of a key is its own sum: it must not carry that of an operator before.
        Stream fresh = read(node.inputs[0]).map(make<MapFunction>());
        settle(fresh, "-fresh");
        fresh.setParallelism(
            scenario_.parallelismOf(scenario_.nodes[static_cast<size_t>(node.inputs[0].from[0])].group, journal_->incarnation));
        return fresh.keyBy(&Rec::key).reduce(ReduceFunction{});
      }
      case Op::kConnect:
        return once(node.inputs[0], "-mine1").connect(once(node.inputs[1], "-mine2")).process<Rec>(make<ConnectFunction>());
      case Op::kKeyedConnect:
        return read(node.inputs[0])
            .keyBy(&Rec::key)
            .connectAndProcess<Rec>(read(node.inputs[1]).keyBy(&Rec::key), make<KeyedConnectFunction>());
      case Op::kBundle:
        return once(node.inputs[0]).transform<Rec>("bundle", Batching::kOneByOne, [journal = journal_, index = node_](OperatorSetup setup) {
          return std::make_unique<BundleOperator>(std::move(setup), journal, index);
        });
      case Op::kHold: return read(node.inputs[0]).keyBy(&Rec::key).process<Rec>(make<HoldFunction>());
      case Op::kHoldConnect:
        return read(node.inputs[0])
            .keyBy(&Rec::key)
            .connectAndProcess<Rec>(read(node.inputs[1]).keyBy(&Rec::key), make<HoldFunction>());
      case Op::kDelay: {
        Stream delayed = read(node.inputs[0]).keyBy(&Rec::key).process<Rec>(make<DelayFunction>());
        settle(delayed, "-delayed");
        return timed(delayed, node.event);
      }
      case Op::kWindow: return windows(node);
      case Op::kWatch:
        return once(node.inputs[0]).transform<Rec>("watch", Batching::kBatches, [journal = journal_, index = node_](OperatorSetup setup) {
          return std::make_unique<WatchOperator>(std::move(setup), journal, index);
        });
      case Op::kBroadcastState:
        return once(node.inputs[0]).connect(read(node.inputs[1])).process<Rec>(make<BroadcastStateFunction>());
    }
    WEIR_CHECK(false, "an operator without a program");
  }
  Stream source(const Node& node) {
    const double rate = node.recordsPerSecond > 0 ? node.recordsPerSecond : StreamExecutionEnvironment::kUnlimited;
    const int32_t splits = scenario_.parallelismOf(node.group, journal_->begunBy);
    if (scenario_.timed) {
      Stream stream = env_.fromSource(TimedReader(node_, node.records, splits), "source", rate, Batching::kBatches);
      settle(stream, "-read");
      return timed(stream, node.event);
    }
    return env_.fromGenerator(node.records, [index = node_, splits](int64_t i) { return sourceRecord(index, i, splits); }, rate);
  }

  Stream timed(Stream& stream, const EventTimes& event) const {
    const Millis bound(event.boundMs);
    if (event.silent) return timed(stream, event, WatermarkStrategy::noWatermarks());
    if (event.everyRecord) return timed(stream, event, WatermarkStrategy::forEveryRecord(bound));
    return timed(stream, event, WatermarkStrategy::forBoundedOutOfOrderness(bound));
  }
  template <class Strategy>
  Stream timed(Stream& stream, const EventTimes& event, Strategy strategy) const {
    if (event.idleMs > 0) strategy = strategy.withIdleness(Millis(event.idleMs));
    // Only a source can wait, and what holds it back is in its chain.
    if (event.driftMs > 0 && scenario_.chaining)
      strategy = strategy.withWatermarkAlignment("sources", Millis(event.driftMs), Millis(scenario_.watermarkIntervalMs));
    return stream.assignTimestampsAndWatermarks(
        strategy.withTimestampAssigner([journal = journal_](const Rec& rec) { return eventTime(journal->scenario, rec); }));
  }
  Stream windows(const Node& node) const {
    const Timing& timing = node.timing;
    const Millis size(windowSize(timing)), slide(timing.sizeMs), offset(timing.offsetMs);
    auto windows = read(node.inputs[0])
                       .keyBy(&Rec::key)
                       .window(timing.window == WindowKind::kTumbling  ? TumblingEventTimeWindows::of(size, offset)
                               : timing.window == WindowKind::kSliding ? SlidingEventTimeWindows::of(size, slide, offset)
                                                                       : EventTimeSessionWindows::withGap(size));
    // A late record comes out on its own, once: what the window held before is gone.
    const bool late = mayBeLateInto(scenario_, node_);
    if (late || timing.purging) windows.trigger(PurgingTrigger::of(EventTimeTrigger::create()));
    windows.allowedLateness(Millis(late ? kEndlessLatenessMs : timing.latenessMs));
    return windows.process<Rec>(make<WindowFunction>());
  }

  const Scenario& scenario_;
  const std::shared_ptr<Journal> journal_;
  StreamExecutionEnvironment& env_;
  int32_t node_ = 0, parallelism_ = 1;
};

}  // namespace

std::vector<std::shared_ptr<Store>> makeStores(const Scenario& scenario) {
  std::vector<std::shared_ptr<Store>> stores;
  for (size_t i = 0; i < scenario.sinks.size(); ++i) stores.push_back(std::make_shared<Store>());
  return stores;
}

StreamExecutionEnvironment makeProgram(const Scenario& scenario, const std::shared_ptr<Journal>& journal,
                                       const std::vector<std::shared_ptr<Store>>& stores) {
  StreamExecutionEnvironment env;
  env.setMaxParallelism(scenario.maxParallelism);
  env.setBufferTimeout(scenario.bufferTimeoutMs);
  if (!scenario.chaining) env.disableOperatorChaining();
  Building building(scenario, journal, env);
  for (size_t i = 0; i < scenario.nodes.size(); ++i) building.build(static_cast<int32_t>(i));
  for (size_t i = 0; i < scenario.sinks.size(); ++i) {
    const Sink& sink = scenario.sinks[i];
    const std::string id = "sink" + std::to_string(i);
    building.read({{sink.from}, sink.edge})
        .sinkTo(id, Batching::kBatches, TransactionalCollectSink<Rec>(stores[i]))
        .uid(id)
        .setParallelism(scenario.parallelismOf(sink.group, journal->incarnation));
  }
  return env;
}

}  // namespace weir::sim
