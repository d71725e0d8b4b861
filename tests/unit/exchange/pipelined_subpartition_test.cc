#include "weir/exchange/pipelined_subpartition.h"

#include <gtest/gtest.h>

#include "unit/exchange/exchange_fixture.h"

// The rows of the state table of a pipelined subpartition (network-stack.md 19.3), a test each.
namespace weir {
namespace {

using namespace testing;

std::string polled(Subpartition& sub) {
  const auto next = sub.queue.poll();
  return next ? asText(next->buffer) : "nothing";
}

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

// ---- priority -------------------------------------------------------------------------------------------------------------------------

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

// ---- timeoutable barriers -------------------------------------------------------------------------------------------------------------

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
    return sub.queue.alignedBarrierTimeout(id, batch);
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

// ---- the deque itself -----------------------------------------------------------------------------------------------------------------

TEST(PrioritizedDeque, KeepsOrderAcrossGrowthAndWrapping) {
  PrioritizedDeque<int> deque;
  std::deque<int> model;
  size_t priority = 0;
  Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t what = random.below(10);
    if (what < 4) {
      deque.pushBack(i);
      model.push_back(i);
    } else if (what < 6) {
      deque.pushPriority(i);
      model.insert(model.begin() + priority++, i);
    } else if (!model.empty() && what < 9) {
      ASSERT_EQ(deque.popFront(), model.front());
      model.pop_front();
      if (priority > 0) --priority;
    } else if (!model.empty()) {
      const auto at = random.below(model.size());
      ASSERT_EQ(deque.remove(at), model[at]);
      model.erase(model.begin() + at);
      if (at < priority) --priority;
    }
    ASSERT_EQ(deque.size(), model.size());
    ASSERT_EQ(deque.prioritySize(), priority);
    for (size_t k = 0; k < model.size(); ++k) ASSERT_EQ(deque.at(k), model[k]);
  }
}

TEST(PrioritizedDeque, WithRoomForOneElementFitsACacheLine) { EXPECT_LE(sizeof(PrioritizedDeque<BufferConsumer>), 64u); }

TEST(PrioritizedDeque, GrowsFromItsOneElement) {
  PrioritizedDeque<int> queue;
  queue.pushBack(1);
  queue.pushPriority(0);
  for (int i = 2; i < 9; ++i) queue.pushBack(i);
  PrioritizedDeque<int> moved(std::move(queue));
  for (int i = 0; i < 9; ++i) EXPECT_EQ(moved.popFront(), i);
  EXPECT_TRUE(moved.empty());
}

TEST(Subpartition, KeepsInTwoCacheLinesWhatTravelsWithABarrier) { EXPECT_EQ(sizeof(PipelinedSubpartition), 3 * 64u); }

}  // namespace
}  // namespace weir
