#include "weir/barrier/checkpoint_barrier_tracker.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {

CheckpointBarrierTracker::CheckpointBarrierTracker(Options options, CheckpointableTask& task, const Clock& clock, Logger log,
                                                   std::string taskName)
    : CheckpointBarrierHandler(task, clock, std::move(log), std::move(taskName)),
      checkpointsAfterTasksFinish_(options.checkpointsAfterTasksFinish),
      channels_(static_cast<size_t>(options.channels)),
      openChannels_(options.channels) {}

bool CheckpointBarrierTracker::Tracked::see(int channel) {
  if (!seen[static_cast<size_t>(channel)]) {
    seen[static_cast<size_t>(channel)] = true;
    ++count;
  }
  return count == target;
}

CheckpointBarrierTracker::Tracked CheckpointBarrierTracker::makeTracked(const CheckpointBarrier& barrier) const {
  return {barrier, std::vector<bool>(channels_, false), 0, openChannels_, false};
}

void CheckpointBarrierTracker::processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) {
  (void)rpcTriggered;
  log_.debug("{}: Received barrier from channel {} @ {}.", taskName_, channel, barrier.id);
  const auto known = std::find_if(tracked_.begin(), tracked_.end(), [&](const Tracked& t) { return t.barrier.id == barrier.id; });
  if (known != tracked_.end()) {
    if (known->see(channel)) completeAt(static_cast<size_t>(known - tracked_.begin()));
    return;
  }
  if (barrier.id <= latestId_) return;  // older than what is tracked: it was dropped, cancelled or completed
  latestId_ = barrier.id;
  if (openChannels_ == 1) {
    markAlignmentStartAndEnd(barrier.id, barrier.timestamp);
    notifyCheckpoint(barrier);
    return;
  }
  markAlignmentStart(barrier.id, barrier.timestamp);
  tracked_.push_back(makeTracked(barrier));
  tracked_.back().see(channel);
  if (tracked_.size() > kMaxTracked) tracked_.pop_front();
}

void CheckpointBarrierTracker::completeAt(size_t position) {
  const Tracked completed = tracked_[position];
  tracked_.erase(tracked_.begin(), tracked_.begin() + static_cast<std::ptrdiff_t>(position) + 1);
  if (completed.aborted) return;
  log_.debug("{}: All the channels are aligned for checkpoint {}.", taskName_, completed.barrier.id);
  if (completed.barrier.id == latestId_) markAlignmentEnd();
  notifyCheckpoint(completed.barrier);
}

void CheckpointBarrierTracker::processCancellationBarrier(int64_t checkpointId, int channel) {
  log_.debug("{}: Received cancellation {}.", taskName_, checkpointId);
  if (checkpointId > latestId_ && openChannels_ == 1) {
    latestId_ = checkpointId;
    abortOlderThan(checkpointId);
    resetAlignment();
    notifyAbort(checkpointId, CheckpointException(CheckpointFailureReason::kCheckpointDeclinedOnCancellationBarrier));
    return;
  }
  abortOlderThan(checkpointId);
  if (!tracked_.empty() && tracked_.front().barrier.id == checkpointId) {
    abortOnce(tracked_.front());
    if (tracked_.front().see(channel)) tracked_.pop_front();
  } else if (checkpointId > latestId_) {
    latestId_ = checkpointId;
    CheckpointBarrier barrier;
    barrier.id = checkpointId;
    tracked_.push_front(makeTracked(barrier));
    tracked_.front().see(channel);
    abortOnce(tracked_.front());
  }
}

void CheckpointBarrierTracker::abortOlderThan(int64_t checkpointId) {
  while (!tracked_.empty() && tracked_.front().barrier.id < checkpointId) {
    abortOnce(tracked_.front());
    tracked_.pop_front();
  }
}

void CheckpointBarrierTracker::abortOnce(Tracked& tracked) {
  if (tracked.aborted) return;
  tracked.aborted = true;
  notifyAbort(tracked.barrier.id, CheckpointException(CheckpointFailureReason::kCheckpointDeclinedOnCancellationBarrier));
}

void CheckpointBarrierTracker::processEndOfPartition(int channel) {
  --openChannels_;
  WEIR_CHECK_GE(openChannels_, 0);
  if (!checkpointsAfterTasksFinish_) {
    while (!tracked_.empty()) {
      if (!tracked_.front().aborted)
        notifyAbort(tracked_.front().barrier.id, CheckpointException(CheckpointFailureReason::kCheckpointDeclinedInputEndOfStream));
      tracked_.pop_front();
    }
    return;
  }
  for (size_t i = tracked_.size(); i-- > 0;) {
    if (tracked_[i].see(channel)) {  // the newest complete one triggers, it and the older ones go
      completeAt(i);
      return;
    }
  }
}

}  // namespace weir
