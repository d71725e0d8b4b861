#include "unit/transport/transport_fixture.h"

// One remote channel, a message at a time: the traces and state tables of Flink's credit-based flow control.
namespace weir {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct RemoteChannel : ::testing::Test {
  void start(ConnectionOptions options = {}) {
    wire = std::make_unique<TestConnection>(options);
    partition = wire->producer.partition(1);
    end = &wire->connect(0);
  }
  std::optional<BufferAndBacklog> poll() { return end->receiver->poll(); }

  std::unique_ptr<TestConnection> wire;
  std::shared_ptr<ResultPartition> partition;
  RemoteEnd* end = nullptr;
};

TEST_F(RemoteChannel, AsksWithItsExclusiveBuffersAsCredit) {
  start();
  EXPECT_EQ(front<PartitionRequest>(wire->toServer).credit, 2);
  wire->settle();
  EXPECT_EQ(wire->readerOf(0).credit(), 2);
}

TEST_F(RemoteChannel, BorrowsAFloatingBufferWhileAnExclusiveOneIsInUseAndReturnsItWithoutCredit) {
  start();
  wire->settle();
  emitFull(*partition);
  partition->flushAll();
  wire->settleProducer();
  ASSERT_THAT(wire->toClient.names(), ElementsAre("BufferResponse"));
  EXPECT_EQ(front<BufferResponse>(wire->toClient).sequenceNumber, 0);
  EXPECT_EQ(wire->readerOf(0).credit(), 1);
  wire->deliverToClient();
  EXPECT_EQ(end->buffers().required(), 2) << "backlog 0 and two exclusive";
  EXPECT_EQ(end->buffers().available(), 2);
  ASSERT_THAT(wire->toServer.names(), ElementsAre("AddCredit"));
  EXPECT_EQ(front<AddCredit>(wire->toServer).credit, 1);
  wire->settle();
  EXPECT_EQ(wire->readerOf(0).credit(), 2);
  EXPECT_TRUE(end->notified());
  auto next = poll();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->buffer.size(), 64u);
  next.reset();
  EXPECT_EQ(end->buffers().available(), 2) << "the exclusive one is back, the floating one has left";
  EXPECT_EQ(end->buffers().availableFloating(), 0);
  EXPECT_THAT(wire->toServer.names(), IsEmpty());
}

TEST_F(RemoteChannel, GathersCreditUntilThereIsRoomToSendIt) {
  start();
  wire->settle();
  for (int i = 0; i < 6; ++i) emitFull(*partition);
  partition->flushAll();
  wire->settleProducer();
  wire->toServer.window = 0;  // nothing of the consumer's leaves now
  while (!wire->toClient.messages.empty()) wire->deliverToClient();
  EXPECT_THAT(wire->toServer.names(), IsEmpty());
  EXPECT_GT(end->buffers().unannouncedCredit(), 1);
  wire->toServer.window = 1000;
  wire->client.onWritable();
  EXPECT_THAT(wire->toServer.names(), ElementsAre("AddCredit"));
  EXPECT_EQ(end->buffers().unannouncedCredit(), 0);
}

TEST_F(RemoteChannel, AnEventCostsNoCredit) {
  start();
  wire->settle();
  emitFull(*partition);
  emitFull(*partition);
  partition->broadcastEvent(CancelCheckpointMarker{1});
  wire->settleProducer();
  EXPECT_THAT(wire->toClient.names(), ElementsAre("BufferResponse", "BufferResponse", "BufferResponse"));
  EXPECT_EQ(wire->readerOf(0).credit(), 0);
}

TEST_F(RemoteChannel, ABlockingBarrierSilencesTheProducerUntilItIsResumed) {
  start();
  wire->settle();
  partition->broadcastEvent(barrier(1));
  wire->settle();
  emitFull(*partition);
  partition->flushAll();
  wire->settle();
  ASSERT_TRUE(poll());
  EXPECT_FALSE(poll()) << "blocked";
  end->receiver->onResume();
  wire->client.resumeConsumption(channelId(0));
  wire->settle();
  EXPECT_TRUE(poll());
}

TEST_F(RemoteChannel, APriorityBarrierNeedsNoCreditAndPassesABlockedProducer) {
  start();
  wire->settle();
  partition->broadcastEvent(barrier(1));
  wire->settle();
  emitFull(*partition);
  partition->broadcastEvent(barrier(2, AlignmentType::kUnaligned), true);
  wire->settle();
  ASSERT_TRUE(end->notified());
  ASSERT_EQ(end->priorities.size(), 1u);
  EXPECT_EQ(end->priorities[0].sequenceNumber, 1);
  EXPECT_EQ(poll()->buffer.dataType(), DataType::PRIORITIZED_EVENT_BUFFER);
  EXPECT_EQ(poll()->buffer.dataType(), DataType::ALIGNED_CHECKPOINT_BARRIER);
  EXPECT_FALSE(poll());
}

TEST_F(RemoteChannel, AnotherPriorityBarrierFollowsTheFirstThroughABlock) {
  start();
  wire->settle();
  partition->broadcastEvent(barrier(1));
  wire->settle();
  partition->broadcastEvent(barrier(2, AlignmentType::kUnaligned), true);
  partition->broadcastEvent(barrier(3, AlignmentType::kUnaligned), true);
  wire->settle();
  EXPECT_EQ(end->receiver->queueLength(), 3);
}

TEST_F(RemoteChannel, AGapInTheNumbersFailsTheChannel) {
  start();
  wire->settle();
  wire->client.onSentMessage(BufferResponse{channelId(0), 1, 0, eventBuffer(EndOfData{})});
  EXPECT_THAT(failureOf(*end), HasSubstr("Buffer re-ordering: expected buffer with sequence number 0, but received 1."));
  EXPECT_TRUE(end->notified()) << "the task looks, and fails";
}

TEST_F(RemoteChannel, DataWithoutCreditFailsTheChannel) {
  start();
  wire->settle();
  for (int i = 0; i < 20; ++i)
    wire->client.onSentMessage(BufferResponse{channelId(0), i, 0, Buffer::copyOf(asBytes("abc"), DataType::DATA_BUFFER)});
  EXPECT_THAT(failureOf(*end), HasSubstr("its sender had no credit for it"));
}

TEST_F(RemoteChannel, ABlockingEventWithBacklogFailsTheChannel) {
  start();
  wire->settle();
  wire->client.onSentMessage(BufferResponse{channelId(0), 0, 3, eventBuffer(barrier(1))});
  EXPECT_THAT(failureOf(*end), HasSubstr("came with a backlog of 3"));
}

TEST_F(RemoteChannel, MessagesForAChannelThatIsGoneAreDroppedAndItsProducerIsToldOnce) {
  start();
  wire->settle();
  end->receiver->release();
  for (int i = 0; i < 3; ++i)
    wire->client.onSentMessage(BufferResponse{channelId(0), i, 0, Buffer::copyOf(asBytes("abc"), DataType::DATA_BUFFER)});
  wire->client.cancelRequest(channelId(0));
  EXPECT_THAT(wire->toServer.names(), ElementsAre("CancelPartitionRequest"));
  wire->settle();
  EXPECT_EQ(wire->server.queue().readers(), 0u);
  EXPECT_FALSE(wire->server.failed());
}

TEST_F(RemoteChannel, ATimeoutableBarrierIsAnnouncedAheadOfTheDataAndCanBeMovedAheadItself) {
  start();
  wire->settle();
  emitFull(*partition, 0, 'a');
  partition->broadcastEvent(barrier(7, AlignmentType::kAligned, 100));
  wire->settle();
  (void)end->notified();
  ASSERT_EQ(end->priorities.size(), 1u);
  const auto announcement = poll();
  const auto event = EventSerializer::decode(announcement->buffer.bytes());
  ASSERT_TRUE(event.has_value());
  const auto& announced = std::get<EventAnnouncement>(*event);
  EXPECT_EQ(announced.announced.id, 7);
  EXPECT_EQ(announced.sequenceNumber, 1);
  EXPECT_EQ(announcement->sequenceNumber, 1);
  end->receiver->convertToPriorityEvent(1);
  (void)end->notified();
  ASSERT_EQ(end->priorities.size(), 1u);
  EXPECT_TRUE(end->priorities[0].forced);
  const auto moved = poll();
  EXPECT_EQ(moved->buffer.dataType(), DataType::PRIORITIZED_EVENT_BUFFER);
  EXPECT_EQ(moved->sequenceNumber, 1);
  const auto decoded = EventSerializer::decode(moved->buffer.bytes());
  EXPECT_EQ(std::get<CheckpointBarrier>(*decoded).options.alignment, AlignmentType::kAligned) << "its options stay";
  EXPECT_EQ(asText(poll()->buffer), std::string(64, 'a'));
  EXPECT_FALSE(poll());
}

// ---- in-flight data
// -----------------------------------------------------------------------------------------------------------------------

struct InFlight : RemoteChannel {
  void start() {
    wire = std::make_unique<TestConnection>();
    partition = wire->producer.partition(1);
    end = &wire->connect(0, 0, writer);
    wire->settle();
  }
  void emit(char c) {
    partition->emitRecord(asBytes(std::string(1, c)), 0);
    partition->flushAll();
    wire->settle();
  }
  std::shared_ptr<RecordingChannelStateWriter> writer = std::make_shared<RecordingChannelStateWriter>();
};

TEST_F(InFlight, WhatIsQueuedAndWhatComesBeforeTheBarrierIsStored) {
  start();
  emit('a');
  emit('b');
  end->receiver->checkpointStarted(barrier(4));
  emit('c');
  partition->broadcastEvent(barrier(4, AlignmentType::kUnaligned), true);
  wire->settle();
  emit('d');
  EXPECT_THAT(writer->calls, ElementsAre("input 4 0 a b", "input 4 0 c"));
}

TEST_F(InFlight, WhereTheBarrierHasComeOnlyTheDataInFrontOfIt) {
  start();
  emit('a');
  partition->broadcastEvent(barrier(4));
  wire->settle();
  end->receiver->onResume();
  wire->client.resumeConsumption(channelId(0));
  wire->settle();
  emit('b');
  end->receiver->checkpointStarted(barrier(4));
  emit('c');
  EXPECT_THAT(writer->calls, ElementsAre("input 4 0 a"));
}

TEST_F(InFlight, WhatArrivesWhileTheQueueIsHandedOverFollowsItOnce) {
  start();
  emit('a');
  emit('b');
  writer->onInput = [this] { emit('c'); };
  end->receiver->checkpointStarted(barrier(4));
  emit('d');
  EXPECT_THAT(writer->calls, ElementsAre("input 4 0 a b", "input 4 0 c", "input 4 0 d"));
}

TEST_F(InFlight, ABarrierThatArrivesMeanwhileEndsIt) {
  start();
  emit('a');
  writer->onInput = [this] {
    emit('b');
    partition->broadcastEvent(barrier(4, AlignmentType::kUnaligned), true);
    wire->settle();
    emit('c');
  };
  end->receiver->checkpointStarted(barrier(4));
  emit('d');
  EXPECT_THAT(writer->calls, ElementsAre("input 4 0 a", "input 4 0 b"));
}

TEST_F(InFlight, AnOlderCheckpointThanTheBarrierIsSubsumed) {
  start();
  partition->broadcastEvent(barrier(4));
  wire->settle();
  EXPECT_THROW(end->receiver->checkpointStarted(barrier(3)), Throwable);
}

TEST_F(InFlight, ANewerCheckpointForgetsTheBarrierBefore) {
  start();
  emit('a');
  partition->broadcastEvent(barrier(4));
  wire->settle();
  end->receiver->checkpointStarted(barrier(5));
  EXPECT_THAT(writer->calls, ElementsAre("input 5 0 a"));
}

TEST_F(InFlight, AStoppedCheckpointStoresNothingMore) {
  start();
  end->receiver->checkpointStarted(barrier(4));
  end->receiver->checkpointStopped(4);
  emit('a');
  EXPECT_THAT(writer->calls, IsEmpty());
}

// ---- no exclusive buffers --------------------------------------------------------------------------------------------------------------

struct NoExclusive : RemoteChannel {
  void start() {
    wire = std::make_unique<TestConnection>(ConnectionOptions{.exclusive = 0});
    partition = ResultPartition::create(
        {.id = partitionId(0), .owningTask = "producer", .subpartitions = 1, .forwardsEmptyBuffers = true});
    partition->setup(wire->producer.context,
                     wire->producer.network->createBufferPool(LocalBufferPoolOptions::forResultPartition(1)).value());
    wire->producer.manager->registerResultPartition(partition);
    wire->producer.partitions.push_back(partition);
    end = &wire->connect(0);
    wire->settle();
  }
};

TEST_F(NoExclusive, TheProducerTellsItsBacklogAndGetsCreditForIt) {
  start();
  emitFull(*partition);
  emitFull(*partition);
  wire->settleProducer();
  ASSERT_THAT(wire->toClient.names(), ElementsAre("BacklogAnnouncement"));
  EXPECT_EQ(front<BacklogAnnouncement>(wire->toClient).backlog, 1) << "without the last one, which may grow";
  wire->deliverToClient();
  EXPECT_EQ(front<AddCredit>(wire->toServer).credit, 1);
  wire->settle();
  EXPECT_TRUE(poll());
  EXPECT_FALSE(poll());
  partition->flushAll();
  wire->settle();
  EXPECT_TRUE(poll());
}

TEST_F(NoExclusive, ABlockingEventReturnsTheBuffersAndResumptionVoidsTheCreditOnBothSides) {
  start();
  wire->client.onMessage(BacklogAnnouncement{channelId(0), 3});  // of data that a flush has merged meanwhile
  wire->settle();
  const int32_t credit = wire->readerOf(0).credit();
  EXPECT_GE(credit, 1);
  partition->broadcastEvent(barrier(1));
  wire->settle();
  EXPECT_EQ(end->buffers().available(), 0);
  EXPECT_EQ(wire->readerOf(0).credit(), credit);
  end->receiver->onResume();
  wire->client.resumeConsumption(channelId(0));
  wire->settle();
  EXPECT_EQ(wire->readerOf(0).credit(), 0);
  EXPECT_EQ(end->buffers().unannouncedCredit(), 0);
  emitFull(*partition);
  partition->flushAll();
  wire->settle();
  EXPECT_TRUE(poll()) << "barrier";
  EXPECT_TRUE(poll()) << "and what came after it";
}

}  // namespace
}  // namespace weir
