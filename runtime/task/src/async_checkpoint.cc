#include "weir/task/async_checkpoint.h"

#include <algorithm>

namespace weir {
namespace {

Millis toMillis(Nanos duration) { return std::chrono::duration_cast<Millis>(duration); }

/// A reason that the cause carries, else that the asynchronous part failed.
std::shared_ptr<const CheckpointException> asCheckpointException(std::shared_ptr<const Throwable> cause) {
  if (auto reason = std::dynamic_pointer_cast<const CheckpointException>(cause)) return reason;
  return std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointAsyncException, std::move(cause));
}

}  // namespace

AsyncCheckpoint::AsyncCheckpoint(TaskEnvironment& environment, CheckpointMetaData checkpoint, CheckpointOptions options,
                                 CheckpointMetrics metrics, std::vector<OperatorSnapshot> snapshots, InFlight inFlight, Finished finished,
                                 Nanos started, std::shared_ptr<Signal> reported)
    : responder_(environment.responder),
      workers_(environment.snapshotWorkers),
      storage_(environment.storage),
      log_(environment.world.log, "org.apache.flink.streaming.runtime.tasks.AsyncCheckpointRunnable"),
      trace_(environment.trace),
      taskName_(environment.taskName()),
      attempt_(environment.attempt),
      checkpoint_(checkpoint),
      options_(std::move(options)),
      snapshots_(std::move(snapshots)),
      inFlight_(std::move(inFlight)),
      finished_(finished),
      started_(started),
      reported_(std::move(reported)),
      metrics_(metrics) {}

bool AsyncCheckpoint::hasNothingToWrite() const {
  return std::all_of(snapshots_.begin(), snapshots_.end(), [](const OperatorSnapshot& s) { return !s.keyed && !s.operatorState; });
}

bool AsyncCheckpoint::touchesNoFile() const {
  if (hasNothingToWrite()) return true;
  const size_t most = storage_->resolveCheckpointLocation(checkpoint_.checkpointId, options_.location)->inlineThreshold();
  return std::all_of(snapshots_.begin(), snapshots_.end(), [most](const OperatorSnapshot& s) {
    return !s.keyed && (!s.operatorState || s.operatorState->size().value_or(most + 1) <= most);
  });
}

void AsyncCheckpoint::setAlignment(const CheckpointMetrics& alignment) {
  Lock lock(mutex_);
  metrics_.alignmentDurationNanos = alignment.alignmentDurationNanos;
  metrics_.bytesProcessedDuringAlignment = alignment.bytesProcessedDuringAlignment;
}

void AsyncCheckpoint::run(ExecutionContext& context) {
  log_.debug("{} - started executing asynchronous part of checkpoint {}. Asynchronous start delay: {} ms", taskName_,
             checkpoint_.checkpointId, toMillis(context.clock().monotonic() - started_).count());
  written_ = write(context);
  const auto rest = [self = shared_from_this()](ExecutionContext& worker) { self->end(worker); };
  if (inFlight_.result && inFlight_.result->notifyWhenDone([workers = workers_, rest] { workers->submit(rest); })) return;
  end(context);
}

void AsyncCheckpoint::end(ExecutionContext& context) {
  report(context, std::move(written_));
  reported_->set();
}

void AsyncCheckpoint::report(ExecutionContext& context, Written state) {
  std::shared_ptr<const CheckpointException> failure;
  const bool written = state.has_value();
  if (!written) {
    failure = asCheckpointException(std::make_shared<Throwable>("java.io.IOException", state.error().message));
    state = std::make_shared<TaskStateSnapshot>();  // of what is in flight at most
  }
  if (auto notWritten = addInFlight(**state); !failure) failure = std::move(notWritten);

  State expected = State::kRunning;
  if (!state_.compare_exchange_strong(expected, State::kCompleted)) return discard(context, **state, written);
  if (failure) {
    remove(context, **state);
    return decline(failure);
  }
  const CheckpointMetrics metrics = finishMetrics(context, state->get());
  log_.debug("{} - finished asynchronous part of checkpoint {}. Asynchronous duration: {} ms", taskName_, checkpoint_.checkpointId,
             metrics.asyncDurationMillis);
  (*state)->finished = finished_.operators;
  (*state)->finishedOnRestore = finished_.onRestore;
  const bool stateless = (*state)->operators.empty() && !finished_.operators && !finished_.onRestore;
  responder_.acknowledgeCheckpoint(attempt_, checkpoint_.checkpointId, metrics, stateless ? nullptr : *state);
}

/// Why there is none, or null.
std::shared_ptr<const CheckpointException> AsyncCheckpoint::addInFlight(TaskStateSnapshot& state) {
  if (!inFlight_.result) return nullptr;
  if (auto cause = inFlight_.result->failure()) return asCheckpointException(std::move(cause));
  const WrittenChannelState& written = inFlight_.result->written();
  if (!written.inputs.empty()) state.operators[inFlight_.head].inputChannels = written.inputs;
  if (!written.outputs.empty()) state.operators[inFlight_.tail].outputChannels = written.outputs;
  Lock lock(mutex_);
  metrics_.bytesPersistedDuringAlignment = written.stateSize();
  // What it was meant to be when the barrier left is not what it became: a barrier in an output queue may have turned unaligned since.
  metrics_.unalignedCheckpoint = metrics_.bytesPersistedDuringAlignment > 0;
  return nullptr;
}

/// It was aborted meanwhile: what was written is of no use.
void AsyncCheckpoint::discard(ExecutionContext& context, const TaskStateSnapshot& state, bool written) {
  const CheckpointMetrics metrics = finishMetrics(context, written ? &state : nullptr);
  remove(context, state);
  responder_.reportCheckpointMetrics(attempt_, checkpoint_.checkpointId, metrics);
}

void AsyncCheckpoint::remove(ExecutionContext& context, const TaskStateSnapshot& state) {
  if (storage_) context.blocking([&] { storage_->discardAborted(checkpoint_.checkpointId, options_.location, state); });
}

void AsyncCheckpoint::decline(const std::shared_ptr<const CheckpointException>& why) {
  log_.info("{} - asynchronous part of checkpoint {} could not be completed.\n{}", taskName_, checkpoint_.checkpointId, why->trace());
  responder_.declineCheckpoint(attempt_, checkpoint_.checkpointId, why);
}

AsyncCheckpoint::Written AsyncCheckpoint::write(ExecutionContext& context) {
  if (hasNothingToWrite()) return std::make_shared<TaskStateSnapshot>();
  Written state = std::make_shared<TaskStateSnapshot>();
  if (touchesNoFile()) state = writeFiles();
  else context.blocking([&] { state = writeFiles(); });
  snapshots_.clear();  // ends the copy-on-write
  return state;
}

AsyncCheckpoint::Written AsyncCheckpoint::writeFiles() {
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

CheckpointMetrics AsyncCheckpoint::finishMetrics(ExecutionContext& context, const TaskStateSnapshot* state) {
  Lock lock(mutex_);
  if (state == nullptr) return metrics_;
  const Nanos took = context.clock().monotonic() - started_;
  metrics_.asyncDurationMillis = toMillis(took).count();
  metrics_.totalBytesPersisted = state->stateSize();
  if (trace_)
    trace_->recordElsewhere(BarrierStep::kSnapshotAsync, checkpoint_.checkpointId,
                            {.bytes = metrics_.totalBytesPersisted, .durationNanos = took.count()});
  metrics_.bytesPersistedOfThisCheckpoint = metrics_.totalBytesPersisted;
  return metrics_;
}

void AsyncCheckpoint::cancel() {
  State expected = State::kRunning;
  state_.compare_exchange_strong(expected, State::kDiscarded);
}

}  // namespace weir
