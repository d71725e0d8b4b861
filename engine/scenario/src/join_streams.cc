#include "node_settings.h"
#include "weir/windowing/interval_join.h"
#include "weir/windowing/join.h"
#include "window_settings.h"
#include "window_streams.h"

namespace weir {
namespace {

using Union = TaggedUnion<Row, Row>;
using SideKey = UnionKey<Row, Row, RowKeySelector, RowKeySelector>;

Row both(const Row& left, const Row& right) {
  Row row;
  row.values.reserve(left.values.size() + right.values.size());
  row.values.insert(row.values.end(), left.values.begin(), left.values.end());
  row.values.insert(row.values.end(), right.values.begin(), right.values.end());
  return row;
}

struct JoinNearby {
  void operator()(const Row& left, const Row& right, IntervalJoinContext&, Collector<Row>& out) { out.collect(both(left, right)); }
};

}  // namespace

DataStream<Row> joinInWindows(const DataStream<Row>& left, const DataStream<Row>& right, const std::vector<size_t>& leftKey,
                              const std::vector<size_t>& rightKey, const NodeSpec& node) {
  const SideKey key{RowKeySelector(leftKey), RowKeySelector(rightKey)};
  DataStream<Row> one = left, two = right;
  auto ones = one.map([](const Row& row) { return Union::ofOne(row); });
  applySettings(ones, node, "-left");
  auto twos = two.map([](const Row& row) { return Union::ofTwo(row); });
  applySettings(twos, node, "-right");
  using Function = CoGroupFunction<Row, Row, JoinFunction<Row, Row, Row (*)(const Row&, const Row&)>>;
  using Contents = ListContents<Union, Function, Row>;
  const Contents contents(Function{{&both}});
  auto joined =
      ones.unionWith(twos)
          .partitioned(std::make_shared<KeyedEdge<Union, SideKey>>(key))
          .transform<Row>("Join", Batching::kBatches, [key, contents, settings = windowSettings(*node.window)](OperatorSetup setup) {
            return std::make_unique<WindowOperator<SideKey, Contents>>(std::move(setup), key, settings, contents,
                                                                       heapKeyedStateBackend<RowKey>());
          });
  applySettings(joined, node);
  return joined;
}

DataStream<Row> joinByTime(const DataStream<Row>& left, const DataStream<Row>& right, const std::vector<size_t>& leftKey,
                           const std::vector<size_t>& rightKey, const NodeSpec& node) {
  const RowKeySelector one(leftKey), two(rightKey);
  const JoinInterval interval{node.join.withinMillis->first, node.join.withinMillis->second};
  auto factory = makeOperatorFactory(Batching::kBatches, [one, two, interval](OperatorSetup setup) {
    return std::make_unique<IntervalJoinOperator<Row, Row, Row, RowKeySelector, RowKeySelector, JoinNearby>>(
        std::move(setup), one, two, interval, JoinNearby(), heapKeyedStateBackend<RowKey>());
  });
  const auto& program = left.program();
  const int32_t index = program->add("Join", std::move(factory), &ElementTypeOf<Row>::instance());
  left.partitioned(std::make_shared<KeyedEdge<Row, RowKeySelector>>(one)).feed(index, 0);
  right.partitioned(std::make_shared<KeyedEdge<Row, RowKeySelector>>(two)).feed(index, 1);
  DataStream<Row> joined(program, index);
  applySettings(joined, node);
  return joined;
}

}  // namespace weir
