#include "weir/jobmanager/checkpoint_coordinator_deactivator.h"

#include "weir/jobmanager/checkpoint_coordinator.h"

namespace weir {

CheckpointCoordinatorDeActivator::CheckpointCoordinatorDeActivator(LogSink& log, CheckpointCoordinator& coordinator)
    : logger_(log, "org.apache.flink.runtime.checkpoint.ExecutionTrackingCheckpointCoordinatorDeActivator"), coordinator_(coordinator) {}

void CheckpointCoordinatorDeActivator::onJobStatus(std::string_view status) {
  jobStatus_ = status;
  startOrStop();
}

void CheckpointCoordinatorDeActivator::onTaskState(const ExecutionAttemptID& attempt, ExecutionState state) {
  if (!coordinator_.isPeriodicCheckpointingConfigured()) return;
  if (state == ExecutionState::kRunning && !coordinator_.isPeriodicCheckpointingStarted()) coordinator_.startCheckpointScheduler();
  if (state == ExecutionState::kRunning || state == ExecutionState::kFinished) {
    notRunning_.erase(attempt);
  } else {
    notRunning_.insert(attempt);
  }
  startOrStop();
}

void CheckpointCoordinatorDeActivator::startOrStop() {
  if (!coordinator_.isPeriodicCheckpointingConfigured()) return;
  const bool wanted = jobStatus_ == "RUNNING" && notRunning_.empty();
  if (wanted && started_) {
    logger_.info("Checkpoint scheduler is already started, ignoring status change (some task has finished?)");
  } else if (wanted) {
    logger_.info("Starting checkpoint scheduler");
    started_ = true;
    coordinator_.startCheckpointScheduler();
  } else if (started_) {
    logger_.info("Stopping checkpoint scheduler, current job status: {}", jobStatus_);
    started_ = false;
    coordinator_.stopCheckpointScheduler();
  }
}

}  // namespace weir
