#pragma once

#include <memory>
#include <string>

#include "semantics/golden_case.h"
#include "weir/base/result.h"
#include "weir/task/stream_operator.h"
#include "weir/windowing/window_operator.h"

namespace weir::semantics {

/// The key of an item; of all items the same where the operator is not keyed.
struct CaseKey {
  bool keyed = true;
  std::optional<std::string> operator()(const Item& item) const { return keyed ? item.key : std::string("*"); }
};
using KeyOfItem = NonNullKey<CaseKey>;

/// The engine's operator for one entry of a case's `operators`. `doubles`: its values. Throws std::runtime_error for what the interpreter
/// does not know. Side outputs: "late", for joins "lateLeft" and "lateRight", all of items.
std::unique_ptr<StreamOperator> makeOperator(const Json& op, bool doubles, OperatorSetup setup);
/// Whether an operator gives doubles.
bool givesDoubles(const Json& op, bool doubles);
/// Whether it has an input of its own for a second stream.
bool hasTwoInputs(const Json& op);

std::unique_ptr<StreamOperator> makeWindow(const Json& op, bool doubles, OperatorSetup setup);
std::unique_ptr<StreamOperator> makeProcess(const Json& op, OperatorSetup setup);
std::unique_ptr<StreamOperator> makeRolling(const Json& op, bool doubles, OperatorSetup setup);
std::unique_ptr<StreamOperator> makeWatermarks(const Json& op, OperatorSetup setup);
std::unique_ptr<StreamOperator> makeJoin(const Json& op, OperatorSetup setup);

std::shared_ptr<const WindowAssigner> assignerOf(const Json& json);

}  // namespace weir::semantics
