#include <algorithm>

#include "checkpoint_coordinator_entry.h"

namespace weir {
namespace {

constexpr size_t kRememberedExpired = 16;

/// What a task's state owns alone: files that it shares with other checkpoints are the registry's business.
OperatorSubtaskState withoutSharedFiles(OperatorSubtaskState state) {
  for (auto* handles : {&state.managedKeyed, &state.rawKeyed})
    for (KeyedHandle& handle : *handles)
      if (auto* files = std::get_if<RocksDbHandle>(&handle)) files->sharedFiles.clear();
  return state;
}

}  // namespace

CheckpointCoordinator::PendingPtr CheckpointCoordinator::findPending(int64_t id) const {
  for (const PendingPtr& checkpoint : pending_)
    if (checkpoint->id() == id) return checkpoint;
  return nullptr;
}

void CheckpointCoordinator::removePending(int64_t id) {
  std::erase_if(pending_, [id](const PendingPtr& checkpoint) { return checkpoint->id() == id; });
}

void CheckpointCoordinator::expire(int64_t id) {
  Entry entry(*this);
  const PendingPtr checkpoint = findPending(id);
  if (!checkpoint) return;
  logger_.info("Checkpoint {} of job {} expired before completing.", id, jobText_);
  abort(checkpoint, std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointExpired));
}

void CheckpointCoordinator::abort(const PendingPtr& checkpoint, const ExceptionPtr& why, const std::optional<ExecutionAttemptID>& task) {
  if (checkpoint->phase == PendingCheckpoint::Phase::kDisposed) return;
  // Gone first: the callbacks below may call back.
  checkpoint->phase = PendingCheckpoint::Phase::kDisposed;
  checkpoint->failure = why;
  timer_.cancel(checkpoint->expiry);
  removePending(checkpoint->id());
  if (why->reason() == CheckpointFailureReason::kCheckpointExpired) rememberExpired(checkpoint->id());
  pumpWanted_ = true;
  if (trace_) trace_->record(BarrierStep::kAborted, checkpoint->id());
  stats_.reportFailed(checkpoint->stats(), *why);
  failures_.handleCheckpointException(checkpoint->id(), checkpoint->properties(), *why, task);
  const CheckpointMetaData meta{checkpoint->id(), checkpoint->timestampMs()};
  for (const int32_t waiting : checkpoint->plan().toWaitFor) {
    const CheckpointExecution& execution = checkpoint->plan().tasks[waiting];
    execution.gateway->abortCheckpoint({execution.attempt, meta, store_.latestId()});
  }
  if (!checkpoint->ioInFlight) discardAborted(checkpoint);
  checkpoint->request().fail(why);
}

void CheckpointCoordinator::abortAll(const ExceptionPtr& why, const std::function<bool(const PendingCheckpoint&)>& which) {
  const std::vector<PendingPtr> all = pending_;  // callbacks may change it
  for (const PendingPtr& checkpoint : all)
    if (which(*checkpoint)) abort(checkpoint, why);
}

void CheckpointCoordinator::abortPendingCheckpoints(CheckpointFailureReason reason) {
  Entry entry(*this);
  abortAll(std::make_shared<CheckpointException>(reason), [](const PendingCheckpoint&) { return true; });
}

void CheckpointCoordinator::failUnacknowledgedPendingCheckpointsFor(const ExecutionAttemptID& attempt,
                                                                    const std::shared_ptr<const Throwable>& cause) {
  Entry entry(*this);
  abortAll(std::make_shared<CheckpointException>(CheckpointFailureReason::kTaskFailure, cause),
           [&attempt](const PendingCheckpoint& checkpoint) { return !checkpoint.isAcknowledgedBy(attempt); });
}

void CheckpointCoordinator::rememberExpired(int64_t id) {
  recentExpired_.push_back(id);
  if (recentExpired_.size() > kRememberedExpired) recentExpired_.pop_front();
}

bool CheckpointCoordinator::hasExpired(int64_t id) const {
  return std::find(recentExpired_.begin(), recentExpired_.end(), id) != recentExpired_.end();
}

void CheckpointCoordinator::discardAborted(const PendingPtr& checkpoint) {
  if (!checkpoint->hasLocation) return;
  clean(
      [storage = storage_, checkpoint] {
        return isSavepoint(checkpoint->properties().type) ? storage->discardSavepoint(checkpoint->savepointPath)
                                                          : storage->discardCheckpoint(checkpoint->id());
      },
      checkpoint->id());
}

void CheckpointCoordinator::discardCompleted(const std::shared_ptr<const CompletedCheckpoint>& checkpoint) {
  clean(
      [storage = storage_, checkpoint] {
        return checkpoint->loaded ? storage->discardSavepoint(checkpoint->path) : storage->discardCheckpoint(checkpoint->id);
      },
      checkpoint->id, [this, checkpoint] { stats_.reportDiscarded(checkpoint->id); });
}

void CheckpointCoordinator::discardState(const std::shared_ptr<const TaskStateSnapshot>& state, std::optional<int64_t> goneCheckpoint) {
  if (!state) return;
  auto failed = std::make_shared<std::optional<Error>>();
  const auto work = [storage = storage_, state, goneCheckpoint, failed] {
    for (const auto& [id, op] : state->operators)
      if (auto discarded = storage->discard(withoutSharedFiles(op)); discarded.has_error()) *failed = discarded.error();
    // The task's write has made the folder anew.
    if (goneCheckpoint)
      if (auto discarded = storage->discardCheckpoint(*goneCheckpoint); discarded.has_error()) *failed = discarded.error();
  };
  runIo(work, [this, failed] {
    if (*failed) logger_.warn("Could not properly discard state object: {}", (*failed)->message);
  });
}

void CheckpointCoordinator::discardUnusedSharedState() {
  if (!sharedState_) return;
  const int64_t lowest = store_.lowestRetainedId();
  if (auto work = sharedState_->unregisterUnused(lowest)) {
    clean(
        [work = std::move(work)]() -> Result<void> {
          work();
          return {};
        },
        lowest);
  }
}

void CheckpointCoordinator::clean(std::function<Result<void>()> work, int64_t checkpointId, std::function<void()> then) {
  ++cleaning_;
  auto error = std::make_shared<std::optional<Error>>();
  runIo(
      [work = std::move(work), error] {
        if (auto cleaned = work(); cleaned.has_error()) *error = cleaned.error();
      },
      [this, error, checkpointId, then = std::move(then)] {
        Entry entry(*this);
        if (*error) {
          logger_.warn("Could not properly discard checkpoint {} of job {}: {}", checkpointId, jobText_, (*error)->message);
        } else if (then) {
          then();
        }
        --cleaning_;
        pumpWanted_ = true;
      });
}

void CheckpointCoordinator::maybeCleaned() {
  if (!shutdown_ || runningIo_ > 0 || !cleaned_) return;
  const auto cleaned = std::move(cleaned_);
  cleaned_ = nullptr;
  cleaned();
}

void CheckpointCoordinator::runIo(std::function<void()> work, std::function<void()> done) {
  ++runningIo_;
  io_.run(std::move(work), [this, alive = std::weak_ptr<int>(alive_), done = std::move(done)] {
    if (alive.expired()) return;
    done();
    if (alive.expired()) return;
    --runningIo_;
    maybeCleaned();
  });
}

}  // namespace weir
