#pragma once

#include <set>
#include <string>

#include "weir/base/ids.h"
#include "weir/base/log.h"
#include "weir/task/execution_state.h"

namespace weir {

class CheckpointCoordinator;

/// Starts and stops the periodic checkpoints of a job as its tasks come and go. There are two starters, as in Flink 2.3:
/// (a) the first task that reports RUNNING while the schedule is off, silently; (b) a tracker that starts it when the job is RUNNING and no
/// attempt is known in another state than RUNNING or FINISHED, and stops it otherwise. The tracker never forgets a failed or cancelled
/// attempt, so after a failover only (a) acts.
///
/// Flink: ExecutionTrackingCheckpointCoordinatorDeActivator, DefaultExecutionGraph (starter a). Threads: the JobMaster's actor.
class CheckpointCoordinatorDeActivator {
 public:
  CheckpointCoordinatorDeActivator(LogSink& log, CheckpointCoordinator& coordinator);

  /// `status` as Flink spells it: `RUNNING`, `CANCELLING`, ...
  void onJobStatus(std::string_view status);
  void onTaskState(const ExecutionAttemptID& attempt, ExecutionState state);

 private:
  void startOrStop();

  Logger logger_;
  CheckpointCoordinator& coordinator_;
  std::string jobStatus_;
  std::set<ExecutionAttemptID> notRunning_;
  bool started_ = false;  ///< what this tracker did last; it does not know of (a)
};

}  // namespace weir
