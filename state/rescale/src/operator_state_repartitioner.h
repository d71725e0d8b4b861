#pragma once

#include <vector>

#include "weir/snapshot/state_handles.h"

namespace weir {

using OperatorHandles = std::vector<OperatorStateHandle> OperatorSubtaskState::*;

/// Hands out the lists and maps of all subtasks of `state` to those of `into`. Flink: RoundRobinOperatorStateRepartitioner.
void redistributeOperatorState(const OperatorState& state, OperatorHandles member, std::vector<OperatorSubtaskState>& into);

}  // namespace weir
