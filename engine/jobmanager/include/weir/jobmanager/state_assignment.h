#pragma once

#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/jobmanager/checkpoint_environment.h"
#include "weir/jobmanager/completed_checkpoint.h"
#include "weir/jobmanager/lifecycle.h"

namespace weir {

/// Hands the state of a checkpoint out to tasks: each operator's subtask gets its own, and of union states everybody's.
///
/// Flink: StateAssignmentOperation. Parallelism must be that of the checkpoint; the error of another one says so. Other errors: a changed
/// maximum parallelism, and state of an operator that the job does not have (unless allowed). One element per task, in the same order.
Result<std::vector<RestoredTask>> assignStates(const CompletedCheckpoint& checkpoint, const CheckpointTopology& topology,
                                               std::span<const int32_t> tasks, bool allowNonRestoredState);

}  // namespace weir
