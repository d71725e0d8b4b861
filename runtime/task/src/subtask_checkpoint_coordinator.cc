#include "weir/task/subtask_checkpoint_coordinator.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {
namespace {

constexpr int64_t kLateExecutionWarningMs = 30'000;

Millis toMillis(Nanos duration) { return std::chrono::duration_cast<Millis>(duration); }

}  // namespace

SubtaskCheckpointCoordinator::SubtaskCheckpointCoordinator(TaskEnvironment& environment, ExecutionContext& context, OperatorChain& chain,
                                                           TaskTimers& timers)
    : environment_(environment),
      context_(context),
      chain_(chain),
      timers_(timers),
      inFlight_(environment.channelStateWriter.get()),
      log_(environment.world.log, "org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinatorImpl") {}

void SubtaskCheckpointCoordinator::initInputsCheckpoint(int64_t id, const CheckpointOptions& options) {
  if (!options.needsChannelState()) return;
  if (!inFlight_)
    throw Throwable(
        "java.lang.IllegalStateException",
        "Checkpoint " + std::to_string(id) + " is to store in-flight data, but the job was started without unaligned checkpoints");
  inFlight_->start(id, options);
  if (!options.isUnaligned() || !input_ || !input_->hasOpenChannels()) return inFlight_->finishInput(id);
  input_->persistUnread(*inFlight_, id);
  awaitingBarriersOf_ = id;
}

void SubtaskCheckpointCoordinator::allBarriersReceived(int64_t id, const CheckpointMetrics& alignment) {
  if (awaitingBarriersOf_ != id) return;
  awaitingBarriersOf_ = -1;
  if (const auto found = running_.find(id); found != running_.end()) found->second->setAlignment(alignment);
  inFlight_->finishInput(id);
}

void SubtaskCheckpointCoordinator::checkpointState(const CheckpointMetaData& checkpoint, const CheckpointOptions& ordered,
                                                   CheckpointMetrics metrics, bool operatorsFinished) {
  const int64_t id = checkpoint.checkpointId;
  if (lastCheckpointId_ >= id) {
    log_.info("Out of order checkpoint barrier (aborted previously?): {} >= {}", lastCheckpointId_, id);
    abortInFlight(id, std::make_shared<Throwable>("java.util.concurrent.CancellationException", "checkpoint aborted previously"), true);
    return;
  }
  lastCheckpointId_ = id;
  if (wasAborted(id)) {
    chain_.broadcastEvent(CancelCheckpointMarker{id});
    log_.info("Checkpoint {} has been notified as aborted, would not trigger any checkpoint.", id);
    abortInFlight(id,
                  std::make_shared<Throwable>("java.util.concurrent.CancellationException", "checkpoint aborted via notification"), true);
    return;
  }
  if (const int64_t late = context_.clock().epochMillis() - checkpoint.timestampMs - metrics.checkpointStartDelayNanos / 1'000'000;
      metrics.alignmentDurationNanos == 0 && late >= kLateExecutionWarningMs)
    log_.warn("Time from receiving all checkpoint barriers/RPC for checkpoint {} to executing it exceeded threshold: {}ms", id, late);

  CheckpointOptions options = ordered;
  if (options.alignment == AlignmentType::kForcedAligned) {
    // Only the inputs had to be aligned; and they are, so that nothing of them is in flight.
    options = ordered.withUnalignedSupported();
    if (inFlight_) {
      inFlight_->start(id, options);
      inFlight_->finishInput(id);
    }
  }
  try {
    snapshot(checkpoint, options, metrics, operatorsFinished);
  } catch (const TaskCancelled&) {
    throw;
  } catch (...) {
    abortInFlight(id, Throwable::from(std::current_exception()), true);
    throw;
  }
}

void SubtaskCheckpointCoordinator::snapshot(const CheckpointMetaData& checkpoint, const CheckpointOptions& options,
                                            CheckpointMetrics metrics, bool operatorsFinished) {
  const int64_t id = checkpoint.checkpointId;
  chain_.prepareSnapshotPreBarrier(id);
  if (environment_.trace) environment_.trace->record(BarrierStep::kEmitted, id);
  chain_.broadcastBarrier(CheckpointBarrier{id, checkpoint.timestampMs, options});
  const bool storesInFlight = options.needsChannelState() && inFlight_;
  if (storesInFlight) {
    if (options.isTimeoutable()) startOutputTimer(checkpoint, options);
    inFlight_->finishOutput(id);
  }
  context_.interleave("barrier sent");

  const Nanos syncStarted = context_.clock().monotonic();
  std::vector<OperatorSnapshot> snapshots = chain_.snapshotState(checkpoint, options);
  const Nanos syncEnded = context_.clock().monotonic();
  AsyncCheckpoint::InFlight inFlight;
  if (storesInFlight) {  // not before: where the operators fail, what is in flight is thrown away by the abort
    inFlight = {inFlight_->getAndRemoveWriteResult(id), chain_.head().id(), chain_.operators().back()->id()};
    WEIR_CHECK(inFlight.result != nullptr, "checkpoint {} stores in-flight data that was not begun", id);
  }
  metrics.syncDurationMillis = toMillis(syncEnded - syncStarted).count();
  if (environment_.trace) environment_.trace->record(BarrierStep::kSnapshotSync, id, {.durationNanos = (syncEnded - syncStarted).count()});
  log_.debug(
      "{} - finished synchronous part of checkpoint {}. Alignment duration: {} ms, snapshot duration {} ms, is unaligned checkpoint : {}",
      environment_.taskName(), id, metrics.alignmentDurationNanos / 1'000'000, metrics.syncDurationMillis, options.isUnaligned());

  const AsyncCheckpoint::Finished finished{operatorsFinished, chain_.isFinishedOnRestore()};
  auto part = std::make_shared<AsyncCheckpoint>(environment_, checkpoint, options, metrics, std::move(snapshots), std::move(inFlight),
                                                finished, syncEnded, partReported_);
  const bool here = part->touchesNoFile();  // so no worker: small state costs no hand-over
  if (here) part->run(context_);
  if (part->isDone()) return;
  forgetFinishedParts();
  running_[id] = part;
  if (!here) environment_.snapshotWorkers->submit([part](ExecutionContext& worker) { part->run(worker); });
}

void SubtaskCheckpointCoordinator::startOutputTimer(const CheckpointMetaData& checkpoint, const CheckpointOptions& options) {
  cancelOutputTimer();
  const int64_t id = checkpoint.checkpointId;
  const int64_t delay = std::max<int64_t>(0, options.alignedTimeoutMs - (context_.clock().epochMillis() - checkpoint.timestampMs));
  outputTimerOf_ = id;
  outputTimer_ = timers_.schedule(Millis(delay), [this, id] {
    for (const auto& partition : environment_.partitions) partition->alignedBarrierTimeout(id);
  });
}

void SubtaskCheckpointCoordinator::cancelOutputTimer() {
  timers_.cancel(std::exchange(outputTimer_, 0));
  outputTimerOf_ = -1;
}

void SubtaskCheckpointCoordinator::abortInFlight(int64_t id, std::shared_ptr<const Throwable> cause, bool cleanUp) {
  if (awaitingBarriersOf_ == id) awaitingBarriersOf_ = -1;
  if (inFlight_) inFlight_->abort(id, std::move(cause), cleanUp);
}

bool SubtaskCheckpointCoordinator::wasAborted(int64_t id) {
  const bool remembered = abortedIds_.erase(id) > 0;
  abortedIds_.erase(abortedIds_.begin(), abortedIds_.lower_bound(id));
  return remembered || id + environment_.settings.maxConcurrentCheckpoints < highestAbortedId_;
}

void SubtaskCheckpointCoordinator::forgetFinishedParts() {
  std::erase_if(running_, [](const auto& entry) { return entry.second->isDone(); });
}

bool SubtaskCheckpointCoordinator::hasRunningParts() {
  forgetFinishedParts();
  return !running_.empty();
}

void SubtaskCheckpointCoordinator::notifyCheckpointComplete(int64_t checkpointId) {
  log_.debug("Notification of checkpoint COMPLETE {} for task {}", checkpointId, environment_.taskName());
  if (checkpointId <= latestReportedCompletedId_) return;
  latestReportedCompletedId_ = checkpointId;
  chain_.notifyCheckpointComplete(checkpointId);
}

void SubtaskCheckpointCoordinator::notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId) {
  // The notification of the completed one may have been lost: an abort carries it along.
  if (latestCompletedId > 0) notifyCheckpointComplete(latestCompletedId);
  log_.debug("Notification of checkpoint ABORT {} for task {}", checkpointId, environment_.taskName());
  highestAbortedId_ = std::max(highestAbortedId_, checkpointId);
  if (const auto found = running_.find(checkpointId); found != running_.end()) {
    found->second->cancel();
    running_.erase(found);
  } else if (checkpointId > lastCheckpointId_) {
    abortedIds_.insert(checkpointId);
    while (abortedIds_.size() > static_cast<size_t>(environment_.settings.maxConcurrentCheckpoints)) abortedIds_.erase(abortedIds_.begin());
  }
  // Kept: if its barrier is on its way, the task asks for the result and learns that it failed.
  if (inFlight_)
    inFlight_->abort(checkpointId,
                     std::make_shared<Throwable>("java.util.concurrent.CancellationException", "checkpoint aborted via notification"),
                     false);
  chain_.notifyCheckpointAborted(checkpointId);
}

void SubtaskCheckpointCoordinator::abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) {
  log_.debug("Aborting checkpoint via cancel-barrier {} for task {}", checkpointId, environment_.taskName());
  const bool barrierHasLeft = lastCheckpointId_ >= checkpointId;  // or a marker: never both
  lastCheckpointId_ = std::max(lastCheckpointId_, checkpointId);
  abortedIds_.erase(abortedIds_.begin(), abortedIds_.lower_bound(lastCheckpointId_));
  const auto cause = std::make_shared<CheckpointException>(why);
  if (const auto found = running_.find(checkpointId); found != running_.end()) {
    found->second->cancel();  // unaligned: it had been taken before all barriers were here
    running_.erase(found);
  }
  abortInFlight(checkpointId, cause, true);
  environment_.responder.declineCheckpoint(environment_.attempt, checkpointId, cause);
  if (outputTimerOf_ == checkpointId) cancelOutputTimer();
  for (const auto& partition : environment_.partitions) partition->abortCheckpoint(checkpointId, cause);
  if (!barrierHasLeft) chain_.broadcastEvent(CancelCheckpointMarker{checkpointId});
}

void SubtaskCheckpointCoordinator::close() {
  for (auto& [id, part] : running_) part->cancel();
  running_.clear();
  cancelOutputTimer();
  if (inFlight_) inFlight_->close();
}

}  // namespace weir
