#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "weir/barrier/checkpoint_barrier_handler.h"

namespace weir {

/// Exactly-once, one checkpoint at a time. Aligned: the snapshot is taken when the barrier has come on every open channel; a channel whose
/// barrier is here stays blocked at its sender until then. Unaligned: it is taken with the first barrier, and what the other channels have
/// in flight is stored until their barriers come. An aligned checkpoint with a timeout begins as the one and turns into the other when the
/// timeout, counted from its trigger, is over and a barrier is missing.
///
/// Flink: SingleCheckpointBarrierHandler with its alternating states. Differs: a job without unaligned checkpoints has the same states;
/// its barriers carry no timeout, so that it never leaves the first two.
///
/// Invariants: at most one checkpoint is pending; every channel that its barrier blocked is resumed exactly once, and no other; a barrier
/// of an older or finished checkpoint only resumes its channel; an ended channel counts as aligned and the number of barriers awaited is
/// not reduced; a checkpoint is triggered once.
class SingleCheckpointBarrierHandler final : public CheckpointBarrierHandler {
 public:
  struct Options {
    int channels = 1;
    bool checkpointsAfterTasksFinish = true;  ///< off: an ended channel aborts the pending checkpoint
  };
  SingleCheckpointBarrierHandler(Options options, CheckpointableTask& task, const Clock& clock, Logger log, std::string taskName);

  void processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) override;
  void processCancellationBarrier(int64_t checkpointId, int channel) override;
  void processBarrierAnnouncement(const CheckpointBarrier& announced, int channel, int32_t sequenceNumber) override;
  void onAlignmentTimeout(int64_t checkpointId) override;
  void processEndOfPartition(int channel) override;
  int64_t latestCheckpointId() const override { return currentCheckpointId_; }
  bool isCheckpointPending() const override {
    return currentCheckpointId_ >= 0 && currentCheckpointId_ != lastCancelledOrCompletedId_;
  }
  int openChannels() const { return openChannels_; }

 private:
  /// What is awaited. Flink: AlternatingWaitingForFirstBarrier, AlternatingCollectingBarriers and their Unaligned twins.
  enum class State : uint8_t {
    kWaitingForFirstBarrier,
    kCollectingBarriers,
    kWaitingForFirstBarrierUnaligned,  ///< timed out, and no barrier is here
    kCollectingBarriersUnaligned,      ///< triggered; inputs store what is in flight
  };

  bool isObsolete(int64_t checkpointId) const;
  void beginIfNew(const CheckpointBarrier& barrier);
  void markAligned(int channel);
  bool allAligned() const { return alignedChannels_ == targetChannels_; }
  bool isLate() const;
  template <class Step>
  void transition(Step&& step);
  void complete();
  void abortInternal(int64_t checkpointId, const CheckpointException& why);
  void resetAligned();

  // The states: single_checkpoint_barrier_states.cc.
  bool isUnaligned() const { return state_ >= State::kWaitingForFirstBarrierUnaligned; }
  void onBarrier(const CheckpointBarrier& barrier, int channel, bool blocked);
  void onAlignedBarrier(const CheckpointBarrier& barrier);
  void onUnalignedBarrier();
  void onEnd(int channel);
  void onAbort(int64_t checkpointId);
  void turnUnaligned();
  void triggerAligned(const CheckpointBarrier& barrier);
  void triggerUnaligned();
  void finishUnaligned();
  void convertAnnounced();
  void forgetAnnouncement(int channel);
  void unblockChannels();

  const bool checkpointsAfterTasksFinish_;
  int openChannels_;
  std::vector<bool> aligned_;  ///< by channel, of the pending checkpoint
  int alignedChannels_ = 0;
  int targetChannels_ = 0;
  State state_ = State::kWaitingForFirstBarrier;
  std::vector<int> blocked_;                          ///< in the order of their barriers
  std::vector<std::pair<int, int32_t>> announced_;  ///< channel and sequence number of barriers that are on their way
  std::optional<CheckpointBarrier> pending_;
  int64_t currentCheckpointId_ = -1;
  int64_t lastCancelledOrCompletedId_ = -1;
};

}  // namespace weir
