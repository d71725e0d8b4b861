#include <set>

#include "validation_parts.h"

namespace weir {
namespace {

const char* const kSink = "weir-results";
const char* const kBounds = "weir-bounds";

/// The streams that `name` is made from, itself included.
void addClosure(const ScenarioFile& file, const std::string& name, std::set<std::string>& into) {
  for (const NodeSpec& node : file.job) {
    const bool isLate = node.window && node.window->late && node.window->late->value == name;
    if ((node.name.value != name && !isLate) || !into.insert(node.name.value).second) continue;
    for (const auto& input : node.inputs) addClosure(file, input.value, into);
  }
}

Located<std::string> at(const NodeSpec& node, std::string text) { return {std::move(text), node.name.at}; }

AggregateSpec hidden(const NodeSpec& node, const std::string& name, const char* function, std::optional<std::string> column) {
  AggregateSpec spec;
  spec.name = at(node, name);
  spec.function = at(node, function);
  if (column) spec.column = at(node, *column);
  return spec;
}

/// Puts columns for the bounds of rounding in front of the aggregation, and hidden aggregates behind it.
NodeSpec addBounds(const Validated& validated, NodeSpec& node) {
  NodeSpec map;
  map.kind = NodeSpec::Kind::kMap;
  map.name = at(node, kBounds);
  map.inputs = node.inputs;
  map.keepColumns = true;
  map.parallelism = 1;
  for (size_t i = 0; i < validated.aggregates.size(); ++i) {
    if (!rounds(validated.aggregates[i])) continue;
    const std::string number = std::to_string(i), column = validated.node->aggregates[i].column->value;
    map.map.emplace_back(at(node, "weir_size_" + number), at(node, "abs(double(" + column + "))"));
    map.map.emplace_back(at(node, "weir_square_" + number), at(node, "double(" + column + ") * double(" + column + ")"));
    node.aggregates.push_back(hidden(node, "weir_n_" + number, "count", column));
    node.aggregates.push_back(hidden(node, "weir_sizes_" + number, "sum", "weir_size_" + number));
    node.aggregates.push_back(hidden(node, "weir_squares_" + number, "sum", "weir_square_" + number));
  }
  node.aggregates.push_back(hidden(node, "weir_rows", "count", std::nullopt));
  return map;
}

}  // namespace

bool rounds(const ColumnAggregate& aggregate) {
  using Kind = ColumnAggregate::Kind;
  const Kind kind = aggregate.kind();
  return (kind == Kind::kSum || kind == Kind::kAvg || kind == Kind::kVariance || kind == Kind::kStddev) &&
         aggregate.traits().splitsUpToRounding();
}

size_t hiddenColumns(const Validated& validated) {
  size_t count = 1;
  for (const ColumnAggregate& aggregate : validated.aggregates) count += rounds(aggregate) ? 3 : 0;
  return count;
}

ScenarioFile variantOf(const ScenarioFile& file, const Validated& validated, const Variant& wanted) {
  ScenarioFile variant = file;
  std::set<std::string> needed;
  addClosure(file, validated.node->name.value, needed);
  variant.job.clear();
  for (NodeSpec node : file.job) {
    if (!needed.contains(node.name.value)) continue;
    node.cost.reset();
    node.twoStage.reset();
    node.source.rate.reset();
    if (!wanted.ownWatermarks) node.source.everyRecordWatermarks = true;
    // Up to the first exchange by key there is one subtask, so that there is one order.
    if (node.kind != NodeSpec::Kind::kAggregate && node.kind != NodeSpec::Kind::kJoin) node.parallelism = 1;
    if (node.name.value == validated.node->name.value) {
      if (node.window) node.window->late.reset();  // so that late records are counted
      if (wanted.twoStages) node.twoStage = validated.twoStage;
      if (wanted.withBounds) {
        NodeSpec map = addBounds(validated, node);
        if (!map.map.empty()) {
          variant.job.push_back(map);
          node.inputs = {at(node, kBounds)};
        }
      }
      NodeSpec sink;
      sink.kind = NodeSpec::Kind::kSink;
      sink.sink = NodeSpec::Sink::kPrint;
      sink.name = at(node, kSink);
      sink.inputs = {node.name};
      sink.exchange = Exchange::kForward;
      sink.parallelism = node.parallelism;
      variant.job.push_back(std::move(node));
      variant.job.push_back(std::move(sink));
      continue;
    }
    variant.job.push_back(std::move(node));
  }
  return variant;
}

}  // namespace weir
