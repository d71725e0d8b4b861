#include "checkpoint_coordinator_entry.h"
#include "weir/channel/channel_state_reader.h"

namespace weir {

/// What the I/O actor brings back of a checkpoint that all tasks have acknowledged.
struct CheckpointCoordinator::Finalization {
  std::vector<std::shared_ptr<const TaskStateSnapshot>> states;
  std::shared_ptr<CompletedCheckpoint> completed;
  ExceptionPtr failure;  ///< null: `_metadata` is durable

  /// On the I/O actor. `operators` are moved into `completed` only after they are durable.
  void write(CheckpointCoordinatorStorage& storage, const PendingCheckpoint& checkpoint, const Clock& clock) {
    auto assembled = assembleOperatorStates(checkpoint.plan(), states);
    if (auto* refused = std::get_if<ExceptionPtr>(&assembled)) {
      failure = *refused;
      return;
    }
    completed->operators = std::move(std::get<std::vector<OperatorState>>(assembled));
    settleFileSizes(states, completed->operators);
    states.clear();
    if (auto written = writeMetadata(storage, checkpoint); written.has_error()) {
      failure = std::make_shared<CheckpointException>(CheckpointFailureReason::kFinalizeCheckpointFailure,
                                                      std::make_shared<Throwable>("java.io.IOException", written.error().message));
      return;
    }
    completed->completionTimestampMs = clock.epochMillis();
    for (const OperatorState& op : completed->operators) {
      completed->stateSize += stateSize(op.coordinatorState);
      for (const auto& [subtask, state] : op.subtasks) completed->stateSize += state.stateSize();
    }
  }

 private:
  Result<void> writeMetadata(CheckpointCoordinatorStorage& storage, const PendingCheckpoint& checkpoint) {
    if (isSavepoint(checkpoint.properties().type)) {
      completed->path = checkpoint.savepointPath;
      return storage.writeSavepointMetadata(checkpoint.id(), checkpoint.savepointPath, completed->operators);
    }
    WEIR_ASSIGN(completed->path, storage.writeMetadata(checkpoint.id(), completed->operators));
    return {};
  }
};

void CheckpointCoordinator::maybeComplete(const PendingPtr& checkpoint) {
  if (checkpoint->phase != PendingCheckpoint::Phase::kPending || !checkpoint->isFullyAcknowledged()) return;
  checkpoint->phase = PendingCheckpoint::Phase::kCompleting;
  timer_.cancel(checkpoint->expiry);
  auto result = std::make_shared<Finalization>();
  result->states = checkpoint->takeStates();
  result->completed = std::make_shared<CompletedCheckpoint>();
  result->completed->job = job_;
  result->completed->id = checkpoint->id();
  result->completed->timestampMs = checkpoint->timestampMs();
  result->completed->properties = checkpoint->properties();
  checkpoint->ioInFlight = true;
  runIo([storage = storage_, checkpoint, result, &clock = clock_] { result->write(*storage, *checkpoint, clock); },
        [this, checkpoint, result] { onFinalized(checkpoint, result); });
}

void CheckpointCoordinator::onFinalized(const PendingPtr& checkpoint, const std::shared_ptr<Finalization>& result) {
  Entry entry(*this);
  checkpoint->ioInFlight = false;
  if (checkpoint->phase == PendingCheckpoint::Phase::kDisposed) {
    discardAborted(checkpoint);  // the abort won; nobody has heard of a completion
  } else if (result->failure) {
    abort(checkpoint, result->failure);
  } else {
    onCompleted(checkpoint, result->completed);
  }
}

void CheckpointCoordinator::onCompleted(const PendingPtr& checkpoint, const std::shared_ptr<const CompletedCheckpoint>& completed) {
  checkpoint->phase = PendingCheckpoint::Phase::kDisposed;
  removePending(checkpoint->id());
  const int64_t subsumed = retain(completed);
  stats_.reportCompleted(checkpoint->stats(), *completed);
  failures_.handleCheckpointSuccess(completed->id);
  lastCompletion_ = clock_.monotonic();
  pumpWanted_ = true;
  logger_.info("Completed checkpoint {} for job {} ({} bytes, checkpointDuration={} ms, finalizationTime={} ms).", completed->id, jobText_,
               completed->stateSize, completed->completionTimestampMs - completed->timestampMs,
               clock_.epochMillis() - completed->completionTimestampMs);
  if (trace_) trace_->record(BarrierStep::kCompleted, completed->id);
  if (notifiesTasks(completed->properties)) {
    abortAll(std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointSubsumed),
             [id = completed->id](const PendingCheckpoint& other) { return other.id() < id && other.canBeSubsumed(); });
    sendCompleted(*checkpoint, subsumed);
  }
  if (checkpoint->request().done) checkpoint->request().done(completed);
}

int64_t CheckpointCoordinator::retain(const std::shared_ptr<const CompletedCheckpoint>& completed) {
  if (isSavepoint(completed->properties.type)) {
    savepoints_.insert(completed->id);
    return -1;
  }
  forceFull_ = false;
  int64_t told = -1;
  for (const auto& subsumed : store_.addAndSubsumeOldest(completed)) {
    if (!subsumed->properties.discardSubsumed) continue;
    told = subsumed->id;
    discardCompleted(subsumed);
  }
  discardUnusedSharedState();
  return told;
}

void CheckpointCoordinator::sendCompleted(const PendingCheckpoint& checkpoint, int64_t subsumedId) {
  const CheckpointMetaData meta{checkpoint.id(), checkpoint.timestampMs()};
  for (const int32_t task : checkpoint.plan().toWaitFor) {
    const CheckpointExecution& execution = checkpoint.plan().tasks[task];
    execution.gateway->confirmCheckpoint({execution.attempt, meta, subsumedId});
  }
}

}  // namespace weir
