#include "weir/task/subtask_checkpoint_coordinator.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {
namespace {

constexpr int64_t kLateExecutionWarningMs = 30'000;

Millis toMillis(Nanos duration) { return std::chrono::duration_cast<Millis>(duration); }

}  // namespace

SubtaskCheckpointCoordinator::SubtaskCheckpointCoordinator(TaskEnvironment& environment, ExecutionContext& context, OperatorChain& chain)
    : environment_(environment),
      context_(context),
      chain_(chain),
      log_(environment.world.log, "org.apache.flink.streaming.runtime.tasks.SubtaskCheckpointCoordinatorImpl"),
      asyncLog_(environment.world.log, "org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable") {}

void SubtaskCheckpointCoordinator::checkpointState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options,
                                                   CheckpointMetrics metrics, bool operatorsFinished) {
  const int64_t id = checkpoint.checkpointId;
  if (lastCheckpointId_ >= id) {
    log_.info("Out of order checkpoint barrier (aborted previously?): {} >= {}", lastCheckpointId_, id);
    return;
  }
  lastCheckpointId_ = id;
  if (wasAborted(id)) {
    chain_.broadcastEvent(CancelCheckpointMarker{id});
    log_.info("Checkpoint {} has been notified as aborted, would not trigger any checkpoint.", id);
    return;
  }
  if (const int64_t late = context_.clock().epochMillis() - checkpoint.timestampMs - metrics.checkpointStartDelayNanos / 1'000'000;
      metrics.alignmentDurationNanos == 0 && late >= kLateExecutionWarningMs)
    log_.warn("Time from receiving all checkpoint barriers/RPC for checkpoint {} to executing it exceeded threshold: {}ms", id, late);

  chain_.prepareSnapshotPreBarrier(id);
  if (environment_.trace) environment_.trace->record(BarrierStep::kEmitted, id);
  chain_.broadcastEvent(CheckpointBarrier{id, checkpoint.timestampMs, options}, options.isUnaligned());
  context_.interleave("barrier sent");

  const Nanos syncStarted = context_.clock().monotonic();
  std::vector<OperatorSnapshot> snapshots = chain_.snapshotState(checkpoint, options);
  const Nanos syncEnded = context_.clock().monotonic();
  metrics.syncDurationMillis = toMillis(syncEnded - syncStarted).count();
  if (environment_.trace) environment_.trace->record(BarrierStep::kSnapshotSync, id, {.durationNanos = (syncEnded - syncStarted).count()});
  log_.debug(
      "{} - finished synchronous part of checkpoint {}. Alignment duration: {} ms, snapshot duration {} ms, is unaligned checkpoint : {}",
      environment_.taskName(), id, metrics.alignmentDurationNanos / 1'000'000, metrics.syncDurationMillis, options.isUnaligned());

  const AsyncCheckpoint::Finished finished{operatorsFinished, chain_.isFinishedOnRestore()};
  auto part = std::make_shared<AsyncCheckpoint>(environment_, checkpoint, options, metrics, std::move(snapshots), finished, syncEnded);
  if (part->hasNothingToWrite()) {  // no file, so no worker: an idle checkpoint costs no hand-over
    part->run(context_);
    return;
  }
  forgetFinishedParts();
  running_[id] = part;
  environment_.snapshotWorkers.submit([part](ExecutionContext& worker) { part->run(worker); });
}

bool SubtaskCheckpointCoordinator::wasAborted(int64_t id) {
  const bool remembered = abortedIds_.erase(id) > 0;
  abortedIds_.erase(abortedIds_.begin(), abortedIds_.lower_bound(id));
  return remembered || id + environment_.settings.maxConcurrentCheckpoints < highestAbortedId_;
}

void SubtaskCheckpointCoordinator::forgetFinishedParts() {
  std::erase_if(running_, [](const auto& entry) { return entry.second->isDone(); });
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
  chain_.notifyCheckpointAborted(checkpointId);
}

void SubtaskCheckpointCoordinator::abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) {
  log_.debug("Aborting checkpoint via cancel-barrier {} for task {}", checkpointId, environment_.taskName());
  lastCheckpointId_ = std::max(lastCheckpointId_, checkpointId);
  abortedIds_.erase(abortedIds_.begin(), abortedIds_.lower_bound(lastCheckpointId_));
  environment_.responder.declineCheckpoint(environment_.attempt, checkpointId, std::make_shared<CheckpointException>(why));
  chain_.broadcastEvent(CancelCheckpointMarker{checkpointId});
}

void SubtaskCheckpointCoordinator::close() {
  for (auto& [id, part] : running_) part->cancel();
  running_.clear();
}

AsyncCheckpoint::AsyncCheckpoint(TaskEnvironment& environment, CheckpointMetaData checkpoint, CheckpointOptions options,
                                 CheckpointMetrics metrics, std::vector<OperatorSnapshot> snapshots, Finished finished,
                                 Nanos started)
    : responder_(environment.responder),
      storage_(environment.storage),
      log_(environment.world.log, "org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable"),
      trace_(environment.trace),
      taskName_(environment.taskName()),
      attempt_(environment.attempt),
      checkpoint_(checkpoint),
      options_(std::move(options)),
      metrics_(metrics),
      snapshots_(std::move(snapshots)),
      finished_(finished),
      started_(started) {}

bool AsyncCheckpoint::hasNothingToWrite() const {
  return std::all_of(snapshots_.begin(), snapshots_.end(), [](const OperatorSnapshot& s) { return !s.keyed && !s.operatorState; });
}

void AsyncCheckpoint::run(ExecutionContext& context) {
  log_.debug("{} - started executing asynchronous part of checkpoint {}. Asynchronous start delay: {} ms", taskName_,
             checkpoint_.checkpointId, toMillis(context.clock().monotonic() - started_).count());
  auto state = write(context);
  State expected = State::kRunning;
  if (!state_.compare_exchange_strong(expected, State::kCompleted)) {  // aborted meanwhile: what was written is of no use
    if (state.has_value()) {
      finishMetrics(context, state->get());
      if (storage_) context.blocking([&] { storage_->discardAborted(checkpoint_.checkpointId, options_.location, **state); });
    }
    responder_.reportCheckpointMetrics(attempt_, checkpoint_.checkpointId, metrics_);
    return;
  }
  if (state.has_error()) {
    const auto cause = std::make_shared<Throwable>("java.io.IOException", state.error().message);
    const auto why = std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointAsyncException, cause);
    log_.info("{} - asynchronous part of checkpoint {} could not be completed.\n{}", taskName_, checkpoint_.checkpointId, why->trace());
    responder_.declineCheckpoint(attempt_, checkpoint_.checkpointId, why);
    return;
  }
  finishMetrics(context, state->get());
  log_.debug("{} - finished asynchronous part of checkpoint {}. Asynchronous duration: {} ms", taskName_, checkpoint_.checkpointId,
             metrics_.asyncDurationMillis);
  (*state)->finished = finished_.operators;
  (*state)->finishedOnRestore = finished_.onRestore;
  const bool stateless = (*state)->operators.empty() && !finished_.operators && !finished_.onRestore;
  responder_.acknowledgeCheckpoint(attempt_, checkpoint_.checkpointId, metrics_, stateless ? nullptr : *state);
}

Result<std::shared_ptr<TaskStateSnapshot>> AsyncCheckpoint::write(ExecutionContext& context) {
  if (hasNothingToWrite()) return std::make_shared<TaskStateSnapshot>();
  Result<std::shared_ptr<TaskStateSnapshot>> state = std::make_shared<TaskStateSnapshot>();
  context.blocking([&] { state = writeFiles(); });
  snapshots_.clear();  // ends the copy-on-write
  return state;
}

Result<std::shared_ptr<TaskStateSnapshot>> AsyncCheckpoint::writeFiles() {
  auto state = std::make_shared<TaskStateSnapshot>();
  if (auto written = writeInto(*state); written.has_error()) {
    storage_->discardAborted(checkpoint_.checkpointId, options_.location, *state);
    return written.error();
  }
  return state;
}

Result<void> AsyncCheckpoint::writeInto(TaskStateSnapshot& state) {
  const auto factory = storage_->resolveCheckpointLocation(checkpoint_.checkpointId, options_.location);
  for (OperatorSnapshot& snapshot : snapshots_) {
    OperatorSubtaskState& operatorState = state.operators[snapshot.id];
    if (snapshot.keyed) {
      WEIR_ASSIGN(auto handle, snapshot.keyed->write(*factory));
      if (handle) operatorState.managedKeyed.push_back(std::move(*handle));
    }
    if (snapshot.operatorState) {
      WEIR_ASSIGN(auto handle, snapshot.operatorState->write(*factory));
      if (handle) operatorState.managedOperator.push_back(std::move(*handle));
    }
  }
  return {};
}

void AsyncCheckpoint::finishMetrics(ExecutionContext& context, const TaskStateSnapshot* state) {
  const Nanos took = context.clock().monotonic() - started_;
  metrics_.asyncDurationMillis = toMillis(took).count();
  metrics_.totalBytesPersisted = state->stateSize();
  if (trace_)
    trace_->recordElsewhere(BarrierStep::kSnapshotAsync, checkpoint_.checkpointId,
                            {.bytes = metrics_.totalBytesPersisted, .durationNanos = took.count()});
  metrics_.bytesPersistedOfThisCheckpoint = metrics_.totalBytesPersisted;
}

void AsyncCheckpoint::cancel() {
  State expected = State::kRunning;
  state_.compare_exchange_strong(expected, State::kDiscarded);
}

}  // namespace weir
