#pragma once

#include <optional>
#include <vector>

#include "weir/barrier/checkpoint_barrier_handler.h"

namespace weir {

/// Exactly-once with aligned barriers: the snapshot is taken when the barrier has come on every open channel; a channel whose barrier is
/// here stays blocked at its sender until then.
///
/// Flink: SingleCheckpointBarrierHandler with the states WaitingForFirstBarrier and CollectingBarriers.
///
/// Invariants: at most one checkpoint is pending; every channel that its barrier blocked is resumed exactly once; a barrier of an older or
/// finished checkpoint only resumes its channel; an ended channel counts as aligned and the number of barriers awaited is not reduced.
class SingleCheckpointBarrierHandler final : public CheckpointBarrierHandler {
 public:
  struct Options {
    int channels = 1;
    bool checkpointsAfterTasksFinish = true;  ///< off: an ended channel aborts the pending checkpoint
  };
  SingleCheckpointBarrierHandler(Options options, CheckpointableTask& task, const Clock& clock, Logger log, std::string taskName);

  void processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) override;
  void processCancellationBarrier(int64_t checkpointId, int channel) override;
  void processEndOfPartition(int channel) override;
  int64_t latestCheckpointId() const override { return currentCheckpointId_; }
  bool isCheckpointPending() const override {
    return currentCheckpointId_ >= 0 && currentCheckpointId_ != lastCancelledOrCompletedId_;
  }
  int openChannels() const { return openChannels_; }

 private:
  void beginIfNew(const CheckpointBarrier& barrier);
  void markAligned(int channel);
  void triggerIfAllAligned();
  void abortInternal(int64_t checkpointId, const CheckpointException& why);
  void unblockChannels();

  const bool checkpointsAfterTasksFinish_;
  int openChannels_;
  std::vector<bool> aligned_;  ///< by channel, of the pending checkpoint
  int alignedChannels_ = 0;
  int targetChannels_ = 0;
  std::vector<int> blocked_;  ///< in the order of their barriers
  std::optional<CheckpointBarrier> pending_;
  int64_t currentCheckpointId_ = -1;
  int64_t lastCancelledOrCompletedId_ = -1;
};

}  // namespace weir
