#include "weir/barrier/single_checkpoint_barrier_handler.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {

SingleCheckpointBarrierHandler::SingleCheckpointBarrierHandler(Options options, CheckpointableTask& task, const Clock& clock, Logger log,
                                                               std::string taskName)
    : CheckpointBarrierHandler(task, clock, std::move(log), std::move(taskName)),
      checkpointsAfterTasksFinish_(options.checkpointsAfterTasksFinish),
      openChannels_(options.channels),
      aligned_(static_cast<size_t>(options.channels), false) {}

bool SingleCheckpointBarrierHandler::isObsolete(int64_t checkpointId) const {
  return currentCheckpointId_ > checkpointId || (currentCheckpointId_ == checkpointId && !isCheckpointPending());
}

void SingleCheckpointBarrierHandler::processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) {
  log_.debug("{}: Received barrier from channel {} @ {}.", taskName_, channel, barrier.id);
  const bool blocked = !rpcTriggered && !barrier.options.isUnaligned();
  if (isObsolete(barrier.id)) {
    // The sender has blocked itself behind it all the same, so without this the job would hang.
    if (blocked) task_.resumeConsumption(channel);
    return;
  }
  beginIfNew(barrier);
  transition([&] {
    markAligned(channel);
    onBarrier(barrier, channel, blocked);
  });
}

void SingleCheckpointBarrierHandler::processBarrierAnnouncement(const CheckpointBarrier& announced, int channel, int32_t sequenceNumber) {
  log_.debug("{}: Received an announcement of barrier {} from channel {}.", taskName_, announced.id, channel);
  if (isObsolete(announced.id)) return;
  beginIfNew(announced);
  if (isUnaligned())
    task_.convertToPriorityEvent(channel, sequenceNumber);
  else
    announced_.emplace_back(channel, sequenceNumber);
}

void SingleCheckpointBarrierHandler::onAlignmentTimeout(int64_t checkpointId) {
  if (checkpointId != currentCheckpointId_ || !isCheckpointPending() || isUnaligned()) return;
  log_.debug("{}: Checkpoint alignment for barrier {} timed out. Current state: {} of {} barriers are here.", taskName_, checkpointId,
             alignedChannels_, targetChannels_);
  transition([&] { turnUnaligned(); });
}

void SingleCheckpointBarrierHandler::beginIfNew(const CheckpointBarrier& barrier) {
  if (currentCheckpointId_ >= barrier.id) return;
  if (isCheckpointPending()) {
    log_.warn("{}: Received checkpoint barrier for checkpoint {} before completing current checkpoint {}. Skipping current checkpoint.",
              taskName_, barrier.id, currentCheckpointId_);
    abortInternal(currentCheckpointId_, CheckpointException("Barrier id: " + std::to_string(barrier.id),
                                                            CheckpointFailureReason::kCheckpointDeclinedSubsumed));
  }
  currentCheckpointId_ = barrier.id;
  pending_ = barrier;
  resetAligned();
  targetChannels_ = openChannels_;
  // Counted from the trigger, not from here: else each task on the way would wait for the whole timeout once more.
  if (barrier.options.isTimeoutable())
    task_.setAlignmentTimer(barrier.id,
                            Millis(std::max<int64_t>(0, barrier.options.alignedTimeoutMs - (clock_.epochMillis() - barrier.timestamp))));
}

void SingleCheckpointBarrierHandler::resetAligned() {
  std::fill(aligned_.begin(), aligned_.end(), false);
  alignedChannels_ = 0;
}

void SingleCheckpointBarrierHandler::markAligned(int channel) {
  if (aligned_[static_cast<size_t>(channel)]) return;
  aligned_[static_cast<size_t>(channel)] = true;
  ++alignedChannels_;
  if (alignedChannels_ == 1) {
    if (targetChannels_ == 1)
      markAlignmentStartAndEnd(currentCheckpointId_, pending_->timestamp);
    else
      markAlignmentStart(currentCheckpointId_, pending_->timestamp);
  }
  if (!allAligned()) return;
  if (targetChannels_ > 1) markAlignmentEnd();
  log_.debug("{}: All the channels are aligned for checkpoint {}.", taskName_, currentCheckpointId_);
}

bool SingleCheckpointBarrierHandler::isLate() const {
  return pending_->options.isTimeoutable() && pending_->options.alignedTimeoutMs < clock_.epochMillis() - pending_->timestamp;
}

/// One step of the states, and what it leads to.
template <class Step>
void SingleCheckpointBarrierHandler::transition(Step&& step) {
  try {
    step();
  } catch (const CheckpointException& why) {
    return abortInternal(currentCheckpointId_, why);
  }
  if (isCheckpointPending() && allAligned()) complete();
}

void SingleCheckpointBarrierHandler::complete() {
  lastCancelledOrCompletedId_ = currentCheckpointId_;
  pending_.reset();
  resetAligned();
  task_.cancelAlignmentTimer();
  task_.allBarriersReceived(currentCheckpointId_, alignmentMetrics(currentCheckpointId_));
}

void SingleCheckpointBarrierHandler::processCancellationBarrier(int64_t checkpointId, int channel) {
  (void)channel;
  log_.debug("{}: Received cancellation {}.", taskName_, checkpointId);
  const bool newer = checkpointId > currentCheckpointId_;
  const bool pendingOne = checkpointId == currentCheckpointId_ && alignedChannels_ > 0;
  if (!newer && !pendingOne) return;  // the marker of another channel came first
  if (newer && isCheckpointPending()) {
    log_.warn("{}: Received cancellation barrier for checkpoint {} before completing current checkpoint {}. Skipping current checkpoint.",
              taskName_, checkpointId, currentCheckpointId_);
  }
  abortInternal(checkpointId, CheckpointException(CheckpointFailureReason::kCheckpointDeclinedOnCancellationBarrier));
}

void SingleCheckpointBarrierHandler::processEndOfPartition(int channel) {
  --openChannels_;
  WEIR_CHECK_GE(openChannels_, 0);
  if (!isCheckpointPending()) return;
  if (!checkpointsAfterTasksFinish_) {
    log_.warn("{}: Received EndOfPartition(-1) before completing current checkpoint {}. Skipping current checkpoint.", taskName_,
              currentCheckpointId_);
    abortInternal(currentCheckpointId_, CheckpointException(CheckpointFailureReason::kCheckpointDeclinedInputEndOfStream));
    return;
  }
  transition([&] {
    markAligned(channel);
    onEnd(channel);
  });
}

void SingleCheckpointBarrierHandler::abortInternal(int64_t checkpointId, const CheckpointException& why) {
  currentCheckpointId_ = std::max(checkpointId, currentCheckpointId_);
  lastCancelledOrCompletedId_ = std::max(checkpointId, lastCancelledOrCompletedId_);
  pending_.reset();
  resetAligned();
  targetChannels_ = 0;
  task_.cancelAlignmentTimer();
  onAbort(checkpointId);
  notifyAbort(checkpointId, why);
}

}  // namespace weir
