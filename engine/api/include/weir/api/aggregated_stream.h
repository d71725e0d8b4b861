#pragma once

#include <memory>
#include <string>
#include <utility>

#include "weir/api/data_stream.h"
#include "weir/operators/two_stage.h"

namespace weir {

/// An aggregation in two stages. Settings of the whole go to both of them: the first is called as the aggregation is, the second has
/// "-global" behind it; the cost of a record is the first one's. What is not named here is a setting of the second stage.
template <class R>
class TwoStageStream : public DataStream<R> {
 public:
  TwoStageStream(DataStream<R> global, int32_t localNode) : DataStream<R>(std::move(global)), localNode_(localNode) {}
  TwoStageStream& name(const std::string& name) {
    local().name = name;
    this->node().name = name + "-global";
    return *this;
  }
  TwoStageStream& uid(const std::string& uid) {
    local().uid = uid + "-local";
    this->node().uid = uid;
    return *this;
  }
  TwoStageStream& setParallelism(int32_t parallelism) {
    if (!localAtProducers_) local().parallelism = parallelism;
    this->node().parallelism = parallelism;
    return *this;
  }
  TwoStageStream& cost(Nanos perRecord, CostMode mode = CostMode::kSleep) {
    local().cost = RecordCost{perRecord, mode};
    return *this;
  }

 private:
  template <class T, class KeyFn, class F>
  friend class AggregatedStream;
  StreamNode& local() { return this->program_->graph.node(localNode_); }
  int32_t localNode_;
  bool localAtProducers_ = false;
};

/// (key, result so far) for every record of a keyed stream; or in two stages, which is said at once:
/// `keyBy(k).aggregate(f).twoStage({...})`.
template <class T, class KeyFn, class F>
class AggregatedStream : public DataStream<std::pair<KeyOf<T, KeyFn>, typename F::Out>> {
 public:
  using K = KeyOf<T, KeyFn>;
  using Result = std::pair<K, typename F::Out>;
  AggregatedStream(DataStream<Result> oneStage, KeyedStream<T, KeyFn> keyed, F function)
      : DataStream<Result>(std::move(oneStage)), keyed_(std::move(keyed)), function_(std::move(function)) {}

  /// Spreads the records of a key over several subtasks, which aggregate what they get; a second stage merges their accumulators. A result
  /// comes with every accumulator, so there are fewer of them; the last one of each key is that of one stage. A mistake in the options
  /// comes out of getJobGraph(). Flink: two-phase aggregation of the Table API (mini-batch, local-global), which the DataStream API has
  /// not.
  TwoStageStream<Result> twoStage(TwoStageOptions<K> options = {}) {
    static_assert(
        MergeableAggregate<F>,
        "Weir cannot aggregate in two stages with this function: its accumulators cannot be merged (kTraits.mergeable is false, or "
        "there is no merge(Acc&, const Acc&)); aggregate in one stage, or find a form that keeps what a merge needs");
    if (auto mistake = options.mistake(); !mistake.empty()) this->program_->graph.mistake("twoStage() of an aggregation has " + mistake);
    StreamNode global = this->program_->graph.takeBackLast(this->node_);
    const auto stream = keyed_.stream().partitioned(std::shared_ptr<const EdgePartitioner>());
    if (options.salts == 0) {
      auto local = gather<T>(stream, options.flush);
      local.setParallelism(producersOf(stream));
      auto whole = merge(local, std::move(global));
      whole.localAtProducers_ = true;
      return whole;
    }
    auto salted = DataStream<T>(stream).template transform<Salted<T>>(
        "Salt", Batching::kBatches, [keyFn = keyed_.keyFn(), salting = options.salting()](OperatorSetup setup) {
          return std::make_unique<SaltOperator<T, KeyFn>>(std::move(setup), keyFn, salting);
        });
    salted.setParallelism(producersOf(stream));
    auto local = gather<Salted<T>>(salted.partitioned(std::make_shared<SaltedEdge<T, KeyFn>>(keyed_.keyFn())), options.flush);
    local.setParallelism(global.parallelism).setMaxParallelism(global.maxParallelism);
    return merge(local, std::move(global));
  }

 private:
  using Shipped = Accumulated<K, typename F::Acc>;
  int32_t producersOf(const DataStream<T>& stream) { return this->program_->graph.node(stream.origins().front().node).parallelism; }

  template <class In>
  DataStream<Shipped> gather(DataStream<In> from, FlushPolicy flush) {
    return from.template transform<Shipped>(
        "Local Aggregate", Batching::kBatches, [keyFn = keyed_.keyFn(), f = function_, flush](OperatorSetup setup) {
          return std::make_unique<LocalAggregateOperator<In, T, KeyFn, F>>(std::move(setup), keyFn, f, flush);
        });
  }
  TwoStageStream<Result> merge(const DataStream<Shipped>& local, StreamNode global) {
    global.name = "Global Aggregate";
    global.inputType = &ElementTypeOf<Shipped>::instance();
    global.factory = makeOperatorFactory(Batching::kBatches, [f = function_](OperatorSetup setup) {
      return std::make_unique<GlobalAggregateOperator<K, F>>(std::move(setup), f, heapKeyedStateBackend<K>());
    });
    const int32_t node = this->program_->graph.addNode(std::move(global));
    local.partitioned(std::make_shared<KeyedEdge<Shipped, ShippedKey<K, typename F::Acc>>>(ShippedKey<K, typename F::Acc>())).feed(node, 0);
    return TwoStageStream<Result>(DataStream<Result>(this->program_, node), local.origins().front().node);
  }

  KeyedStream<T, KeyFn> keyed_;
  F function_;
};

template <class T, class KeyFn>
template <class F>
AggregatedStream<T, KeyFn, F> KeyedStream<T, KeyFn>::aggregate(F f) {
  static_assert(
      AggregateFunction<F>,
      "Weir cannot aggregate with this type: an aggregate function has In, Acc, Out, kTraits, createAccumulator, add and getResult, "
      "and its accumulator can be serialized");
  static_assert(std::same_as<typename F::In, T>,
                "This aggregate function takes another type than the stream has: use on(&Record::member, function)");
  auto oneStage = stream_.template transform<std::pair<K, typename F::Out>>(
      "Keyed Aggregate", Batching::kBatches, [f, keyFn = keyFn_](OperatorSetup setup) {
        return std::make_unique<AggregateOperator<T, KeyFn, F>>(std::move(setup), keyFn, f, heapKeyedStateBackend<K>());
      });
  return AggregatedStream<T, KeyFn, F>(std::move(oneStage), *this, std::move(f));
}

}  // namespace weir
