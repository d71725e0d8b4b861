#include "window_streams.h"

#include "keyed_rows.h"
#include "node_settings.h"
#include "row_partial.h"
#include "weir/operators/watermarks.h"
#include "window_settings.h"

namespace weir {
namespace {

template <class KeyFn, class A>
using RowWindows = WindowOperator<KeyFn, AggregateContents<A, EmitResultRow, Row>>;

/// Keyed by `keyFn`, in windows or running.
template <class In, class KeyFn, class A>
DataStream<Row> keyedAggregate(const DataStream<In>& input, KeyFn keyFn, A aggregate, const std::optional<WindowSettings>& windows,
                               bool withBounds) {
  DataStream<In> keyed = input.partitioned(std::make_shared<KeyedEdge<In, KeyFn>>(keyFn));
  if (!windows) {
    return keyed.template transform<Row>("Aggregate", Batching::kBatches, [keyFn, aggregate](OperatorSetup setup) {
      return std::make_unique<RunningRowOperator<KeyFn, A>>(std::move(setup), keyFn, aggregate, heapKeyedStateBackend<RowKey>());
    });
  }
  AggregateContents<A, EmitResultRow, Row> contents(std::move(aggregate), EmitResultRow{withBounds});
  return keyed.template transform<Row>("Window", Batching::kBatches, [keyFn, contents, windows = *windows](OperatorSetup setup) {
    return std::make_unique<RowWindows<KeyFn, A>>(std::move(setup), keyFn, windows, contents, heapKeyedStateBackend<RowKey>());
  });
}

/// Puts a salt behind the columns of a row.
class SaltInTurn {
 public:
  explicit SaltInTurn(int32_t salts) : salts_(salts) {}
  Row operator()(const Row& row) {
    Row salted = row;
    salted.values.emplace_back(next_);
    next_ = (next_ + 1) % salts_;
    return salted;
  }

 private:
  int32_t salts_, next_ = 0;
};

SaltOptions<RowKey> saltOptions(const TwoStageSpec& spec, const std::vector<RowKey>& hotKeys) {
  SaltOptions<RowKey> options;
  options.salts = spec.salts;
  options.hotKeys = hotKeys;
  if (spec.hot == TwoStageSpec::Hot::kSketch) {
    options.detect.emplace();
    options.detect->share = spec.hotShare;
  }
  return options;
}

}  // namespace

DataStream<Row> aggregateInOneStage(const DataStream<Row>& input, const Aggregation& aggregation, const NodeSpec& node,
                                    const std::string& suffix) {
  std::optional<WindowSettings> windows;
  if (aggregation.window) windows = windowSettings(*aggregation.window);
  auto rows = keyedAggregate(input, RowKeySelector(aggregation.key, aggregation.randomSalts), aggregation.aggregate, windows,
                             hasWindowBounds(aggregation.window));
  applySettings(rows, node, suffix);
  return rows;
}

DataStream<Row> aggregateInTwoStages(const DataStream<Row>& input, const Aggregation& aggregation, const NodeSpec& node,
                                     int32_t inputParallelism, const std::vector<RowKey>& hotKeys, std::optional<DataStream<Row>>& late) {
  const RowKeySelector key(aggregation.key);
  DataStream<Row> plain = input;
  auto salted = plain.transform<Salted<Row>>("Salt", Batching::kBatches,
                                             [key, options = saltOptions(*node.twoStage, hotKeys)](OperatorSetup setup) {
                                               return std::make_unique<SaltOperator<Row, RowKeySelector>>(std::move(setup), key, options);
                                             });
  applySettings(salted, node, "-salt").setParallelism(inputParallelism);

  std::optional<WindowSettings> windows;
  std::shared_ptr<const WindowAssigner> assigner;
  WindowSpec spec;
  if (aggregation.window) {
    spec = *aggregation.window;
    windows = windowSettings(spec);
    assigner = windows->assigner;
    windows->assigner = std::make_shared<CarriedWindows>(assigner->isMerging());
    windows->lateTag.clear();  // stage one has told them
  }
  auto local = salted.partitioned(std::make_shared<SaltedEdge<Row, RowKeySelector>>(key))
                   .transform<RowPartial>("Local", Batching::kBatches,
                                          [key, aggregate = aggregation.aggregate, assigner, spec,
                                           twoStage = *node.twoStage](OperatorSetup setup) {
                                            return std::make_unique<RowLocalAggregateOperator>(std::move(setup), key, aggregate, assigner,
                                                                                               spec, twoStage);
                                          });
  applySettings(local, node);
  applyCost(local, node);
  if (spec.late) late = local.getSideOutput(OutputTag<Row>{spec.late->value});
  auto global =
      keyedAggregate(local, PartialKey(), MergePartials{aggregation.aggregate}, windows, hasWindowBounds(aggregation.window));
  applySettings(global, node, "-global");
  return global;
}

DataStream<Row> saltInTurn(const DataStream<Row>& input, int32_t salts, const NodeSpec& node, int32_t inputParallelism) {
  DataStream<Row> plain = input;
  auto salted = plain.map(SaltInTurn(salts));
  applySettings(salted, node, "-salt").setParallelism(inputParallelism);
  return salted;
}

DataStream<Row> withWatermarks(const DataStream<Row>& input, const SourceSpec& spec, const NodeSpec& node, bool everyRecord) {
  DataStream<Row> rows = input;
  const Millis bound(spec.outOfOrdernessMillis);
  const auto put = [&](auto strategy) {
    if (spec.idlenessMillis > 0) strategy = strategy.withIdleness(Millis(spec.idlenessMillis));
    auto timed = rows.assignTimestampsAndWatermarks(strategy);
    applySettings(timed, node, "-time");
    return timed;
  };
  return everyRecord ? put(WatermarkStrategy::forEveryRecord(bound)) : put(WatermarkStrategy::forBoundedOutOfOrderness(bound));
}

}  // namespace weir
