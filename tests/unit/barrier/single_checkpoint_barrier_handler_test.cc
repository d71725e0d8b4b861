#include "weir/barrier/single_checkpoint_barrier_handler.h"

#include <gtest/gtest.h>

#include "unit/barrier/recording_task.h"

namespace weir {
namespace {

class AlignedHandler : public testing::Test {
 protected:
  void open(int channels, bool checkpointsAfterTasksFinish = true) {
    handler_.emplace(SingleCheckpointBarrierHandler::Options{channels, checkpointsAfterTasksFinish}, task_, clock_, Logger(log_, "handler"),
                     "sink (1/1)#0");
  }
  void on(int64_t id, int channel) { handler_->processBarrier(barrier(id), channel, false); }

  TestClock clock_;
  MemoryLogSink log_{clock_};
  RecordingTask task_;
  std::optional<SingleCheckpointBarrierHandler> handler_;
};

TEST_F(AlignedHandler, TriggersWithTheLastBarrierAndThenResumesEveryChannel) {
  open(3);
  on(1, 0);
  on(1, 2);
  EXPECT_EQ(task_.take(), Events{});
  on(1, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 1", "resume 0", "resume 2", "resume 1"}));
  EXPECT_FALSE(handler_->isCheckpointPending());
}

TEST_F(AlignedHandler, OneChannelTriggersAtOnceWithoutAlignment) {
  open(1);
  clock_.millis = 1250;
  on(1, 0);
  EXPECT_EQ(task_.take(), (Events{"trigger 1", "resume 0"}));
  EXPECT_EQ(task_.lastMetrics.alignmentDurationNanos, 0);
  EXPECT_EQ(task_.lastMetrics.checkpointStartDelayNanos, 250'000'000);
}

TEST_F(AlignedHandler, AlignmentLastsFromTheFirstToTheLastBarrierAndCountsTheBytesBetween) {
  open(2);
  handler_->addProcessedBytes(11);  // before the first barrier: not in flight
  clock_.millis = 1100;
  on(1, 0);
  handler_->addProcessedBytes(100);
  clock_.millis = 1400;
  on(1, 1);
  handler_->addProcessedBytes(7);
  EXPECT_EQ(task_.lastMetrics.checkpointStartDelayNanos, 100'000'000);
  EXPECT_EQ(task_.lastMetrics.alignmentDurationNanos, 300'000'000);
  EXPECT_EQ(task_.lastMetrics.bytesProcessedDuringAlignment, 100);
}

TEST_F(AlignedHandler, AStartDelayIsNeverNegative) {
  open(1);
  clock_.millis = 900;  // this process's clock is behind the coordinator's
  on(1, 0);
  EXPECT_EQ(task_.lastMetrics.checkpointStartDelayNanos, 0);
}

TEST_F(AlignedHandler, AnObsoleteBarrierOnlyResumesItsChannel) {
  open(2);
  on(5, 0);
  on(4, 1);
  EXPECT_EQ(task_.take(), (Events{"resume 1"}));
  on(5, 1);
  task_.take();
  on(5, 0);  // completed already
  EXPECT_EQ(task_.take(), (Events{"resume 0"}));
}

TEST_F(AlignedHandler, AnObsoleteUnalignedBarrierHasBlockedNobody) {
  open(2);
  on(5, 0);
  handler_->processBarrier(barrier(4, 1000, AlignmentType::kUnaligned), 1, false);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(AlignedHandler, ANewerBarrierCancelsThePendingCheckpointOnce) {
  open(3);
  on(6, 0);
  on(7, 1);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 6"}));
  EXPECT_EQ(task_.lastReason, CheckpointFailureReason::kCheckpointDeclinedSubsumed);
  EXPECT_TRUE(log_.contains(
      "sink (1/1)#0: Received checkpoint barrier for checkpoint 7 before completing current checkpoint 6. Skipping current checkpoint."));
  on(7, 0);
  on(6, 2);  // late, of the cancelled one
  EXPECT_EQ(task_.take(), (Events{"resume 2"}));
  on(7, 2);
  EXPECT_EQ(task_.take(), (Events{"trigger 7", "resume 1", "resume 0", "resume 2"}));
}

TEST_F(AlignedHandler, ACancellationMarkerAbortsThePendingCheckpointAndResumesItsChannels) {
  open(2);
  on(5, 0);
  handler_->processCancellationBarrier(5, 1);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 5"}));
  EXPECT_EQ(task_.lastReason, CheckpointFailureReason::kCheckpointDeclinedOnCancellationBarrier);
  handler_->processCancellationBarrier(5, 0);  // the marker of the other channel
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(AlignedHandler, AMarkerOfANewerCheckpointAbortsThatOneAndDropsThePendingOne) {
  open(2);
  on(5, 0);
  handler_->processCancellationBarrier(6, 1);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 6"}));
  on(6, 0);
  EXPECT_EQ(task_.take(), (Events{"resume 0"}));
  on(7, 0);
  on(7, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 7", "resume 0", "resume 1"}));
}

TEST_F(AlignedHandler, AnOldMarkerIsIgnored) {
  open(2);
  on(5, 0);
  handler_->processCancellationBarrier(4, 1);
  EXPECT_EQ(task_.take(), Events{});
  EXPECT_TRUE(handler_->isCheckpointPending());
}

// The worked trace 16.1 of the checkpointing reference: two channels, a marker, then a newer checkpoint that overtakes.
TEST_F(AlignedHandler, FollowsTheWorkedTraceOfTwoChannels) {
  open(2);
  on(5, 0);
  handler_->processCancellationBarrier(5, 1);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 5"}));
  on(6, 0);
  on(7, 1);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 6"}));
  on(7, 0);
  EXPECT_EQ(task_.take(), (Events{"trigger 7", "resume 1", "resume 0"}));
}

TEST_F(AlignedHandler, AnEndedChannelCountsAsAlignedAndTheTargetStays) {
  open(3);
  on(1, 0);
  handler_->processEndOfPartition(2);
  EXPECT_EQ(task_.take(), Events{});
  on(1, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 1", "resume 0", "resume 1"}));
  on(2, 0);  // two channels are left
  on(2, 1);
  EXPECT_EQ(task_.take(), (Events{"trigger 2", "resume 0", "resume 1"}));
}

TEST_F(AlignedHandler, TheEndOfTheLastChannelAwaitedTriggers) {
  open(2);
  on(1, 0);
  handler_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), (Events{"trigger 1", "resume 0"}));
}

TEST_F(AlignedHandler, AnEndedChannelAbortsWhereCheckpointsAfterFinishAreOff) {
  open(2, false);
  on(1, 0);
  handler_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 1"}));
  EXPECT_EQ(task_.lastReason, CheckpointFailureReason::kCheckpointDeclinedInputEndOfStream);
}

TEST_F(AlignedHandler, ABarrierThatTheCoordinatorStandsInForBlocksNothing) {
  open(2);
  handler_->processBarrier(barrier(1), 0, true);
  handler_->processBarrier(barrier(1), 1, true);
  EXPECT_EQ(task_.take(), (Events{"trigger 1"}));
}

TEST_F(AlignedHandler, ARepeatedBarrierOfOneChannelDoesNotCountTwice) {
  open(3);
  on(1, 0);
  handler_->processBarrier(barrier(1), 0, true);
  on(1, 1);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(AlignedHandler, AnAbortedAlignmentLeavesNoNumbersBehind) {
  open(2);
  clock_.millis = 1500;
  on(1, 0);
  handler_->processCancellationBarrier(1, 1);
  EXPECT_EQ(handler_->alignmentDurationNanos(), 0);
  EXPECT_EQ(handler_->startDelayNanos(), 0);
}

}  // namespace
}  // namespace weir
