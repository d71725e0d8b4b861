#include "sim/event_time.h"

#include <algorithm>

namespace weir::sim {
namespace {

template <class Predicate>
bool anyInput(const Scenario& scenario, int32_t node, Predicate holds) {
  const auto& inputs = scenario.nodes[static_cast<size_t>(node)].inputs;
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Input& input) { return std::any_of(input.from.begin(), input.from.end(), holds); });
}

}  // namespace

bool knowsTimesInto(const Scenario& scenario, int32_t node) {
  return !anyInput(scenario, node, [&](int32_t from) { return !knowsTimesOf(scenario, from); });
}

bool knowsTimesOf(const Scenario& scenario, int32_t node) {
  const Node& at = scenario.nodes[static_cast<size_t>(node)];
  switch (at.op) {
    case Op::kSource:
    case Op::kHold:
    case Op::kHoldConnect:
    case Op::kDelay: return true;
    case Op::kWindow: return at.timing.window != WindowKind::kSession && knowsTimesInto(scenario, node);
    default: return knowsTimesInto(scenario, node);
  }
}

bool mayBeLateInto(const Scenario& scenario, int32_t node) {
  return anyInput(scenario, node, [&](int32_t from) { return mayBeLate(scenario, from); });
}

bool mayBeLate(const Scenario& scenario, int32_t node) {
  const Node& at = scenario.nodes[static_cast<size_t>(node)];
  switch (at.op) {
    // One that was idle is no longer waited for: what it has then is late.
    case Op::kSource: return at.event.disorderMs > at.event.boundMs || at.event.idleMs > 0;
    case Op::kDelay: return true;
    // Where it does not know the timestamp it goes by when the record happened.
    case Op::kHold:
    case Op::kHoldConnect: return mayBeLateInto(scenario, node) || !knowsTimesInto(scenario, node);
    default: return mayBeLateInto(scenario, node);
  }
}

}  // namespace weir::sim
