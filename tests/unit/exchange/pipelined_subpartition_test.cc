#include "weir/exchange/pipelined_subpartition.h"

#include <gtest/gtest.h>

#include "unit/exchange/exchange_fixture.h"

// The rows of the state table of a pipelined subpartition (network-stack.md 19.3), a test each.
namespace weir {
namespace {

using namespace testing;

// ---- add ------------------------------------------------------------------------------------------------------------------------------

TEST(SubpartitionAdd, AfterFinishIsDropped) {
  Subpartition sub;
  sub.finish();
  EXPECT_EQ(sub.addData("late"), PipelinedSubpartition::kDropped);
  EXPECT_EQ(sub.queue.queueLength(), 1);
}

TEST(SubpartitionAdd, AfterReleaseIsDropped) {
  Subpartition sub;
  sub.queue.release();
  EXPECT_EQ(sub.addData("late"), PipelinedSubpartition::kDropped);
  EXPECT_EQ(sub.queue.queueLength(), 0);
}

TEST(SubpartitionAdd, AnUnfinishedFirstBufferTellsNobody) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  EXPECT_EQ(sub.notified(), 0);
}

TEST(SubpartitionAdd, AFinishedFirstBufferIsTold) {
  Subpartition sub;
  sub.addData("a");
  EXPECT_EQ(sub.notified(), 1);
}

TEST(SubpartitionAdd, TheSecondBufferTellsOfTheFirstAndTheThirdOfNone) {
  Subpartition sub;
  BufferBuilder first = sub.open("a");
  sub.add(first.createConsumer());
  first.finish();
  EXPECT_EQ(sub.notified(), 0);
  BufferBuilder second = sub.open("b");
  sub.add(second.createConsumer());
  second.finish();
  EXPECT_EQ(sub.notified(), 1);
  sub.addData("c");
  EXPECT_EQ(sub.notified(), 0);
}

TEST(SubpartitionAdd, WhileAFlushIsRequestedTellsNobody) {
  Subpartition sub;
  BufferBuilder first = sub.open("a");
  sub.add(first.createConsumer());
  sub.flush();
  EXPECT_EQ(sub.notified(), 1);
  first.finish();
  sub.addData("b");
  EXPECT_EQ(sub.notified(), 0);
}

TEST(SubpartitionAdd, WhileBlockedTellsNobody) {
  Subpartition sub;
  sub.addEvent(barrier(1));
  ASSERT_TRUE(sub.queue.poll());
  (void)sub.notified();
  sub.addData("a");
  EXPECT_EQ(sub.notified(), 0);
}

TEST(SubpartitionAdd, AnEventCountsAsFinishedButNotAsBacklog) {
  Subpartition sub;
  sub.addEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(sub.notified(), 1);
  EXPECT_EQ(sub.queue.backlog(), 0);
  sub.addData("a");
  EXPECT_EQ(sub.queue.backlog(), 0) << "the last one is data, and not counted before it is flushed or followed";
  sub.addEvent(CancelCheckpointMarker{2});
  EXPECT_EQ(sub.queue.backlog(), 1);
}

TEST(SubpartitionAdd, ReturnsTheSizeThatTheReaderWants) {
  Subpartition sub;
  sub.queue.setDesiredBufferSize(4096);
  EXPECT_EQ(sub.addData("a"), 4096);
}

TEST(SubpartitionAdd, WithoutAReaderIsToldWhenOneComes) {
  Subpartition sub(false);
  sub.addData("a");
  EXPECT_EQ(sub.notified(), 0);
  sub.attach();
  EXPECT_EQ(sub.notified(), 1);
}

// ---- finish and flush -----------------------------------------------------------------------------------------------------------------

TEST(SubpartitionFinish, AlwaysTellsAndNothingFollows) {
  Subpartition sub;
  sub.addData("a");
  sub.addData("b");
  (void)sub.notified();
  sub.finish();
  EXPECT_EQ(sub.notified(), 1);
  EXPECT_EQ(polled(sub), "a");
  EXPECT_EQ(polled(sub), "b");
  const auto end = sub.queue.poll();
  EXPECT_EQ(end->buffer.dataType(), DataType::END_OF_PARTITION);
  EXPECT_EQ(end->nextDataType, DataType::NONE);
}

TEST(SubpartitionFlush, OfAnEmptyOneDoesNothing) {
  Subpartition sub;
  sub.flush();
  EXPECT_EQ(sub.notified(), 0);
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  EXPECT_FALSE(sub.queue.isAvailable(true)) << "no request is left over";
}

TEST(SubpartitionFlush, OfOneBufferWithUnreadBytesTells) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(sub.notified(), 1);
  EXPECT_TRUE(sub.queue.isAvailable(true));
  EXPECT_EQ(sub.queue.backlog(), 1) << "it will be sent, so it counts";
}

TEST(SubpartitionFlush, OfOneBufferWithoutUnreadBytesDoesNothing) {
  Subpartition sub;
  BufferBuilder builder = sub.open();
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(sub.notified(), 0);
  EXPECT_FALSE(sub.queue.isAvailable(true));
}

TEST(SubpartitionFlush, OfSeveralBuffersOnlyNotesItDown) {
  Subpartition sub;
  sub.addData("a");
  BufferBuilder builder = sub.open("b");
  sub.add(builder.createConsumer());
  (void)sub.notified();
  sub.flush();
  EXPECT_EQ(sub.notified(), 0) << "the reader knows of the first one already";
  EXPECT_EQ(polled(sub), "a");
  const auto last = sub.queue.poll();
  EXPECT_EQ(asText(last->buffer), "b");
  EXPECT_EQ(last->nextDataType, DataType::NONE);
}

TEST(SubpartitionFlush, AgainBeforeAPollTellsNoSecondTime) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  sub.flush();
  std::vector<uint32_t> data;
  sub.ready->drain(data, sub.priorities);
  EXPECT_EQ(data.size(), 1u);
  sub.flush();
  EXPECT_EQ(sub.notified(), 0);
}

TEST(SubpartitionFlush, WhileBlockedIsRememberedWithoutTelling) {
  Subpartition sub;
  sub.addEvent(barrier(1));
  ASSERT_TRUE(sub.queue.poll());
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  (void)sub.notified();
  sub.flush();
  EXPECT_EQ(sub.notified(), 0);
  EXPECT_FALSE(sub.queue.isAvailable(true));
  sub.queue.resumeConsumption();
  EXPECT_TRUE(sub.queue.isAvailable(true));
}

TEST(SubpartitionFlush, WorksAgainAfterThePoll) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(polled(sub), "a");
  (void)sub.notified();
  builder.append(asBytes("b"));
  sub.flush();
  EXPECT_EQ(sub.notified(), 1);
  EXPECT_EQ(polled(sub), "b");
}

// ---- poll -----------------------------------------------------------------------------------------------------------------------------

TEST(SubpartitionPoll, WhileBlockedGivesNothing) {
  Subpartition sub;
  sub.addEvent(barrier(1));
  sub.addData("a");
  ASSERT_TRUE(sub.queue.poll());
  EXPECT_TRUE(sub.queue.isBlocked());
  EXPECT_FALSE(sub.queue.poll());
}

TEST(SubpartitionPoll, OfAnEmptyUnfinishedHeadGivesNothingAndForgetsTheFlush) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(polled(sub), "a");
  sub.queue.poll();
  EXPECT_FALSE(sub.queue.isAvailable(true));
  EXPECT_FALSE(sub.queue.poll());
}

TEST(SubpartitionPoll, HandsOutAnUnfinishedHeadEvenWithoutAFlush) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  EXPECT_EQ(polled(sub), "a");
}

TEST(SubpartitionPoll, SkipsAFinishedHeadWithNothingLeft) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(polled(sub), "a");
  builder.finish();
  sub.addEvent(CancelCheckpointMarker{1});
  const auto next = sub.queue.poll();
  EXPECT_EQ(next->buffer.dataType(), DataType::EVENT_BUFFER);
  EXPECT_EQ(next->sequenceNumber, 1) << "the skipped one takes no number";
  EXPECT_EQ(sub.queue.backlog(), 0);
}

TEST(SubpartitionPoll, WithZeroExclusiveBuffersHandsOutTheEmptyRest) {
  Subpartition sub;
  sub.queue.init({0, 3}, true);
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(polled(sub), "a");
  builder.finish();
  sub.addEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(polled(sub), "");
  EXPECT_EQ(sub.queue.poll()->sequenceNumber, 2);
}

TEST(SubpartitionPoll, ABlockingEventReportsNoBacklogAndNoNextAlthoughDataFollows) {
  for (const RuntimeEvent& event : {RuntimeEvent(barrier(1)), RuntimeEvent(barrier(1, AlignmentType::kAligned, 100)),
                                    RuntimeEvent(EndOfChannelState{}), RuntimeEvent(WatermarkEvent{"w", true, int64_t{1}})}) {
    Subpartition sub;
    sub.addEvent(event);
    sub.addData("a");
    sub.addData("b");
    const auto next = sub.queue.poll();
    EXPECT_EQ(next->buffersInBacklog, 0) << toString(event);
    EXPECT_EQ(next->nextDataType, DataType::NONE) << toString(event);
    EXPECT_TRUE(sub.queue.isBlocked()) << toString(event);
  }
}

TEST(SubpartitionPoll, OtherEventsDoNotBlock) {
  for (const RuntimeEvent& event : {RuntimeEvent(barrier(1, AlignmentType::kAtLeastOnce)), RuntimeEvent(CancelCheckpointMarker{1}),
                                    RuntimeEvent(EndOfData{}), RuntimeEvent(WatermarkEvent{"w", false, int64_t{1}})}) {
    Subpartition sub;
    sub.addEvent(event);
    sub.addData("a");
    EXPECT_EQ(sub.queue.poll()->nextDataType, DataType::DATA_BUFFER) << toString(event);
  }
}

TEST(SubpartitionPoll, CountsTheBacklogBehindTheBufferAndNotItsUnfinishedTail) {
  Subpartition sub;
  sub.addData("a");
  sub.addData("b");
  BufferBuilder builder = sub.open("c");
  sub.add(builder.createConsumer());
  const auto a = sub.queue.poll();
  EXPECT_EQ(a->buffersInBacklog, 1);
  EXPECT_EQ(a->nextDataType, DataType::DATA_BUFFER);
  const auto b = sub.queue.poll();
  EXPECT_EQ(b->buffersInBacklog, 0);
  EXPECT_EQ(b->nextDataType, DataType::NONE);
}

TEST(SubpartitionPoll, ASliceOfAnUnfinishedBufferLeavesItInTheBacklogCounter) {
  Subpartition sub;
  BufferBuilder builder = sub.open("a");
  sub.add(builder.createConsumer());
  sub.flush();
  EXPECT_EQ(polled(sub), "a");
  builder.finish();
  sub.addEvent(CancelCheckpointMarker{1});
  EXPECT_EQ(sub.queue.backlog(), 1);
}

// ---- resume, availability, release ----------------------------------------------------------------------------------------------------

TEST(SubpartitionResume, OfOneThatIsNotBlockedIsABug) {
  Subpartition sub;
  EXPECT_DEATH(sub.queue.resumeConsumption(), "not blocked");
}

TEST(SubpartitionResume, LeavesItToTheReaderToLookAgain) {
  Subpartition sub;
  sub.addEvent(barrier(1));
  ASSERT_TRUE(sub.queue.poll());
  sub.addData("a");
  (void)sub.notified();
  sub.queue.resumeConsumption();
  EXPECT_EQ(sub.notified(), 0);
  EXPECT_TRUE(sub.queue.isAvailable(true));
  EXPECT_EQ(polled(sub), "a");
}

TEST(SubpartitionAvailability, WithoutCreditIsThatOfAnEventAtTheHeadEvenWhileBlocked) {
  Subpartition sub;
  sub.addData("a");
  EXPECT_FALSE(sub.queue.isAvailable(false));
  EXPECT_EQ(polled(sub), "a");
  sub.addEvent(barrier(1));
  EXPECT_TRUE(sub.queue.isAvailable(false));
  ASSERT_TRUE(sub.queue.poll());
  sub.addEvent(CancelCheckpointMarker{2});
  EXPECT_TRUE(sub.queue.isAvailable(false));
  EXPECT_FALSE(sub.queue.isAvailable(true));
}

TEST(SubpartitionRelease, LetsGoOfAllBuffersButNotOfThoseThatWereHandedOut) {
  Subpartition sub;
  BufferBuilder builder = sub.open("ab");
  builder.retain(1);  // watches the memory
  BufferConsumer consumer = builder.createConsumer();
  MemorySegment* memory = consumer.peek().segment();
  sub.add(std::move(consumer));
  builder.finish();
  sub.addData("c");
  auto polledBuffer = sub.queue.poll();
  EXPECT_EQ(memory->references(), 2u);
  sub.queue.release();
  EXPECT_EQ(memory->references(), 2u);
  polledBuffer.reset();
  EXPECT_EQ(memory->references(), 1u);
  memory->release();
  EXPECT_EQ(sub.queue.queueLength(), 0);
  EXPECT_FALSE(sub.queue.poll());
}

TEST(SubpartitionRelease, LetsGoOfEveryBufferThatWasNotReadToItsEnd) {
  Subpartition sub;
  std::vector<MemorySegment*> memory;
  for (const char* text : {"half read", "not read", "not read either"}) {
    BufferBuilder builder = sub.open(text);
    memory.push_back(builder.retain(1));  // watches the memory
    sub.add(builder.createConsumer());
    if (memory.size() == 1) {
      sub.flush();
      EXPECT_EQ(polled(sub), "half read");
      builder.append(asBytes("!"));
    }
  }
  sub.queue.release();
  EXPECT_EQ(sub.queue.queueLength(), 0);
  for (MemorySegment* segment : memory) {
    EXPECT_EQ(segment->references(), 1u);
    segment->release();
  }
}

TEST(Subpartition, KeepsInTwoCacheLinesWhatTravelsWithABarrier) { EXPECT_EQ(sizeof(PipelinedSubpartition), 3 * 64u); }

}  // namespace
}  // namespace weir
