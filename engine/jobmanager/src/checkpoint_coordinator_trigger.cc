#include "checkpoint_coordinator_entry.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"

namespace weir {
namespace {

std::shared_ptr<const CheckpointException> triggerFailure(const Error& error) {
  auto cause = std::make_shared<Throwable>("java.io.IOException", error.message);
  const bool refused = error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kInvalidArgument;
  return std::make_shared<CheckpointException>(
      refused ? CheckpointFailureReason::kTriggerCheckpointFailure : CheckpointFailureReason::kIoException, std::move(cause));
}

}  // namespace

std::optional<CheckpointFailureReason> CheckpointCoordinator::preCheck(const CheckpointTriggerRequest& request) const {
  if (shutdown_) return CheckpointFailureReason::kCheckpointCoordinatorShutdown;
  if (request.periodic && !periodicScheduling_) return CheckpointFailureReason::kPeriodicSchedulerShutdown;
  return std::nullopt;
}

void CheckpointCoordinator::startTriggering(CheckpointTriggerRequest request) {
  triggering_ = true;
  if (const auto reason = preCheck(request)) {
    onTriggerFailure(request, std::make_shared<CheckpointException>(*reason), false);
    return;
  }
  auto planned = planner_.calculate();
  if (const auto* failure = std::get_if<CheckpointPlanCalculator::Failure>(&planned)) {
    onTriggerFailure(request, failure->why, failure->permanent);
    return;
  }
  makeLocation(createPending(std::move(request), std::move(std::get<CheckpointPlan>(planned))));
}

void CheckpointCoordinator::onTriggerFailure(const CheckpointTriggerRequest& request, const ExceptionPtr& why, bool permanent) {
  triggering_ = false;
  pumpWanted_ = true;
  stats_.reportFailedWithoutInProgress();
  failures_.handleCheckpointException(CheckpointFailureManager::kUnknownCheckpointId, request.properties, *why, std::nullopt);
  if (permanent && periodicScheduling_) {
    // Flink goes on and says so at every interval, for hours. What is pending may still complete.
    periodicScheduling_ = false;
    cancelTrigger();
    decider_.abortPeriodic(CheckpointFailureReason::kPeriodicSchedulerShutdown);
  }
  request.fail(why);
}

CheckpointCoordinator::PendingPtr CheckpointCoordinator::createPending(CheckpointTriggerRequest request, CheckpointPlan plan) {
  const int64_t id = nextId_++;
  const int64_t timestampMs = clock_.epochMillis();
  auto stats = stats_.reportPending(id, timestampMs, request.properties);
  auto checkpoint = std::make_shared<PendingCheckpoint>(id, timestampMs, std::move(request), std::move(plan), std::move(stats));
  pending_.push_back(checkpoint);
  checkpoint->expiry = timer_.schedule(clock_.monotonic() + config_.timeout, [this, id] { expire(id); });
  logger_.info("Triggering checkpoint {} (type={}) @ {} for job {}.", id,
               weir::toString(checkpoint->properties().type, checkpoint->properties().format), timestampMs, jobText_);
  if (trace_) trace_->record(BarrierStep::kTriggered, id);
  return checkpoint;
}

void CheckpointCoordinator::makeLocation(const PendingPtr& checkpoint) {
  auto error = std::make_shared<std::optional<Error>>();
  checkpoint->ioInFlight = true;
  const auto work = [storage = storage_, checkpoint, error] {
    if (!isSavepoint(checkpoint->properties().type)) {
      if (auto made = storage->initializeCheckpoint(checkpoint->id()); made.has_error()) *error = made.error();
      return;
    }
    auto made = storage->initializeSavepoint(checkpoint->id(), checkpoint->request().targetDirectory);
    if (made.has_error()) {
      *error = made.error();
    } else {
      checkpoint->savepointPath = std::move(*made);
    }
  };
  runIo(work, [this, checkpoint, error] { onLocation(checkpoint, *error); });
}

void CheckpointCoordinator::onLocation(const PendingPtr& checkpoint, const std::optional<Error>& error) {
  Entry entry(*this);
  checkpoint->ioInFlight = false;
  checkpoint->hasLocation = !error;
  triggering_ = false;
  pumpWanted_ = true;
  if (checkpoint->phase == PendingCheckpoint::Phase::kDisposed) {
    // The abort won. The trigger ends with the same failure, which Flink reports a second time.
    stats_.reportFailedWithoutInProgress();
    failures_.handleCheckpointException(checkpoint->id(), checkpoint->properties(), *checkpoint->failure, std::nullopt);
    discardAborted(checkpoint);
    return;
  }
  if (error) {
    abort(checkpoint, triggerFailure(*error));
    return;
  }
  checkpoint->phase = PendingCheckpoint::Phase::kPending;
  triggerTasks(checkpoint);
  maybeComplete(checkpoint);
}

void CheckpointCoordinator::triggerTasks(const PendingPtr& checkpoint) {
  const CheckpointProperties& properties = checkpoint->properties();
  const SnapshotType type = forceFull_ && !isSavepoint(properties.type) ? SnapshotType::kFullCheckpoint : properties.type;
  CheckpointOptions options = CheckpointOptions::forConfig(type, properties.format, config_.exactlyOnce, config_.unalignedEnabled,
                                                           config_.alignedCheckpointTimeout.count());
  if (!checkpoint->savepointPath.empty()) {
    options.hasLocation = true;
    options.location = encodeLocation(checkpoint->savepointPath);
  }
  const CheckpointMetaData meta{checkpoint->id(), checkpoint->timestampMs()};
  for (const int32_t task : checkpoint->plan().toTrigger) {
    const CheckpointExecution& execution = checkpoint->plan().tasks[task];
    execution.gateway->triggerCheckpoint({execution.attempt, meta, options});
  }
}

}  // namespace weir
