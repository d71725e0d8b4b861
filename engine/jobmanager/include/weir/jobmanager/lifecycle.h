#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/graph/job_status.h"
#include "weir/rpc/messages.h"

namespace weir {

class CheckpointCoordinator;

/// What one task starts from.
struct RestoredTask {
  int64_t checkpointId = 0;                        ///< 0: nothing to restore
  std::shared_ptr<const TaskStateSnapshot> state;  ///< null: stateless, or nothing to restore
};

/// What the scheduler needs from checkpointing and tells it. A job without checkpoints has none.
///
/// Flink: what SchedulerBase does with its CheckpointCoordinator, and CheckpointCoordinatorDeActivator. Threads: the JobMaster's. Tasks
/// are numbered as in the ExecutionGraph. Calls do not call back into the scheduler; who has to (a job failure) posts a mail.
class CheckpointLifecycle {
 public:
  virtual ~CheckpointLifecycle() = default;
  /// After each transition of a task's current attempt.
  virtual void onTaskState(int32_t task, ExecutionState from, ExecutionState to) = 0;
  /// Its TaskManager is gone: it will not answer any more. Before the transition of its attempt.
  virtual void onTaskLost(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>& cause) = 0;
  /// After each transition of the job.
  virtual void onJobStatus(JobStatus from, JobStatus to) = 0;
  /// `tasks` are about to be deployed (again), in new attempts: aborts what is pending of them, and gives the state of each from the latest
  /// completed checkpoint or the savepoint to start from. One element per task, in the same order. An error ends the job.
  virtual Result<std::vector<RestoredTask>> restoreFor(std::span<const int32_t> tasks) = 0;
  virtual void acknowledgeCheckpoint(AcknowledgeCheckpoint message) = 0;
  virtual void declineCheckpoint(DeclineCheckpoint message) = 0;
  virtual void reportCheckpointMetrics(ReportCheckpointMetrics message) = 0;
  /// The job reached `status`, which is terminal. Calls `done` on the JobMaster, at once or later, when nothing is left to write or delete.
  virtual void shutdown(JobStatus status, std::function<void()> done) = 0;
  /// For requests of users (REST, command line).
  virtual CheckpointCoordinator* coordinator() = 0;
};

}  // namespace weir
