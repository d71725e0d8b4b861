#include "weir/jobmanager/checkpoint_failure_manager.h"

#include "weir/jobmanager/checkpoint_coordinator_configuration.h"

namespace weir {

CheckpointFailureManager::CheckpointFailureManager(LogSink& log, const JobID& job, int32_t tolerable, CheckpointFailureCallback callback)
    : logger_(log, "org.apache.flink.runtime.checkpoint.CheckpointFailureManager"), job_(job.toString()), tolerable_(tolerable),
      callback_(std::move(callback)) {}

void CheckpointFailureManager::handleCheckpointException(int64_t checkpointId, const CheckpointProperties& properties,
                                                         const CheckpointException& why, const std::optional<ExecutionAttemptID>& task) {
  log(checkpointId, why);
  const bool byTask = task.has_value() && !isPreFlight(why.reason());
  if (byTask && isSynchronous(properties.type)) {
    callback_.failJob(std::make_shared<CheckpointException>(why));
    return;
  }
  // A savepoint that fails here is its caller's business alone; one that fails at a task says something about the job.
  if (!byTask && isSavepoint(properties.type)) return;
  if (!count(checkpointId, why.reason())) return;
  auto error = std::make_shared<Throwable>(
      "org.apache.flink.util.FlinkRuntimeException",
      "Exceeded checkpoint tolerable failure threshold. The latest checkpoint failed due to " + why.message() +
          ", view the Checkpoint History tab or the Job Manager log to find out why continuous checkpoints failed.",
      why.cause());
  if (byTask) {
    callback_.failJobDueToTask(std::move(error), *task);
  } else {
    callback_.failJob(std::move(error));
  }
}

void CheckpointFailureManager::log(int64_t checkpointId, const CheckpointException& why) const {
  if (why.reason() == CheckpointFailureReason::kNotAllRequiredTasksRunning) {
    logger_.info("Failed to trigger checkpoint for job {} since {}.", job_, why.message());
    return;
  }
  logger_.warn("Failed to trigger or complete checkpoint {} for job {}. ({} consecutive failed attempts so far)\n{}",
               checkpointId == kUnknownCheckpointId ? "UNKNOWN_CHECKPOINT_ID" : std::to_string(checkpointId), job_, consecutive_,
               why.trace());
}

bool CheckpointFailureManager::count(int64_t checkpointId, CheckpointFailureReason reason) {
  if (tolerable_ == CheckpointCoordinatorConfiguration::kUnlimited) return false;
  if (checkpointId != kUnknownCheckpointId && checkpointId <= lastSucceeded_) return false;
  if (countsAsFailure(reason) && (checkpointId == kUnknownCheckpointId || counted_.insert(checkpointId).second)) ++consecutive_;
  if (consecutive_ <= tolerable_) return false;
  consecutive_ = 0;
  counted_.clear();
  return true;
}

void CheckpointFailureManager::handleCheckpointSuccess(int64_t checkpointId) {
  if (checkpointId <= lastSucceeded_) return;
  lastSucceeded_ = checkpointId;
  consecutive_ = 0;
  counted_.clear();
}

}  // namespace weir
