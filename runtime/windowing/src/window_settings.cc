#include "weir/windowing/window_operator.h"

namespace weir {

Result<void> WindowSettings::check() const {
  if (assigner->isMerging() && trigger && !trigger->canMerge()) {
    return Error{ErrorCode::kInvalidArgument, "A merging window assigner cannot be used with a trigger that does not support merging (" +
                                                  assigner->toString() + " with " + trigger->toString() + ")"};
  }
  if (allowedLateness < 0)
    return Error{ErrorCode::kInvalidArgument, "The allowed lateness cannot be negative (it is " + std::to_string(allowedLateness) + " ms)"};
  return {};
}

std::string WindowSettings::toString(const std::string& function) const {
  const auto& shown = trigger ? trigger : assigner->getDefaultTrigger();
  return "Window(" + assigner->toString() + ", " + shown->toString() + ", " + function + ")";
}

}  // namespace weir
