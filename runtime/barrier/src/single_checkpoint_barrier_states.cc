// The states of the handler, what each does with a barrier, a timeout, an end and an abort. Table 18.1 of Flink's rules:
//
//   state                          aligned barrier                 unaligned barrier   timer          end of a channel
//   W  waiting for the first       last: T; late: as WU; else C    as timer, then WU   WU             -
//   C  collecting                  last: T; late: as timer         as timer, then CU   trigger: CU    last: T; late: as timer
//   WU waiting, timed out          trigger: CU                     trigger: CU         -              -
//   CU collecting, triggered       last: done                      last: done          -              last: done
//
// T: triggers aligned, resumes the channels, waits for the next checkpoint. An aligned barrier has blocked its channel in every state.

#include <algorithm>

#include "weir/barrier/single_checkpoint_barrier_handler.h"
#include "weir/base/check.h"

namespace weir {

void SingleCheckpointBarrierHandler::onBarrier(const CheckpointBarrier& barrier, int channel, bool blocked) {
  forgetAnnouncement(channel);
  if (blocked) blocked_.push_back(channel);
  if (isUnaligned() || barrier.options.isUnaligned())
    onUnalignedBarrier();
  else
    onAlignedBarrier(barrier);
}

void SingleCheckpointBarrierHandler::onAlignedBarrier(const CheckpointBarrier& barrier) {
  if (allAligned()) return triggerAligned(barrier);  // even if it is late: nothing is in flight any more
  if (isLate()) return onUnalignedBarrier();
  state_ = State::kCollectingBarriers;
}

/// Also an aligned one that came after the timeout.
void SingleCheckpointBarrierHandler::onUnalignedBarrier() {
  if (!isUnaligned()) turnUnaligned();
  if (state_ == State::kWaitingForFirstBarrierUnaligned) triggerUnaligned();
  if (allAligned()) finishUnaligned();
}

void SingleCheckpointBarrierHandler::turnUnaligned() {
  convertAnnounced();
  if (state_ == State::kCollectingBarriers)
    triggerUnaligned();
  else
    state_ = State::kWaitingForFirstBarrierUnaligned;
}

void SingleCheckpointBarrierHandler::onEnd(int channel) {
  forgetAnnouncement(channel);
  if (state_ == State::kCollectingBarriers) {
    if (allAligned())
      triggerAligned(*pending_);
    else if (isLate())
      turnUnaligned();
  } else if (state_ == State::kCollectingBarriersUnaligned && allAligned()) {
    finishUnaligned();
  }
}

void SingleCheckpointBarrierHandler::onAbort(int64_t checkpointId) {
  const bool storing = state_ == State::kCollectingBarriersUnaligned;
  state_ = State::kWaitingForFirstBarrier;
  announced_.clear();
  if (storing) task_.checkpointStopped(checkpointId);
  unblockChannels();
}

void SingleCheckpointBarrierHandler::triggerAligned(const CheckpointBarrier& barrier) {
  state_ = State::kWaitingForFirstBarrier;
  task_.initInputsCheckpoint(barrier);
  notifyCheckpoint(barrier);
  unblockChannels();
}

void SingleCheckpointBarrierHandler::triggerUnaligned() {
  const AlignmentType alignment = pending_->options.alignment;
  if (alignment != AlignmentType::kAligned && alignment != AlignmentType::kUnaligned)
    throw Throwable("java.io.IOException", taskName_ + ": barrier " + std::to_string(pending_->id) +
                                               " is unaligned on one input and cannot be on another; its senders were started from "
                                               "different job graphs");
  const CheckpointBarrier barrier = pending_->asUnaligned();
  state_ = State::kCollectingBarriersUnaligned;  // first, so that an abort stops the inputs that have begun
  task_.initInputsCheckpoint(barrier);
  task_.checkpointStarted(barrier);
  notifyCheckpoint(barrier);
}

void SingleCheckpointBarrierHandler::finishUnaligned() {
  state_ = State::kWaitingForFirstBarrier;
  task_.checkpointStopped(currentCheckpointId_);
  unblockChannels();
}

void SingleCheckpointBarrierHandler::convertAnnounced() {
  for (const auto& [channel, sequenceNumber] : std::exchange(announced_, {})) task_.convertToPriorityEvent(channel, sequenceNumber);
}

void SingleCheckpointBarrierHandler::forgetAnnouncement(int channel) {
  std::erase_if(announced_, [&](const auto& announcement) { return announcement.first == channel; });
}

void SingleCheckpointBarrierHandler::unblockChannels() {
  const std::vector<int> channels = std::exchange(blocked_, {});
  for (const int channel : channels) task_.resumeConsumption(channel);
}

}  // namespace weir
