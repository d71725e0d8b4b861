#include "semantics/operators.h"

#include <stdexcept>

#include "semantics/functions.h"
#include "weir/operators/stateless.h"

namespace weir::semantics {
namespace {

/// Key becomes "<i mod n>|key", i counts the records.
struct Salt {
  int64_t n, count = 0;
  void operator()(const Item& item, Collector<Item>& out) {
    Item salted = item;
    salted.key = std::to_string(count++ % n) + "|" + item.key.value();
    out.collect(std::move(salted));
  }
};

/// What stands before the first | goes.
struct Unsalt {
  void operator()(const Item& item, Collector<Item>& out) const {
    Item plain = item;
    plain.key = item.key->substr(item.key->find('|') + 1);
    out.collect(std::move(plain));
  }
};

}  // namespace

bool givesDoubles(const Json& op, bool doubles) {
  return op.at("op") == "window" ? givesDoubles(FunctionName{op.at("function"), doubles}) : doubles;
}

bool hasTwoInputs(const Json& op) {
  const std::string name = op.at("op");
  return name == "connect" || name == "intervalJoin" || name == "join" || name == "coGroup" || name == "broadcast";
}

std::unique_ptr<StreamOperator> makeOperator(const Json& op, bool doubles, OperatorSetup setup) {
  const std::string name = op.at("op");
  if (name == "window") return makeWindow(op, doubles, std::move(setup));
  if (name == "salt") return std::make_unique<FlatMapOperator<Item, Item, Salt>>(std::move(setup), Salt{op.at("n")});
  if (name == "unsalt") return std::make_unique<FlatMapOperator<Item, Item, Unsalt>>(std::move(setup), Unsalt{});
  if (name == "process") return makeProcess(op, std::move(setup));
  if (name == "rolling") return makeRolling(op, doubles, std::move(setup));
  if (name == "watermarks") return makeWatermarks(op, std::move(setup));
  if (hasTwoInputs(op)) return makeJoin(op, std::move(setup));
  throw std::runtime_error("the interpreter knows no operator " + name);
}

}  // namespace weir::semantics
