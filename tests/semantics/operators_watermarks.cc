#include <stdexcept>

#include "semantics/operators.h"
#include "weir/operators/watermarks.h"

namespace weir::semantics {
namespace {

template <class Strategy>
std::unique_ptr<StreamOperator> operatorOf(Strategy strategy, OperatorSetup setup) {
  using Generator = decltype(strategy.generator);
  using Assigner = decltype(strategy.assigner);
  return std::make_unique<TimestampsAndWatermarksOperator<Item, Generator, Assigner>>(std::move(setup), std::move(strategy));
}

template <class Strategy>
std::unique_ptr<StreamOperator> withAssigner(const Json& op, Strategy strategy, OperatorSetup setup) {
  if (op.contains("idleness")) strategy = strategy.withIdleness(Millis(op["idleness"].get<int64_t>()));
  if (op.value("timestampFrom", "") != "value") return operatorOf(std::move(strategy), std::move(setup));
  return operatorOf(strategy.withTimestampAssigner([](const Item& item) { return item.value.number; }), std::move(setup));
}

}  // namespace

std::unique_ptr<StreamOperator> makeWatermarks(const Json& op, OperatorSetup setup) {
  const std::string strategy = op.at("strategy");
  const Millis bound(op.value("maxOutOfOrderness", int64_t{0}));
  if (strategy == "monotonous") return withAssigner(op, WatermarkStrategy::forMonotonousTimestamps(), std::move(setup));
  if (strategy == "bounded") return withAssigner(op, WatermarkStrategy::forBoundedOutOfOrderness(bound), std::move(setup));
  if (strategy == "perRecord") return withAssigner(op, WatermarkStrategy::forEveryRecord(bound), std::move(setup));
  if (strategy == "none") return withAssigner(op, WatermarkStrategy::noWatermarks(), std::move(setup));
  throw std::runtime_error("the interpreter knows no strategy " + strategy);
}

}  // namespace weir::semantics
