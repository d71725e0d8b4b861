#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/exchange/partitioner.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// A vertex that is to start from a checkpoint.
struct RestoreTarget {
  std::string name;
  int32_t parallelism = 1;
  int32_t maxParallelism = 128;
  bool maxParallelismConfigured = false;  ///< by the user; a derived one gives way to that of the checkpoint
  std::vector<OperatorID> operators;  ///< head to tail
  /// A gate: what it reads.
  struct Input {
    int32_t producer = -1;  ///< position among the targets; -1: not restored along with this one
    int32_t partition = 0;  ///< which output of the producer
    PartitionerKind partitioner = PartitionerKind::kForward;
  };
  std::vector<Input> inputs{};  ///< by gate
};

/// What its subtasks start from.
struct RestoreAssignment {
  int32_t maxParallelism = 128;  ///< to be used from now on
  std::vector<TaskStateSnapshot> subtasks;
};

/// Hands out the state of a checkpoint to vertices of any parallelism, one assignment per target:
///   keyed       each subtask gets the handles that intersect its key groups, cut to them
///   list, split cut into contiguous runs where the parallelism changed, else everybody keeps his own
///   list, union everybody gets everything
///   broadcast   each subtask gets one copy
///   in flight   logical channels (sender and receiver as they were) are taken over as a whole where they can be, else copied to all who
///               may want records of them; in the order of an edge's bytes, so that records that span buffers stay whole. An edge that
///               holds some and whose partitioner cannot be rescaled is an error.
/// Subtasks of a vertex that was fully finished are finished again. An operator without state in the checkpoint starts empty; state without
/// an operator is an error unless `allowNonRestoredState` or it is empty. `checkpoint` names it in messages.
///
/// Flink: StateAssignmentOperation, RoundRobinOperatorStateRepartitioner, Checkpoints.loadAndValidateCheckpoint. Differs: each edge is
/// decided by itself, so that edges of one vertex may be taken over in different ways. Pure.
Result<std::vector<RestoreAssignment>> assignStates(const std::vector<OperatorState>& states, const std::vector<RestoreTarget>& targets,
                                                    bool allowNonRestoredState, const std::string& checkpoint);

/// One operator's state at another parallelism, without in-flight data. Requires: 1 <= newParallelism <= state.maxParallelism.
std::vector<OperatorSubtaskState> redistribute(const OperatorState& state, int32_t newParallelism);

/// Of a keyed handle what lies in `range`; empty-handed (false) where nothing does.
bool cutToRange(KeyedHandle& handle, KeyGroupRange range);

}  // namespace weir
