#include <stdexcept>

#include "semantics/functions.h"
#include "semantics/operators.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/operators/rolling.h"

namespace weir::semantics {
namespace {

/// What the engine does with the value so far and one more, on the member of values that holds them.
template <auto member>
struct Rolling {
  std::string function;

  void operator()(Item& all, const Item& one) const {
    auto& value = all.value.*member;
    const auto& next = one.value.*member;
    const auto valueOf = [](const Item& item) -> const auto& { return item.value.*member; };
    if (function == "sum") return rolling::sum(value, next);
    if (function == "min") return rolling::min(value, next);
    if (function == "max") return rolling::max(value, next);
    if (function == "minBy" || function == "minByLast") return rolling::minBy(all, one, valueOf, function == "minBy");
    if (function == "maxBy" || function == "maxByLast") return rolling::maxBy(all, one, valueOf, function == "maxBy");
    if (function != "reduceSubtract") throw std::runtime_error("the interpreter knows no rolling " + function);
    all.value = reduceValues("subtract", all.value, one.value);
    all.tag = all.tag.value_or("") + "," + one.tag.value_or("");
  }
};

template <class Reduce>
std::unique_ptr<StreamOperator> operatorOf(Reduce reduce, OperatorSetup setup) {
  return std::make_unique<KeyedReduceOperator<Item, KeyOfItem, Reduce>>(std::move(setup), KeyOfItem{}, std::move(reduce),
                                                                        heapKeyedStateBackend<std::string>());
}

}  // namespace

std::unique_ptr<StreamOperator> makeRolling(const Json& op, bool doubles, OperatorSetup setup) {
  const std::string function = op.at("function");
  if (doubles) return operatorOf(Rolling<&Value::real>{function}, std::move(setup));
  return operatorOf(Rolling<&Value::number>{function}, std::move(setup));
}

}  // namespace weir::semantics
