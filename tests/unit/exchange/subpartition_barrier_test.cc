#include <gtest/gtest.h>

#include "unit/exchange/exchange_fixture.h"

// Barriers that overtake in the queue of a subpartition: at once, or when their time is over.
namespace weir {
namespace {

using namespace testing;

TEST(SubpartitionPriority, StandsBehindOtherPriorityAndInFrontOfTheRest) {
  Subpartition sub;
  sub.addData("data");
  sub.addEvent(barrier(1, AlignmentType::kUnaligned), true);
  sub.addEvent(barrier(2, AlignmentType::kUnaligned), true);
  const auto first = sub.queue.poll(), second = sub.queue.poll();
  EXPECT_EQ(std::get<CheckpointBarrier>(EventSerializer::decode(first->buffer.bytes()).value()).id, 1);
  EXPECT_EQ(first->nextDataType, DataType::PRIORITIZED_EVENT_BUFFER);
  EXPECT_EQ(std::get<CheckpointBarrier>(EventSerializer::decode(second->buffer.bytes()).value()).id, 2);
  EXPECT_EQ(polled(sub), "data");
}

TEST(SubpartitionPriority, TakesTheNextSequenceNumberAwayFromTheDataItOvertakes) {
  Subpartition sub;
  sub.addData("a");
  sub.addData("b");
  EXPECT_EQ(sub.queue.poll()->sequenceNumber, 0);
  sub.addEvent(barrier(1, AlignmentType::kUnaligned), true);
  EXPECT_EQ(sub.notifiedPriorities(), std::vector{1});
  EXPECT_EQ(sub.queue.poll()->sequenceNumber, 1);
  EXPECT_EQ(sub.queue.poll()->sequenceNumber, 2);
}

TEST(SubpartitionPriority, TellsOnlyOfTheFirstOne) {
  Subpartition sub;
  sub.addEvent(barrier(1, AlignmentType::kUnaligned), true);
  sub.addEvent(barrier(2, AlignmentType::kUnaligned), true);
  EXPECT_EQ(sub.notifiedPriorities().size(), 1u);
}

TEST(SubpartitionPriority, PassesABlockedSubpartition) {
  Subpartition sub;
  sub.addEvent(barrier(1));
  ASSERT_TRUE(sub.queue.poll());
  sub.addData("data");
  (void)sub.notifiedPriorities();
  sub.addEvent(barrier(2, AlignmentType::kUnaligned), true);
  EXPECT_EQ(sub.notifiedPriorities().size(), 1u);
  const auto next = sub.queue.poll();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->buffer.dataType(), DataType::PRIORITIZED_EVENT_BUFFER);
  EXPECT_EQ(next->nextDataType, DataType::NONE);
  EXPECT_EQ(next->buffersInBacklog, 0);
  EXPECT_FALSE(sub.queue.poll()) << "the data stays blocked";
}

TEST(SubpartitionPriority, HandsAllDataBehindItToTheChannelStateWriterFromItsReaderPosition) {
  Subpartition sub;
  RecordingChannelStateWriter writer;
  sub.queue.setChannelStateWriter(&writer);
  BufferBuilder first = sub.open("read,");
  sub.add(first.createConsumer());
  sub.flush();
  EXPECT_EQ(polled(sub), "read,");
  first.append(asBytes("unread"));
  first.finish();
  sub.addEvent(CancelCheckpointMarker{1});
  sub.addData("b");
  sub.addEvent(barrier(5, AlignmentType::kUnaligned), true);
  EXPECT_EQ(writer.calls, std::vector<std::string>{"output 5 unread b"});
  EXPECT_EQ(sub.queue.queueLength(), 4) << "nothing is taken out";
}

struct TimeoutableBarrier : ::testing::Test {
  TimeoutableBarrier() {
    sub.queue.setChannelStateWriter(&writer);
    sub.addData("a");
    sub.addData("b");
    sub.addEvent(barrier(7, AlignmentType::kAligned, 100));
    sub.addData("c");
    (void)sub.notifiedPriorities();
  }
  bool timeOut(int64_t id) {
    NotificationBatch batch;
    return sub.queue.alignedBarrierTimeout(id, batch).has_value();
  }
  RecordingChannelStateWriter writer;
  Subpartition sub;
};

TEST_F(TimeoutableBarrier, AnnouncesThatOutputDataMayFollow) { EXPECT_EQ(writer.calls, std::vector<std::string>{"expect 7"}); }

TEST_F(TimeoutableBarrier, ThatLeavesInOrderHasNothingToStoreAndBlocks) {
  EXPECT_EQ(polled(sub), "a");
  EXPECT_EQ(polled(sub), "b");
  EXPECT_EQ(sub.queue.poll()->buffer.dataType(), DataType::TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER);
  EXPECT_EQ(writer.calls.back(), "complete 7");
  EXPECT_TRUE(sub.queue.isBlocked());
  EXPECT_FALSE(timeOut(7)) << "too late";
}

TEST_F(TimeoutableBarrier, OvertakesOnTimeoutAndStoresWhatWasInFrontOfIt) {
  EXPECT_TRUE(timeOut(7));
  EXPECT_EQ(writer.calls.back(), "complete 7 a b");
  EXPECT_EQ(sub.notifiedPriorities().size(), 1u);
  const auto first = sub.queue.poll();
  EXPECT_EQ(first->buffer.dataType(), DataType::PRIORITIZED_EVENT_BUFFER);
  const auto turned = std::get<CheckpointBarrier>(EventSerializer::decode(first->buffer.bytes()).value());
  EXPECT_EQ(turned.id, 7);
  EXPECT_TRUE(turned.options.isUnaligned());
  EXPECT_FALSE(sub.queue.isBlocked());
  EXPECT_EQ(polled(sub), "a");
  EXPECT_EQ(polled(sub), "b");
  EXPECT_EQ(polled(sub), "c");
}

TEST_F(TimeoutableBarrier, SaysWhatItPassed) {
  NotificationBatch batch;
  const auto passed = sub.queue.alignedBarrierTimeout(7, batch);
  ASSERT_TRUE(passed.has_value());
  EXPECT_EQ(passed->elements, 2);
  EXPECT_EQ(passed->bytes, 2) << "a and b, not c";
}

TEST_F(TimeoutableBarrier, IgnoresTheTimeoutOfAnotherCheckpoint) {
  EXPECT_FALSE(timeOut(6));
  EXPECT_EQ(polled(sub), "a");
}

TEST_F(TimeoutableBarrier, StaysWhenItsCheckpointIsAborted) {
  sub.queue.abortCheckpoint(7, std::make_shared<Throwable>("x", "aborted"));
  EXPECT_EQ(writer.calls.back(), "fail 7");
  EXPECT_FALSE(timeOut(7));
  EXPECT_EQ(sub.queue.queueLength(), 4);
}

TEST_F(TimeoutableBarrier, FailsTheOneBeforeItThatIsStillPending) {
  sub.addEvent(barrier(8, AlignmentType::kAligned, 100));
  EXPECT_EQ(writer.calls, (std::vector<std::string>{"expect 7", "expect 8", "fail 7"}));
  EXPECT_TRUE(timeOut(8));
  EXPECT_EQ(writer.calls.back(), "complete 8 a b c") << "barrier 7 is passed over";
}

// Else a reader on another thread could say that the barrier left in order before anybody expects it.
TEST_F(TimeoutableBarrier, IsExpectedBeforeItsReaderCanSeeIt) {
  const int32_t queued = sub.queue.queueLength();
  int32_t whenExpected = -1;
  writer.onExpect = [&] { whenExpected = sub.queue.queueLength(); };
  sub.addEvent(barrier(8, AlignmentType::kAligned, 100));
  EXPECT_EQ(whenExpected, queued);
}

TEST_F(TimeoutableBarrier, FailsOnRelease) {
  sub.queue.release();
  EXPECT_EQ(writer.calls.back(), "fail 7");
}

}  // namespace
}  // namespace weir
