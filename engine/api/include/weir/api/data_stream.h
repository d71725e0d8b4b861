#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/graph/stream_graph.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/operators/keyed.h"
#include "weir/operators/partitioning.h"
#include "weir/operators/rolling.h"
#include "weir/operators/sinks.h"
#include "weir/operators/source.h"
#include "weir/operators/stateless.h"
#include "weir/operators/watermarks.h"
#include "weir/windowing/window_assigner.h"

namespace weir {

/// What all streams of one program share while it is being written: the graph and the defaults that new operators take.
struct Program {
  StreamGraph graph;
  int32_t parallelism = 1;
  int32_t maxParallelism = 0;  ///< 0: Flink's default for each parallelism
  BufferTimeout bufferTimeout;
  StreamNode nobody;      ///< takes the settings of what is no operator
  std::string misplaced;  ///< the operator behind which the first of these was; empty: none

  /// What getJobGraph() and execute() say instead, if it is the first.
  void mistake(const Error& error) { graph.mistake(error.message); }
  /// An operator with these defaults; connected by the caller.
  int32_t add(std::string name, std::shared_ptr<const OperatorFactory> factory, const ElementType* inputType) {
    StreamNode node;
    node.name = std::move(name);
    node.factory = std::move(factory);
    node.inputType = inputType;
    node.parallelism = parallelism;
    node.maxParallelism = maxParallelism;
    node.bufferTimeout = bufferTimeout;
    return graph.addNode(std::move(node));
  }
};

/// Settings of one operator, the same for streams and sinks; each returns the derived object so that calls chain. Flink:
/// SingleOutputStreamOperator, DataStreamSink.
template <class Derived>
class OperatorSettings {
 public:
  Derived& name(std::string name) { return node().name = std::move(name), self(); }
  /// A stable id: state finds its operator by it after the program has changed.
  Derived& uid(std::string uid) { return node().uid = std::move(uid), self(); }
  Derived& setParallelism(int32_t parallelism) { return node().parallelism = parallelism, self(); }
  Derived& setMaxParallelism(int32_t maxParallelism) { return node().maxParallelism = maxParallelism, self(); }
  int32_t getParallelism() const { return program_->graph.node(node_).parallelism; }
  Derived& slotSharingGroup(std::string group) { return node().slotSharingGroup = std::move(group), self(); }
  Derived& startNewChain() { return node().chaining = ChainingStrategy::kHead, self(); }
  Derived& disableChaining() { return node().chaining = ChainingStrategy::kNever, self(); }
  /// Milliseconds; 0 flushes after every record, -1 only full buffers.
  Derived& setBufferTimeout(int64_t millis) { return node().bufferTimeout.millis = millis, self(); }
  /// What every record costs here, beside the function itself: a slow external call or heavy computation. Weir's own.
  Derived& cost(Nanos perRecord, CostMode mode = CostMode::kSleep) { return node().cost = RecordCost{perRecord, mode}, self(); }

 protected:
  OperatorSettings(std::shared_ptr<Program> program, int32_t node) : program_(std::move(program)), node_(node) {}
  StreamNode& node() {
    StreamNode& operatorNode = program_->graph.node(node_);
    if (isOperator_) return operatorNode;
    if (program_->misplaced.empty()) program_->misplaced = operatorNode.name;
    return program_->nobody;
  }
  std::shared_ptr<Program> program_;
  int32_t node_;
  /// False: a way to the next operator, as after rebalance(), a union or a side output. Settings would change the operator in front of it;
  /// Flink's streams of that kind have none.
  bool isOperator_ = true;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

/// The end of a stream. Flink: DataStreamSink.
class DataStreamSink : public OperatorSettings<DataStreamSink> {
 public:
  DataStreamSink(std::shared_ptr<Program> program, int32_t node) : OperatorSettings(std::move(program), node) {}
};

template <class T, class KeyFn>
class KeyedStream;
template <class T, class KeyFn, class F>
class AggregatedStream;
template <class T1, class T2>
class ConnectedStreams;
template <class T, class KeyFn>
class WindowedStream;
struct SameKey;
template <class T1, class T2, bool pairs>
class JoinedStreams;
template <class T>
class BroadcastStream;
template <class T, class T2>
class BroadcastConnectedStream;
template <class T, class KeyFn, class T2>
class KeyedBroadcastConnectedStream;
template <Serializable UK, Serializable UV>
struct BroadcastStateDescriptor;
template <class T1, class KeyFn1, class T2, class KeyFn2>
class IntervalJoined;

/// A stream of records of type T. A value: copies name the same stream. Flink: DataStream, SingleOutputStreamOperator.
template <class T>
class DataStream : public OperatorSettings<DataStream<T>> {
 public:
  /// One edge that the next operator will have to this stream; a union has several.
  struct Origin {
    int32_t node;
    std::string sideTag;
    std::shared_ptr<const EdgePartitioner> partitioner;  ///< null: not chosen
  };
  static_assert(
      Serializer<T>::kSupported,
      "Weir cannot serialize the elements of this stream: use bool, int8_t, int16_t, int32_t, int64_t, float, double, std::string, "
      "std::vector, std::map, std::pair, std::tuple, or a struct with WEIR_FIELDS(member, ...)");

  DataStream(std::shared_ptr<Program> program, int32_t node)
      : OperatorSettings<DataStream<T>>(std::move(program), node), origins_{{node, {}, nullptr}} {}
  DataStream(std::shared_ptr<Program> program, std::vector<Origin> origins)
      : OperatorSettings<DataStream<T>>(std::move(program), origins.front().node), origins_(std::move(origins)) {
    this->isOperator_ = false;
  }

  /// f(const T&) -> Out
  template <class F, class Out = std::remove_cvref_t<std::invoke_result_t<F&, const T&>>>
  DataStream<Out> map(F f) {
    return transform<Out>("Map", Batching::kOneByOne,
                          [f](OperatorSetup setup) { return std::make_unique<MapOperator<T, Out, F>>(std::move(setup), f); });
  }
  /// f(const T&) -> bool
  template <class F>
  DataStream<T> filter(F f) {
    return transform<T>("Filter", Batching::kOneByOne,
                        [f](OperatorSetup setup) { return std::make_unique<FilterOperator<T, F>>(std::move(setup), f); });
  }
  /// f(const T&, Collector<Out>&)
  template <class Out, class F>
  DataStream<Out> flatMap(F f) {
    return transform<Out>("Flat Map", Batching::kOneByOne,
                          [f](OperatorSetup setup) { return std::make_unique<FlatMapOperator<T, Out, F>>(std::move(setup), f); });
  }
  /// f(const T&, ProcessContext&, Collector<Out>&), or an object with processElement of that shape; side outputs through the context.
  template <class Out, class F>
  DataStream<Out> process(F f) {
    return transform<Out>("Process", Batching::kOneByOne,
                          [f](OperatorSetup setup) { return std::make_unique<ProcessOperator<T, Out, F>>(std::move(setup), f); });
  }
  /// From here on records have the timestamps of the strategy, and the stream its watermarks.
  template <class Generator, class Assigner>
  DataStream<T> assignTimestampsAndWatermarks(WatermarkStrategyOf<Generator, Assigner> strategy) {
    const Batching batching = requires { Generator::kBuiltIn; } ? Batching::kBatches : Batching::kOneByOne;
    return transform<T>("Timestamps/Watermarks", batching, [strategy](OperatorSetup setup) {
      return std::make_unique<TimestampsAndWatermarksOperator<T, Generator, Assigner>>(std::move(setup), strategy);
    });
  }
  /// f(const T&), or an object with invoke(const T&).
  template <class F>
  DataStreamSink addSink(F f) {
    return sinkTo("Unnamed", Batching::kOneByOne,
                  [f](OperatorSetup setup) { return std::make_unique<SinkOperator<T, F>>(std::move(setup), f); });
  }
  /// A line per record on standard output, behind "2> " (the subtask) where there are several. Flink: print.
  DataStreamSink print(std::string identifier = "") {
    return sinkTo("Print to Std. Out", Batching::kBatches, PrintSink<T>(PrintStream::standardOutput(), std::move(identifier)));
  }
  /// Any sink operator of type T; `make` copies its prototypes.
  template <class Make>
  DataStreamSink sinkTo(std::string name, Batching batching, Make make) {
    const int32_t node = addNode(std::move(name), makeOperatorFactory(batching, std::move(make)));
    this->program_->graph.node(node).isSink = true;
    return DataStreamSink(this->program_, node);
  }
  /// Any operator from T to Out; `make` copies its prototypes. Flink: transform.
  template <class Out, class Make>
  DataStream<Out> transform(std::string name, Batching batching, Make make) {
    return DataStream<Out>(this->program_, addNode(std::move(name), makeOperatorFactory(batching, std::move(make))));
  }

  /// keyFn(const T&) -> key, or a member pointer.
  template <class KeyFn>
  KeyedStream<T, KeyFn> keyBy(KeyFn keyFn) const {
    static_assert(
        Key<KeyOf<T, KeyFn>>,
        "Weir cannot key a stream by this type: use a number, bool, std::string, or a struct, pair or tuple of these (not an array, "
        "a list, a map or an enum, whose Java hash Flink refuses)");
    return KeyedStream<T, KeyFn>(*this, std::move(keyFn));
  }
  /// Windows over all records, whatever their keys: one subtask does all the work.
  WindowedStream<T, SameKey> windowAll(const WindowAssignerResult& assigner) const;
  WindowedStream<T, SameKey> countWindowAll(int64_t size) const;
  /// Pairs of both streams in the same window; see JoinedWindows (weir/api/joined_streams.h). coGroup: all that both have there.
  template <class T2>
  JoinedStreams<T, T2, true> join(const DataStream<T2>& other) const;
  template <class T2>
  JoinedStreams<T, T2, false> coGroup(const DataStream<T2>& other) const;
  template <class T2>
  ConnectedStreams<T, T2> connect(const DataStream<T2>& other) const {
    return ConnectedStreams<T, T2>(*this, other);
  }
  /// See weir/api/broadcast_stream.h.
  template <class T2>
  BroadcastConnectedStream<T, T2> connect(const BroadcastStream<T2>& other) const;
  template <std::same_as<DataStream<T>>... Others>
  DataStream<T> unionWith(const Others&... others) const {
    std::vector<Origin> all = origins_;
    (all.insert(all.end(), others.origins_.begin(), others.origins_.end()), ...);
    return DataStream<T>(this->program_, std::move(all));
  }
  /// What this operator emits to `tag`. Flink: getSideOutput.
  template <class Side>
  DataStream<Side> getSideOutput(const OutputTag<Side>& tag) const {
    return DataStream<Side>(this->program_, std::vector<typename DataStream<Side>::Origin>{{this->node_, tag.id, nullptr}});
  }

  DataStream<T> forward() const { return partitioned(PartitionerKind::kForward); }
  DataStream<T> rebalance() const { return partitioned(PartitionerKind::kRebalance); }
  DataStream<T> rescale() const { return partitioned(PartitionerKind::kRescale); }
  DataStream<T> shuffle() const { return partitioned(PartitionerKind::kShuffle); }
  DataStream<T> broadcast() const { return partitioned(PartitionerKind::kBroadcast); }
  /// To be kept by all subtasks of what it is connected to, in the broadcast states described.
  template <class UK, class UV, class... More>
  BroadcastStream<T> broadcast(const BroadcastStateDescriptor<UK, UV>& state, const More&... more) const;
  DataStream<T> global() const { return partitioned(PartitionerKind::kGlobal); }
  /// choose(key, channels) -> channel
  template <class Choose, class KeyFn>
  DataStream<T> partitionCustom(Choose choose, KeyFn keyFn) const {
    return partitioned(std::make_shared<CustomEdge<T, KeyFn, Choose>>(std::move(keyFn), std::move(choose)));
  }
  DataStream<T> partitioned(std::shared_ptr<const EdgePartitioner> partitioner) const {
    DataStream<T> copy = *this;
    copy.isOperator_ = false;
    for (Origin& origin : copy.origins_) origin.partitioner = partitioner;
    return copy;
  }

  /// Makes input `input` of `node` read this stream.
  void feed(int32_t node, int32_t input) const {
    static const auto forward = std::make_shared<UnkeyedEdge<T>>(PartitionerKind::kForward);
    static const auto rebalance = std::make_shared<UnkeyedEdge<T>>(PartitionerKind::kRebalance);
    for (const Origin& origin : origins_) {
      StreamEdge edge;
      edge.source = origin.node;
      edge.target = node;
      edge.targetInput = input;
      edge.type = &ElementTypeOf<T>::instance();
      edge.sideTag = origin.sideTag;
      edge.partitioner = origin.partitioner;
      edge.forward = forward;
      edge.rebalance = rebalance;
      this->program_->graph.addEdge(std::move(edge));
    }
  }
  const std::shared_ptr<Program>& program() const { return this->program_; }
  const std::vector<Origin>& origins() const { return origins_; }

 private:
  DataStream<T> partitioned(PartitionerKind kind) const { return partitioned(std::make_shared<UnkeyedEdge<T>>(kind)); }
  int32_t addNode(std::string name, std::shared_ptr<const OperatorFactory> factory) {
    const int32_t node = this->program_->add(std::move(name), std::move(factory), &ElementTypeOf<T>::instance());
    feed(node, 0);
    return node;
  }
  std::vector<Origin> origins_;
};

/// A stream partitioned by key; state of its operators is per key. Flink: KeyedStream.
template <class T, class KeyFn>
class KeyedStream {
 public:
  using K = KeyOf<T, KeyFn>;
  KeyedStream(const DataStream<T>& stream, KeyFn keyFn)
      : stream_(stream.partitioned(std::make_shared<KeyedEdge<T, KeyFn>>(keyFn))), keyFn_(std::move(keyFn)) {}
  /// See reinterpretAsKeyedStream.
  struct AsPartitioned {};
  KeyedStream(AsPartitioned, const DataStream<T>& stream, KeyFn keyFn) : stream_(stream), keyFn_(std::move(keyFn)) {}

  /// f(const T& accumulated, const T& value) -> T as in Flink, or f(T& accumulated, const T& value), which changes the first in place and
  /// copies nothing. Every record emits the value so far.
  template <class F>
  DataStream<T> reduce(F f) {
    if constexpr (std::is_invocable_r_v<T, F&, const T&, const T&>) {
      return reduceNamed("Keyed Reduce", Batching::kOneByOne, [f](T& all, const T& one) { all = f(std::as_const(all), one); });
    } else {
      static_assert(std::invocable<F&, T&, const T&>, "reduce takes f(const T&, const T&) -> T, or f(T&, const T&)");
      return reduceNamed("Keyed Reduce", Batching::kOneByOne, std::move(f));
    }
  }
  /// The running sum of one member; the others stay as they were in the key's first record.
  template <class C, class M>
  DataStream<T> sum(M C::*member) {
    return aggregated([member](T& all, const T& one) { rolling::sum(all.*member, one.*member); });
  }
  template <class C, class M>
  DataStream<T> min(M C::*member) {
    return aggregated([member](T& all, const T& one) { rolling::min(all.*member, one.*member); });
  }
  template <class C, class M>
  DataStream<T> max(M C::*member) {
    return aggregated([member](T& all, const T& one) { rolling::max(all.*member, one.*member); });
  }
  /// The record with the smallest value of the member so far; of several the first one, or the last.
  template <class C, class M>
  DataStream<T> minBy(M C::*member, bool first = true) {
    return aggregated([member, first](T& all, const T& one) { rolling::minBy(all, one, member, first); });
  }
  template <class C, class M>
  DataStream<T> maxBy(M C::*member, bool first = true) {
    return aggregated([member, first](T& all, const T& one) { rolling::maxBy(all, one, member, first); });
  }
  /// The sum of element `position` of a tuple or pair.
  template <size_t position>
  DataStream<T> sum() {
    return aggregated([](T& all, const T& one) { rolling::sum(std::get<position>(all), std::get<position>(one)); });
  }
  /// The running result of an aggregate function over each key, as pairs (key, result). `twoStage` of what it returns spreads hot keys. To
  /// be used with weir/api/aggregated_stream.h.
  template <class F>
  AggregatedStream<T, KeyFn, F> aggregate(F f);
  /// Windows of each key: see WindowedStream (weir/api/windowed_stream.h).
  WindowedStream<T, KeyFn> window(const WindowAssignerResult& assigner) const;
  /// Fires with every `size` records of a key; with `slide` every so many, with the last `size`.
  WindowedStream<T, KeyFn> countWindow(int64_t size) const;
  WindowedStream<T, KeyFn> countWindow(int64_t size, int64_t slide) const;
  /// Pairs whose timestamps are near each other; see IntervalJoined (weir/api/joined_streams.h).
  template <class T2, class KeyFn2>
  IntervalJoined<T, KeyFn, T2, KeyFn2> intervalJoin(const KeyedStream<T2, KeyFn2>& other) const;
  /// An object with processElement(const T&, KeyedProcessContext<K>&, Collector<Out>&) and usually open(KeyedRuntimeContext<K>&).
  template <class Out, class F>
  DataStream<Out> process(F f) {
    return stream_.template transform<Out>("KeyedProcess", Batching::kOneByOne, [f, keyFn = keyFn_](OperatorSetup setup) {
      return std::make_unique<KeyedProcessOperator<T, Out, KeyFn, F>>(std::move(setup), keyFn, f, heapKeyedStateBackend<K>());
    });
  }
  /// Two keyed streams with one key type, seen by one function with one state.
  template <class Out, class T2, class KeyFn2, class F>
  DataStream<Out> connectAndProcess(const KeyedStream<T2, KeyFn2>& other, F f) {
    auto factory = makeOperatorFactory(Batching::kOneByOne, [f, k1 = keyFn_, k2 = other.keyFn()](OperatorSetup setup) {
      return std::make_unique<KeyedCoProcessOperator<T, T2, Out, KeyFn, KeyFn2, F>>(std::move(setup), k1, k2, f,
                                                                                    heapKeyedStateBackend<K>());
    });
    const auto& program = stream_.program();
    const int32_t node = program->add("Co-Keyed-Process", std::move(factory), &ElementTypeOf<T>::instance());
    stream_.feed(node, 0);
    other.stream().feed(node, 1);
    return DataStream<Out>(program, node);
  }
  template <class T2>
  KeyedBroadcastConnectedStream<T, KeyFn, T2> connect(const BroadcastStream<T2>& other) const;
  const DataStream<T>& stream() const { return stream_; }
  const KeyFn& keyFn() const { return keyFn_; }

 private:
  template <class Reduce>
  DataStream<T> aggregated(Reduce f) {
    return reduceNamed("Keyed Aggregation", Batching::kBatches, std::move(f));
  }
  template <class Reduce>
  DataStream<T> reduceNamed(std::string name, Batching batching, Reduce f) {
    return stream_.template transform<T>(std::move(name), batching, [f, keyFn = keyFn_](OperatorSetup setup) {
      return std::make_unique<KeyedReduceOperator<T, KeyFn, Reduce>>(std::move(setup), keyFn, f, heapKeyedStateBackend<K>());
    });
  }
  DataStream<T> stream_;
  KeyFn keyFn_;
};

/// Takes the stream as one that is already partitioned by this key, as keyBy would have done it, so that what follows may be chained to it.
/// A record whose key belongs to another subtask fails the job when its state is first made.
/// Flink: DataStreamUtils.reinterpretAsKeyedStream.
template <class T, class KeyFn>
KeyedStream<T, KeyFn> reinterpretAsKeyedStream(const DataStream<T>& stream, KeyFn keyFn) {
  return KeyedStream<T, KeyFn>(typename KeyedStream<T, KeyFn>::AsPartitioned{}, stream, std::move(keyFn));
}

/// Two streams of different types, read by one function. Flink: ConnectedStreams.
template <class T1, class T2>
class ConnectedStreams {
 public:
  ConnectedStreams(DataStream<T1> first, DataStream<T2> second) : first_(std::move(first)), second_(std::move(second)) {}
  /// An object with processElement1(const T1&, ProcessContext&, Collector<Out>&) and processElement2.
  template <class Out, class F>
  DataStream<Out> process(F f) {
    auto factory = makeOperatorFactory(
        Batching::kOneByOne, [f](OperatorSetup setup) { return std::make_unique<CoProcessOperator<T1, T2, Out, F>>(std::move(setup), f); });
    const int32_t node = first_.program()->add("Co-Process", std::move(factory), &ElementTypeOf<T1>::instance());
    first_.feed(node, 0);
    second_.feed(node, 1);
    return DataStream<Out>(first_.program(), node);
  }

 private:
  DataStream<T1> first_;
  DataStream<T2> second_;
};

}  // namespace weir
