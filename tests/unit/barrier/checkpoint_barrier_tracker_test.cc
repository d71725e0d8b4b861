#include "weir/barrier/checkpoint_barrier_tracker.h"

#include <gtest/gtest.h>

#include "unit/barrier/recording_task.h"

namespace weir {
namespace {

class Tracker : public testing::Test {
 protected:
  void open(int channels, bool checkpointsAfterTasksFinish = true) {
    tracker_.emplace(CheckpointBarrierTracker::Options{channels, checkpointsAfterTasksFinish}, task_, clock_, Logger(log_, "tracker"),
                     "sink (1/1)#0");
  }
  void on(int64_t id, int channel) { tracker_->processBarrier(barrier(id, 1000, AlignmentType::kAtLeastOnce), channel, false); }

  TestClock clock_;
  MemoryLogSink log_{clock_};
  RecordingTask task_;
  std::optional<CheckpointBarrierTracker> tracker_;
};

TEST_F(Tracker, TriggersWithTheLastBarrierAndNeverResumesAnybody) {
  open(2);
  on(1, 0);
  on(2, 0);
  on(1, 1);
  on(2, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 1", "trigger 2"}));
}

TEST_F(Tracker, ACompletedCheckpointDropsAllOlderOnes) {
  open(2);
  on(1, 0);
  on(2, 0);
  on(2, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 2"}));
  on(1, 1);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(Tracker, OneOpenChannelTriggersAtOnce) {
  open(1);
  on(1, 0);
  EXPECT_EQ(task_.take(), (Events{"trigger 1"}));
  EXPECT_EQ(task_.lastMetrics.alignmentDurationNanos, 0);
}

TEST_F(Tracker, AMarkerAbortsItsCheckpointOnceAndItNeverTriggers) {
  open(2);
  on(1, 0);
  tracker_->processCancellationBarrier(1, 1);
  EXPECT_EQ(task_.take(), (Events{"abort 1"}));
  tracker_->processCancellationBarrier(1, 0);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(Tracker, BarriersBehindTheMarkerOfTheirCheckpointDoNotTrigger) {
  open(3);
  tracker_->processCancellationBarrier(1, 0);
  EXPECT_EQ(task_.take(), (Events{"abort 1"}));
  on(1, 1);
  on(1, 2);
  EXPECT_EQ(task_.take(), Events{});
  EXPECT_FALSE(tracker_->isCheckpointPending());
}

TEST_F(Tracker, AMarkerAbortsAllOlderCheckpointsFirst) {
  open(2);
  on(1, 0);
  on(2, 0);
  tracker_->processCancellationBarrier(3, 1);
  EXPECT_EQ(task_.take(), (Events{"abort 1", "abort 2", "abort 3"}));
}

TEST_F(Tracker, AnEndedChannelCountsForEveryPendingCheckpointAndTheNewestCompleteOneTriggers) {
  open(2);
  on(1, 0);
  on(2, 0);
  tracker_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), (Events{"trigger 2"}));
  EXPECT_FALSE(tracker_->isCheckpointPending());
}

TEST_F(Tracker, AnEndedChannelAbortsAllWhereCheckpointsAfterFinishAreOff) {
  open(2, false);
  on(1, 0);
  on(2, 0);
  tracker_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), (Events{"abort 1", "abort 2"}));
  EXPECT_EQ(task_.lastReason, CheckpointFailureReason::kCheckpointDeclinedInputEndOfStream);
}

TEST_F(Tracker, TracksAtMostFiftyCheckpointsAndForgetsTheOldest) {
  open(2);
  for (int64_t id = 1; id <= 51; ++id) on(id, 0);
  on(1, 1);
  EXPECT_EQ(task_.take(), Events{});  // forgotten
  on(2, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 2"}));
}

TEST_F(Tracker, AlignmentEndsOnlyWithTheNewestCheckpointThatBegan) {
  open(2);
  on(1, 0);
  clock_.millis = 1100;
  on(2, 0);
  clock_.millis = 1300;
  on(2, 1);
  EXPECT_EQ(task_.lastMetrics.alignmentDurationNanos, 200'000'000);
}

}  // namespace
}  // namespace weir
