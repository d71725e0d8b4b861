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

void SingleCheckpointBarrierHandler::processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) {
  log_.debug("{}: Received barrier from channel {} @ {}.", taskName_, channel, barrier.id);
  if (currentCheckpointId_ > barrier.id || (currentCheckpointId_ == barrier.id && !isCheckpointPending())) {
    // Obsolete. The sender has blocked itself behind it all the same, so without this the job would hang.
    if (!rpcTriggered && !barrier.options.isUnaligned()) task_.resumeConsumption(channel);
    return;
  }
  beginIfNew(barrier);
  if (!rpcTriggered) blocked_.push_back(channel);
  markAligned(channel);
  if (alignedChannels_ == targetChannels_) log_.debug("{}: All the channels are aligned for checkpoint {}.", taskName_, barrier.id);
  triggerIfAllAligned();
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
  std::fill(aligned_.begin(), aligned_.end(), false);
  alignedChannels_ = 0;
  targetChannels_ = openChannels_;
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
  if (alignedChannels_ == targetChannels_ && targetChannels_ > 1) markAlignmentEnd();
}

void SingleCheckpointBarrierHandler::triggerIfAllAligned() {
  if (alignedChannels_ < targetChannels_) return;
  WEIR_CHECK_EQ(alignedChannels_, targetChannels_);
  const CheckpointBarrier barrier = *pending_;
  // Finished before the trigger runs: whatever the trigger throws, no channel may wait for this checkpoint any more.
  lastCancelledOrCompletedId_ = currentCheckpointId_;
  pending_.reset();
  std::fill(aligned_.begin(), aligned_.end(), false);
  alignedChannels_ = 0;
  notifyCheckpoint(barrier);
  unblockChannels();
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
  markAligned(channel);
  triggerIfAllAligned();
}

void SingleCheckpointBarrierHandler::abortInternal(int64_t checkpointId, const CheckpointException& why) {
  currentCheckpointId_ = std::max(checkpointId, currentCheckpointId_);
  lastCancelledOrCompletedId_ = std::max(checkpointId, lastCancelledOrCompletedId_);
  pending_.reset();
  std::fill(aligned_.begin(), aligned_.end(), false);
  alignedChannels_ = 0;
  targetChannels_ = 0;
  unblockChannels();
  notifyAbort(checkpointId, why);
}

void SingleCheckpointBarrierHandler::unblockChannels() {
  const std::vector<int> channels = std::move(blocked_);
  blocked_.clear();
  for (int channel : channels) task_.resumeConsumption(channel);
}

}  // namespace weir
