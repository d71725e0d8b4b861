#include <gtest/gtest.h>

#include "unit/barrier/recording_task.h"
#include "weir/barrier/single_checkpoint_barrier_handler.h"

// One test per row of the table of states: W waiting for the first barrier, C collecting, WU and CU the same after the timeout.
namespace weir {
namespace {

constexpr int64_t kTimeout = 500;

class UnalignedHandler : public testing::Test {
 protected:
  void open(int channels) {
    handler_.emplace(SingleCheckpointBarrierHandler::Options{channels, true}, task_, clock_, Logger(log_, "handler"), "sink (1/1)#0");
  }
  /// An aligned barrier with a timeout, in order.
  void aligned(int64_t id, int channel) { handler_->processBarrier(timeoutable(id, kTimeout), channel, false); }
  void unaligned(int64_t id, int channel) { handler_->processBarrier(barrier(id, 1000, AlignmentType::kUnaligned), channel, false); }
  void announce(int64_t id, int channel, int32_t sequenceNumber) {
    handler_->processBarrierAnnouncement(timeoutable(id, kTimeout), channel, sequenceNumber);
  }
  /// The timer of the task runs, if there is one, at its time.
  void timeOut() {
    ASSERT_TRUE(task_.timer.has_value());
    clock_.millis = std::max(clock_.millis, 1000 + kTimeout);
    handler_->onAlignmentTimeout(task_.timer->first);
  }
  void isLate() { clock_.millis = 1000 + kTimeout + 1; }
  void expectTriggeredUnaligned() { EXPECT_TRUE(task_.lastOptions.isUnaligned()); }

  TestClock clock_;
  MemoryLogSink log_{clock_};
  RecordingTask task_;
  std::optional<SingleCheckpointBarrierHandler> handler_;
};

// ---- W ----------------------------------------------------------------------------------------------------------------------------------

TEST_F(UnalignedHandler, WaitingRemembersAnAnnouncementAndStartsTheTimer) {
  open(2);
  clock_.millis = 1200;
  announce(1, 0, 7);
  EXPECT_EQ(task_.take(), Events{});
  EXPECT_TRUE(handler_->isCheckpointPending());
  EXPECT_EQ(task_.timer, std::pair(int64_t{1}, kTimeout - 200));  // from the trigger on, not from here
}

TEST_F(UnalignedHandler, WaitingBlocksAndCollectsAnAlignedBarrier) {
  open(2);
  aligned(1, 0);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, WaitingTriggersWithTheLastAlignedBarrier) {
  open(1);
  aligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"init aligned 1", "trigger 1", "resume 0"}));
  EXPECT_FALSE(task_.lastOptions.isUnaligned());
  EXPECT_FALSE(task_.timer.has_value());
}

TEST_F(UnalignedHandler, WaitingStaysAlignedWithTheLastBarrierEvenIfItIsLate) {
  open(1);
  isLate();
  aligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"init aligned 1", "trigger 1", "resume 0"}));
  EXPECT_FALSE(task_.lastOptions.isUnaligned());
}

TEST_F(UnalignedHandler, WaitingTurnsUnalignedWithALateBarrierThatIsNotTheLast) {
  open(2);
  announce(1, 1, 4);
  isLate();
  aligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"convert 1@4", "init unaligned 1", "start 1", "trigger 1"}));
  expectTriggeredUnaligned();
  aligned(1, 1);  // converted here: still encoded as aligned, so that it has blocked its channel
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 0", "resume 1"}));
}

TEST_F(UnalignedHandler, WaitingForgetsTheAnnouncementOfABarrierThatCame) {
  open(2);
  announce(1, 0, 4);
  aligned(1, 0);
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1"}));
}

TEST_F(UnalignedHandler, WaitingTriggersWithTheFirstUnalignedBarrier) {
  open(3);
  announce(1, 2, 9);
  unaligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"convert 2@9", "init unaligned 1", "start 1", "trigger 1"}));
  expectTriggeredUnaligned();
}

TEST_F(UnalignedHandler, OneChannelIsDoneWithItsUnalignedBarrier) {
  open(1);
  unaligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1", "stop 1"}));
  EXPECT_EQ(task_.received, (std::vector<int64_t>{1}));
  EXPECT_FALSE(handler_->isCheckpointPending());
}

TEST_F(UnalignedHandler, WaitingConvertsWhatWasAnnouncedWhenTheTimerRuns) {
  open(2);
  announce(1, 0, 4);
  announce(1, 1, 5);
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"convert 0@4", "convert 1@5"}));
}

TEST_F(UnalignedHandler, WaitingDropsTheAnnouncementOfAnEndedChannel) {
  open(3);
  announce(1, 0, 4);
  announce(1, 1, 5);
  handler_->processEndOfPartition(0);
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"convert 1@5"}));
}

// ---- C ----------------------------------------------------------------------------------------------------------------------------------

TEST_F(UnalignedHandler, CollectingRemembersAnAnnouncement) {
  open(2);
  aligned(1, 0);
  announce(1, 1, 3);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, CollectingTriggersAlignedWithTheLastBarrier) {
  open(2);
  aligned(1, 0);
  aligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"init aligned 1", "trigger 1", "resume 0", "resume 1"}));
}

// M57: the last barrier may be late, but with it nothing is in flight.
TEST_F(UnalignedHandler, CollectingStaysAlignedWithTheLastBarrierEvenIfItIsLate) {
  open(2);
  aligned(1, 0);
  isLate();
  aligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"init aligned 1", "trigger 1", "resume 0", "resume 1"}));
  EXPECT_FALSE(task_.lastOptions.isUnaligned());
}

TEST_F(UnalignedHandler, CollectingTurnsUnalignedWithALateBarrierThatIsNotTheLast) {
  open(4);
  aligned(1, 0);
  announce(1, 2, 8);
  isLate();
  aligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"convert 2@8", "init unaligned 1", "start 1", "trigger 1"}));
  aligned(1, 2);
  unaligned(1, 3);  // converted by its sender: blocked nobody
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 0", "resume 1", "resume 2"}));
}

TEST_F(UnalignedHandler, ABarrierAtItsTimeoutIsNotLate) {
  open(3);
  aligned(1, 0);
  clock_.millis = 1000 + kTimeout;
  aligned(1, 1);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, CollectingTurnsUnalignedWithAnUnalignedBarrier) {
  open(3);
  aligned(1, 0);
  unaligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1"}));
  unaligned(1, 2);
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 0"}));
}

TEST_F(UnalignedHandler, CollectingIsDoneWithAnUnalignedBarrierThatIsTheLast) {
  open(2);
  aligned(1, 0);
  unaligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1", "stop 1", "resume 0"}));
}

// keep-blocked-after-switch: nothing behind the barriers that are here is read before what is in flight is being stored, and the channels
// go on only when the checkpoint has all its barriers.
TEST_F(UnalignedHandler, KeepBlockedAfterSwitch) {
  open(8);
  for (int channel = 0; channel < 7; ++channel) aligned(1, channel);
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1"}));
  unaligned(1, 7);
  Events last{"stop 1"};
  for (int channel = 0; channel < 7; ++channel) last.push_back("resume " + std::to_string(channel));
  EXPECT_EQ(task_.take(), last);
}

TEST_F(UnalignedHandler, CollectingTriggersWhenTheTimerRuns) {
  open(2);
  aligned(1, 0);
  announce(1, 1, 3);
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"convert 1@3", "init unaligned 1", "start 1", "trigger 1"}));
  expectTriggeredUnaligned();
}

TEST_F(UnalignedHandler, CollectingTriggersAlignedWithTheEndOfTheLastChannel) {
  open(2);
  aligned(1, 0);
  isLate();
  handler_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), (Events{"init aligned 1", "trigger 1", "resume 0"}));
}

TEST_F(UnalignedHandler, CollectingTurnsUnalignedWithALateEndThatIsNotTheLast) {
  open(3);
  aligned(1, 0);
  isLate();
  handler_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1"}));
}

TEST_F(UnalignedHandler, CollectingGoesOnWithAnEndInTime) {
  open(3);
  aligned(1, 0);
  handler_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, CollectingResumesWhenAbortedAndForgetsAnnouncements) {
  open(3);
  aligned(1, 0);
  announce(1, 1, 3);
  handler_->processCancellationBarrier(1, 2);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 1"}));
  EXPECT_FALSE(task_.timer.has_value());
  aligned(2, 0);
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"init unaligned 2", "start 2", "trigger 2"}));
}

// ---- WU ---------------------------------------------------------------------------------------------------------------------------------

TEST_F(UnalignedHandler, TimedOutConvertsAnAnnouncementAtOnce) {
  open(2);
  announce(1, 0, 4);
  timeOut();
  task_.take();
  announce(1, 1, 6);
  EXPECT_EQ(task_.take(), (Events{"convert 1@6"}));
}

TEST_F(UnalignedHandler, TimedOutTriggersWithTheFirstBarrierAndRemembersThatItBlocks) {
  open(2);
  announce(1, 0, 4);
  timeOut();
  task_.take();
  aligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1"}));
  expectTriggeredUnaligned();
  unaligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 0"}));
}

TEST_F(UnalignedHandler, TimedOutIsDoneWithItsOnlyBarrier) {
  open(1);
  announce(1, 0, 4);
  timeOut();
  task_.take();
  aligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1", "stop 1", "resume 0"}));
}

TEST_F(UnalignedHandler, TimedOutResumesWhenAborted) {
  open(2);
  announce(1, 0, 4);
  timeOut();
  task_.take();
  aligned(2, 0);  // a newer one
  EXPECT_EQ(task_.take(), (Events{"abort 1"}));
  EXPECT_EQ(task_.timer->first, 2);
}

// ---- CU ---------------------------------------------------------------------------------------------------------------------------------

TEST_F(UnalignedHandler, StoringConvertsAnAnnouncementAtOnce) {
  open(3);
  unaligned(1, 0);
  task_.take();
  announce(1, 1, 6);
  EXPECT_EQ(task_.take(), (Events{"convert 1@6"}));
}

TEST_F(UnalignedHandler, StoringGoesOnUntilTheLastBarrier) {
  open(3);
  unaligned(1, 0);
  task_.take();
  unaligned(1, 2);
  EXPECT_EQ(task_.take(), Events{});
  EXPECT_EQ(task_.received, std::vector<int64_t>{});
  aligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 1"}));
  EXPECT_EQ(task_.received, (std::vector<int64_t>{1}));
}

TEST_F(UnalignedHandler, StoringIgnoresTheTimer) {
  open(2);
  aligned(1, 0);
  timeOut();
  task_.take();
  timeOut();
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, StoringIsDoneWithTheEndOfTheLastChannel) {
  open(3);
  unaligned(1, 0);
  task_.take();
  handler_->processEndOfPartition(1);
  EXPECT_EQ(task_.take(), Events{});
  handler_->processEndOfPartition(2);
  EXPECT_EQ(task_.take(), (Events{"stop 1"}));
  EXPECT_EQ(task_.received, (std::vector<int64_t>{1}));
}

TEST_F(UnalignedHandler, StoringStopsWhenAborted) {
  open(3);
  aligned(1, 0);
  timeOut();
  task_.take();
  handler_->processCancellationBarrier(1, 1);
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 0", "abort 1"}));
  EXPECT_EQ(task_.received, std::vector<int64_t>{});
  unaligned(1, 2);  // obsolete, and its sender is not blocked
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, ANewerBarrierStopsTheStoringOfTheOlder) {
  open(2);
  unaligned(1, 0);
  task_.take();
  unaligned(2, 1);
  EXPECT_EQ(task_.take(), (Events{"stop 1", "abort 1", "init unaligned 2", "start 2", "trigger 2"}));
  EXPECT_EQ(task_.lastReason, CheckpointFailureReason::kCheckpointDeclinedSubsumed);
  unaligned(1, 1);
  EXPECT_EQ(task_.take(), Events{});
  unaligned(2, 0);
  EXPECT_EQ(task_.take(), (Events{"stop 2"}));
}

// ---- what holds in every state ----------------------------------------------------------------------------------------------------------

TEST_F(UnalignedHandler, ATimerOfAnotherCheckpointDoesNothing) {
  open(2);
  aligned(1, 0);
  handler_->processCancellationBarrier(1, 1);
  aligned(2, 0);
  task_.take();
  handler_->onAlignmentTimeout(1);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, ATimerAfterTheLastBarrierDoesNothing) {
  open(1);
  aligned(1, 0);
  task_.take();
  handler_->onAlignmentTimeout(1);
  EXPECT_EQ(task_.take(), Events{});
}

TEST_F(UnalignedHandler, AnAnnouncementOfANewerCheckpointCancelsThePendingOne) {
  open(2);
  aligned(1, 0);
  announce(2, 1, 3);
  EXPECT_EQ(task_.take(), (Events{"resume 0", "abort 1"}));
  EXPECT_EQ(task_.timer->first, 2);
}

TEST_F(UnalignedHandler, AnAnnouncementOfAFinishedCheckpointIsIgnored) {
  open(1);
  aligned(3, 0);
  task_.take();
  announce(2, 0, 3);
  announce(3, 0, 4);
  EXPECT_EQ(task_.take(), Events{});
  EXPECT_FALSE(handler_->isCheckpointPending());
}

// obsolete-barrier-after-decline: the older one was never begun here, and is of no interest any more.
TEST_F(UnalignedHandler, ObsoleteBarrierAfterDecline) {
  open(2);
  unaligned(8, 0);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 8", "start 8", "trigger 8"}));
  unaligned(7, 1);
  EXPECT_EQ(task_.take(), Events{});
  unaligned(8, 1);
  EXPECT_EQ(task_.take(), (Events{"stop 8"}));
  EXPECT_EQ(task_.received, (std::vector<int64_t>{8}));
}

TEST_F(UnalignedHandler, AnInputThatHasSeenANewerBarrierAbortsTheCheckpoint) {
  open(2);
  task_.refusesStart = true;
  unaligned(1, 0);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "stop 1", "abort 1"}));
  EXPECT_EQ(task_.lastReason, CheckpointFailureReason::kCheckpointSubsumed);
  EXPECT_FALSE(handler_->isCheckpointPending());
}

// rpc-barrier-must-not-unblock: what the coordinator stands in for has blocked nothing, so that there is nothing to resume.
TEST_F(UnalignedHandler, RpcBarrierMustNotUnblock) {
  open(3);
  handler_->processEndOfPartition(0);
  handler_->processBarrier(timeoutable(1, kTimeout), 1, true);
  timeOut();
  handler_->processBarrier(timeoutable(1, kTimeout), 2, true);
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1", "stop 1"}));
}

// forced-aligned-vs-timeoutable: the same barrier on an edge that cannot be unaligned.
TEST_F(UnalignedHandler, ForcedAlignedNeverTimesOut) {
  open(2);
  CheckpointBarrier forced = timeoutable(1, kTimeout);
  forced.options = forced.options.withUnalignedUnsupported();
  handler_->processBarrier(forced, 0, false);
  EXPECT_FALSE(task_.timer.has_value());
  isLate();
  handler_->processBarrier(forced, 1, false);
  EXPECT_EQ(task_.take(), (Events{"trigger 1", "resume 0", "resume 1"}));
  EXPECT_EQ(task_.lastOptions.alignment, AlignmentType::kForcedAligned);
}

TEST_F(UnalignedHandler, ASenderThatDisagreesFailsTheTask) {
  open(2);
  CheckpointBarrier forced = timeoutable(1, kTimeout);
  forced.options = forced.options.withUnalignedUnsupported();
  handler_->processBarrier(forced, 0, false);
  EXPECT_THROW(unaligned(1, 1), Throwable);
}

TEST_F(UnalignedHandler, TheAlignmentOfAnUnalignedCheckpointLastsUntilItsLastBarrier) {
  open(2);
  clock_.millis = 1100;
  unaligned(1, 0);
  EXPECT_EQ(task_.lastMetrics.checkpointStartDelayNanos, 100'000'000);
  clock_.millis = 1350;
  handler_->addProcessedBytes(40);
  unaligned(1, 1);
  EXPECT_EQ(task_.finalAlignment.alignmentDurationNanos, 250'000'000);
  EXPECT_EQ(task_.finalAlignment.bytesProcessedDuringAlignment, 40);
}

// The worked trace 16.2: an announcement, a barrier in order, the timer, a second announcement whose barrier is converted.
TEST_F(UnalignedHandler, FollowsTheWorkedTraceOfATimeout) {
  open(2);
  clock_.millis = 1200;
  announce(1, 0, 10);
  EXPECT_EQ(task_.timer, std::pair(int64_t{1}, kTimeout - 200));
  clock_.millis = 1400;
  aligned(1, 0);
  EXPECT_EQ(task_.take(), Events{});
  timeOut();
  EXPECT_EQ(task_.take(), (Events{"init unaligned 1", "start 1", "trigger 1"}));
  clock_.millis = 2500;
  announce(1, 1, 20);
  EXPECT_EQ(task_.take(), (Events{"convert 1@20"}));
  aligned(1, 1);
  EXPECT_EQ(task_.take(), (Events{"stop 1", "resume 0", "resume 1"}));
  EXPECT_EQ(task_.finalAlignment.alignmentDurationNanos, 1'100'000'000);
}

}  // namespace
}  // namespace weir
