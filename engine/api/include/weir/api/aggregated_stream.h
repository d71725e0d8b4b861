#pragma once

#include <memory>
#include <string>
#include <utility>

#include "weir/api/data_stream.h"
#include "weir/operators/two_stage.h"

namespace weir {

namespace detail {
/// Stage one over a stream, at its producers or behind salts: `gather` adds the operator, given the stream of T or of Salted<T> that it
/// reads. `global` says how parallel stage one is where it is not with the producers.
template <class T, class KeyFn, class Gather>
auto stageOne(const DataStream<T>& keyed, const KeyFn& keyFn, const TwoStageOptions<KeyOf<T, KeyFn>>& options, const StreamNode& global,
              Gather gather) {
  auto stream = keyed.partitioned(std::shared_ptr<const EdgePartitioner>());
  const int32_t producers = stream.program()->graph.node(stream.origins().front().node).parallelism;
  if (options.salts == 0) {
    auto local = gather(stream);
    local.setParallelism(producers);
    return local;
  }
  auto salted = stream.template transform<Salted<T>>("Salt", Batching::kBatches, [keyFn, salting = options.salting()](OperatorSetup setup) {
    return std::make_unique<SaltOperator<T, KeyFn>>(std::move(setup), keyFn, salting);
  });
  salted.setParallelism(producers);
  auto local = gather(salted.partitioned(std::make_shared<SaltedEdge<T, KeyFn>>(keyFn)));
  local.setParallelism(global.parallelism).setMaxParallelism(global.maxParallelism);
  return local;
}
}  // namespace detail

/// An aggregation in two stages. Settings of the whole go to both of them: the first is called as the aggregation is, the second has
/// "-global" behind it; the cost of a record is the first one's. What is not named here is a setting of the second stage.
template <class R>
class TwoStageStream : public DataStream<R> {
 public:
  TwoStageStream(DataStream<R> global, int32_t localNode, bool localAtProducers)
      : DataStream<R>(std::move(global)), localNode_(localNode), localAtProducers_(localAtProducers) {}
  TwoStageStream& name(const std::string& name) {
    local().name = name;
    this->node().name = name + "-global";
    return *this;
  }
  TwoStageStream& uid(const std::string& uid) {
    local().uid = uid + "-local";
    if (!localAtProducers_) this->program_->graph.node(localNode_ - 1).uid = uid + "-salt";
    this->node().uid = uid;
    return *this;
  }
  TwoStageStream& setParallelism(int32_t parallelism) {
    if (!localAtProducers_) local().parallelism = parallelism;
    this->node().parallelism = parallelism;
    return *this;
  }
  /// Of the first stage alone, where it is not with the producers.
  TwoStageStream& setLocalParallelism(int32_t parallelism) {
    if (localAtProducers_) return *this;
    local().parallelism = parallelism;
    if (local().maxParallelism < parallelism) local().maxParallelism = 0;
    return *this;
  }
  TwoStageStream& cost(Nanos perRecord, CostMode mode = CostMode::kSleep) {
    local().cost = RecordCost{perRecord, mode};
    return *this;
  }
  /// Only stage one has any: what is too late.
  template <class Side>
  DataStream<Side> getSideOutput(const OutputTag<Side>& tag) const {
    return DataStream<Side>(this->program_, std::vector<typename DataStream<Side>::Origin>{{localNode_, tag.id, nullptr}});
  }

 private:
  StreamNode& local() { return this->program_->graph.node(localNode_); }
  int32_t localNode_;  ///< behind the node that salts, where there is one
  bool localAtProducers_;
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
    const auto local = detail::stageOne(keyed_.stream(), keyed_.keyFn(), options, global, [&]<class In>(DataStream<In> from) {
      return from.template transform<Shipped>(
          "Local Aggregate", Batching::kBatches, [keyFn = keyed_.keyFn(), f = function_, flush = options.flush](OperatorSetup setup) {
            return std::make_unique<LocalAggregateOperator<In, T, KeyFn, F>>(std::move(setup), keyFn, f, flush);
          });
    });
    global.name = "Global Aggregate";
    global.inputType = &ElementTypeOf<Shipped>::instance();
    global.factory = makeOperatorFactory(Batching::kBatches, [f = function_](OperatorSetup setup) {
      return std::make_unique<GlobalAggregateOperator<K, F>>(std::move(setup), f, heapKeyedStateBackend<K>());
    });
    const int32_t node = this->program_->graph.addNode(std::move(global));
    local.partitioned(std::make_shared<KeyedEdge<Shipped, ShippedKey<K, typename F::Acc>>>(ShippedKey<K, typename F::Acc>())).feed(node, 0);
    return TwoStageStream<Result>(DataStream<Result>(this->program_, node), local.origins().front().node, options.salts == 0);
  }

 private:
  using Shipped = Accumulated<K, typename F::Acc>;
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
