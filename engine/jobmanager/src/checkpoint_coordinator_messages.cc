#include "checkpoint_coordinator_entry.h"

namespace weir {

void CheckpointCoordinator::receiveAcknowledgeMessage(const AcknowledgeCheckpoint& message) {
  if (shutdown_) return;
  Entry entry(*this);
  const PendingPtr checkpoint = findPending(message.checkpointId);
  // Before anything else: the next checkpoint may already refer to what this one has uploaded.
  if (sharedState_ && message.state && !(checkpoint && isSavepoint(checkpoint->properties().type)))
    sharedState_->registerAll(message.checkpointId, *message.state);
  if (!checkpoint) {
    onLateAcknowledgement(message);
    return;
  }
  switch (checkpoint->acknowledge(message.attempt, message.state, message.metrics, clock_.epochMillis())) {
    case PendingCheckpoint::AckResult::kSuccess:
      if (trace_)
        trace_->recordOf(fmt::format("{}#{}", topology_->taskName(topology_->taskOf(message.attempt)), message.attempt.attempt),
                         BarrierStep::kAcknowledged, message.checkpointId, {.bytes = message.metrics.totalBytesPersisted});
      if (logger_.enabled(LogLevel::kDebug)) {
        logger_.debug("Received acknowledge message for checkpoint {} from task {} of job {} at {}.", message.checkpointId,
                      message.attempt.toString(), jobText_, locationOf(message.attempt));
      }
      maybeComplete(checkpoint);
      break;
    case PendingCheckpoint::AckResult::kDuplicate:
      if (logger_.enabled(LogLevel::kDebug)) {
        logger_.debug("Received a duplicate acknowledge message for checkpoint {}, task {}, job {}, location {}.", message.checkpointId,
                      message.attempt.toString(), jobText_, locationOf(message.attempt));
      }
      break;
    case PendingCheckpoint::AckResult::kUnknown:
      logger_.warn(
          "Could not acknowledge the checkpoint {} for task {} of job {} at {}, because the task's execution attempt id was unknown. "
          "Discarding the state handle to avoid lingering state.",
          message.checkpointId, message.attempt.toString(), jobText_, locationOf(message.attempt));
      discardState(message.state, std::nullopt);
      break;
  }
}

void CheckpointCoordinator::onLateAcknowledgement(const AcknowledgeCheckpoint& message) {
  stats_.reportIncomplete(message.checkpointId, message.attempt, message.metrics, true);
  if (hasExpired(message.checkpointId)) {
    logger_.warn("Received late message for now expired checkpoint attempt {} from task {} of job {} at {}.", message.checkpointId,
                 message.attempt.toString(), jobText_, locationOf(message.attempt));
  } else if (logger_.enabled(LogLevel::kDebug)) {
    logger_.debug("Received message for an unknown checkpoint {} from task {} of job {} at {}.", message.checkpointId,
                  message.attempt.toString(), jobText_, locationOf(message.attempt));
  }
  // A repeated acknowledgement of a completed checkpoint names files that belong to it.
  if (store_.contains(message.checkpointId) || savepoints_.contains(message.checkpointId)) return;
  const bool ours = message.checkpointId >= firstId_ && message.checkpointId < nextId_;
  discardState(message.state, ours ? std::optional(message.checkpointId) : std::nullopt);
}

void CheckpointCoordinator::receiveDeclineMessage(const DeclineCheckpoint& message) {
  if (shutdown_) return;
  Entry entry(*this);
  const PendingPtr checkpoint = findPending(message.checkpointId);
  if (checkpoint && checkpoint->involves(message.attempt)) {
    if (message.reason->reason() == CheckpointFailureReason::kTaskCheckpointFailure) {
      // How a TaskManager answers a trigger for a task that it no longer has: in Flink the trigger call itself fails.
      logger_.info("Triggering Checkpoint {} for job {} failed due to {}", message.checkpointId, jobText_, message.reason->trace());
      abort(checkpoint, message.reason);
      return;
    }
    logger_.info("Decline checkpoint {} by task {} of job {} at {}.\n{}", message.checkpointId, message.attempt.toString(), jobText_,
                 locationOf(message.attempt), message.reason->trace());
    abort(checkpoint, message.reason, message.attempt);
    return;
  }
  if (!logger_.enabled(LogLevel::kDebug)) return;
  const char* text = hasExpired(message.checkpointId) ? "Received another decline message for now expired checkpoint attempt"
                                                      : "Received decline message for unknown (too old?) checkpoint attempt";
  logger_.debug("{} {} from task {} of job {} at {} : {}", text, message.checkpointId, message.attempt.toString(), jobText_,
                locationOf(message.attempt), message.reason->message());
}

void CheckpointCoordinator::reportCheckpointMetrics(const ReportCheckpointMetrics& message) {
  stats_.reportIncomplete(message.checkpointId, message.attempt, message.metrics, false);
}

std::string CheckpointCoordinator::locationOf(const ExecutionAttemptID& attempt) const {
  const int32_t task = topology_->taskOf(attempt);
  if (task >= 0) {
    const CheckpointExecution execution = executions_.execution(task);
    if (execution.attempt == attempt && execution.gateway) return execution.gateway->location();
  }
  return "Unknown location";
}

}  // namespace weir
