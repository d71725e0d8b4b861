#pragma once

#include <deque>
#include <vector>

#include "weir/barrier/checkpoint_barrier_handler.h"

namespace weir {

/// At-least-once: counts barriers and never blocks a channel, so that records behind a barrier may be part of the snapshot before it.
///
/// Flink: CheckpointBarrierTracker. At most 50 checkpoints are tracked, the oldest is dropped. A completed checkpoint drops all older ones.
class CheckpointBarrierTracker final : public CheckpointBarrierHandler {
 public:
  static constexpr size_t kMaxTracked = 50;
  struct Options {
    int channels = 1;
    bool checkpointsAfterTasksFinish = true;
  };
  CheckpointBarrierTracker(Options options, CheckpointableTask& task, const Clock& clock, Logger log, std::string taskName);

  void processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) override;
  void processCancellationBarrier(int64_t checkpointId, int channel) override;
  // Barriers of at-least-once are never announced and never time out.
  void processBarrierAnnouncement(const CheckpointBarrier&, int, int32_t) override {}
  void onAlignmentTimeout(int64_t) override {}
  void processEndOfPartition(int channel) override;
  int64_t latestCheckpointId() const override { return tracked_.empty() ? latestId_ : tracked_.back().barrier.id; }
  bool isCheckpointPending() const override { return !tracked_.empty(); }

 private:
  struct Tracked {
    CheckpointBarrier barrier;
    std::vector<bool> seen;
    int count = 0, target = 0;
    bool aborted = false;

    bool see(int channel);
  };
  Tracked makeTracked(const CheckpointBarrier& barrier) const;
  void abortOlderThan(int64_t checkpointId);
  void abortOnce(Tracked& tracked);
  void completeAt(size_t position);

  const bool checkpointsAfterTasksFinish_;
  const size_t channels_;
  int openChannels_;
  std::deque<Tracked> tracked_;  ///< oldest first
  int64_t latestId_ = -1;        ///< highest id begun, cancelled or completed
};

}  // namespace weir
