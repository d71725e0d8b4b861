#pragma once

#include "weir/base/ids.h"
#include "weir/snapshot/checkpoint_failure.h"
#include "weir/snapshot/checkpoint_metrics.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// How a task answers the checkpoint coordinator. Calls only enqueue a message; any thread. Flink: CheckpointResponder.
class CheckpointResponder {
 public:
  virtual ~CheckpointResponder() = default;
  virtual void acknowledgeCheckpoint(const ExecutionAttemptID& task, int64_t checkpointId, const CheckpointMetrics& metrics,
                                     std::shared_ptr<const TaskStateSnapshot> state) = 0;  ///< state null: stateless
  /// Numbers of a checkpoint that was cancelled here: they complete the statistics of an expired one.
  virtual void reportCheckpointMetrics(const ExecutionAttemptID& task, int64_t checkpointId, const CheckpointMetrics& metrics) = 0;
  virtual void declineCheckpoint(const ExecutionAttemptID& task, int64_t checkpointId, std::shared_ptr<const CheckpointException> why) = 0;
};

}  // namespace weir
