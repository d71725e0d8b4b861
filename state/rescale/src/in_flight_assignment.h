#pragma once

#include <vector>

#include "weir/rescale/state_assignment.h"

namespace weir {

/// Hands out the in-flight data of a checkpoint. `states` by target: of its operators that stand in the checkpoint. Fills the channel state
/// and the rescaling of `assignments`, one per target.
Result<void> assignInFlightData(const std::vector<std::vector<const OperatorState*>>& states, const std::vector<RestoreTarget>& targets,
                                std::vector<RestoreAssignment>& assignments);

}  // namespace weir
