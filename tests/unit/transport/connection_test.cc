#include "unit/transport/transport_fixture.h"

// Partitions that are not there, peers that misbehave, and readers in turn.
namespace weir {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- partitions that are not there -----------------------------------------------------------------------------------------------------

TEST(PartitionRequests, WaitForAPartitionThatComesLater) {
  TestConnection wire;
  wire.connect(0);
  wire.settle();
  EXPECT_THAT(wire.waiting, ElementsAre(channelId(0)));
  const auto partition = wire.producer.partition(1);
  ASSERT_THAT(wire.registered, ElementsAre(channelId(0)));
  wire.server.registered(channelId(0));
  emitFull(*partition);
  partition->flushAll();
  wire.settle();
  EXPECT_TRUE(wire.ends[0]->receiver->poll());
}

TEST(PartitionRequests, AreAskedForOnceMoreAndThenFail) {
  TestConnection wire;
  RemoteEnd& end = wire.connect(0);
  wire.settle();
  EXPECT_TRUE(wire.server.expire(channelId(0)));
  wire.settle();
  EXPECT_EQ(failureOf(end), "");
  EXPECT_EQ(wire.server.waiting(), 1u) << "asked for again at once";
  EXPECT_TRUE(wire.server.expire(channelId(0)));
  wire.settle();
  EXPECT_THAT(failureOf(end), HasSubstr("PartitionNotFoundException: Partition "));
}

TEST(PartitionRequests, OfATaskThatIsGoneAreForgotten) {
  TestConnection wire;
  RemoteEnd& end = wire.connect(0);
  wire.settle();
  end.receiver->release();
  wire.client.cancelRequest(channelId(0));
  wire.settle();
  EXPECT_EQ(wire.producer.manager->awaited(), 0u);
  EXPECT_FALSE(wire.server.expire(channelId(0)));
}

TEST(PartitionRequests, AFailedProducerIsAnErrorOfItsChannelAlone) {
  TestConnection wire;
  const auto partition = wire.producer.partition(2);
  RemoteEnd& first = wire.connect(0);
  wire.connect(1);
  wire.settle();
  emitFull(*partition, 0);
  partition->flushAll();
  partition->release(std::make_shared<Throwable>("x.Boom", "boom"));
  wire.settle();
  EXPECT_THAT(failureOf(first), HasSubstr("RemoteTransportException: Error at remote task manager 'tm1'."));
  EXPECT_THAT(failureOf(first), HasSubstr("ProducerFailedException"));
  EXPECT_THAT(failureOf(first), HasSubstr("x.Boom: boom"));
  EXPECT_EQ(failureOf(*wire.ends[1]), "");
}

// ---- peers that misbehave --------------------------------------------------------------------------------------------------------------

TEST(BadPeer, AMessageThatMakesNoSenseBreaksTheConnectionForAll) {
  const std::vector<NetworkMessage> wrong = {AddCredit{channelId(9), 1},         AddCredit{channelId(0), 0},
                                             AddCredit{channelId(0), -5},        ResumeConsumption{channelId(0)},
                                             ResumeConsumption{channelId(9)},    AckAllUserRecordsProcessed{channelId(9)},
                                             BacklogAnnouncement{channelId(0), 1}, PartitionRequest{partitionId(0), 7, channelId(3), 1},
                                             PartitionRequest{partitionId(0), 1, channelId(3), -1},
                                             PartitionRequest{partitionId(0), 1, channelId(3), 1, 1},
                                             PartitionRequest{partitionId(0), 0, channelId(3), 1}};
  for (size_t i = 0; i < wrong.size(); ++i) {
    TestConnection wire;
    wire.producer.partition(2);
    RemoteEnd& end = wire.connect(0);
    wire.settle();
    wire.server.onMessage(wrong[i]);
    EXPECT_TRUE(wire.server.failed()) << i;
    wire.settle();
    EXPECT_THAT(failureOf(end), HasSubstr("Fatal error at remote task manager 'tm1'.")) << i;
    EXPECT_TRUE(wire.client.failed());
  }
}

TEST(BadPeer, NewsForAReceiverThatIsGoneIsIgnored) {
  TestConnection wire;
  wire.producer.partition(1);
  wire.server.onMessage(NewBufferSize{channelId(9), 100});
  wire.server.onMessage(CancelPartitionRequest{channelId(9)});
  EXPECT_FALSE(wire.server.failed());
}

TEST(BadPeer, AProducerThatTalksLikeAConsumerBreaksTheConnection) {
  TestConnection wire;
  wire.producer.partition(1);
  RemoteEnd& end = wire.connect(0);
  wire.client.onMessage(AddCredit{channelId(0), 1});
  EXPECT_THAT(failureOf(end), HasSubstr("Received unknown message from the producer: AddCredit."));
}

TEST(BadPeer, ALostConnectionIsAnErrorOfAllChannels) {
  TestConnection wire;
  wire.producer.partition(1);
  RemoteEnd& end = wire.connect(0);
  wire.client.onClosed({ConnectionEnded::Why::kClosed});
  EXPECT_THAT(failureOf(end), HasSubstr("Connection unexpectedly closed by remote task manager 'tm1'. This might indicate that the remote "
                                        "task manager was lost."));
  RemoteEnd& late = wire.connect(0);
  EXPECT_THAT(failureOf(late), HasSubstr("Connection unexpectedly closed")) << "who asks later is told as well";
}

// ---- turns -----------------------------------------------------------------------------------------------------------------------------

TEST(RequestQueue, ReadersSendABufferEachInTurnAsThereIsRoom) {
  TestConnection wire({.exclusive = 4});
  const auto partition = wire.producer.partition(3);
  for (uint32_t i = 0; i < 3; ++i) wire.connect(i);
  wire.settle();
  wire.toClient.window = 1;
  for (uint32_t i = 0; i < 3; ++i) {
    emitFull(*partition, i);
    emitFull(*partition, i);
  }
  partition->flushAll();
  wire.settleProducer();
  std::vector<int32_t> order;
  while (!wire.toClient.messages.empty()) {
    ASSERT_EQ(wire.toClient.messages.size(), 1u) << "one at a time";
    const auto receiver = front<BufferResponse>(wire.toClient).receiver;
    for (int32_t c = 0; c < 3; ++c)
      if (receiver == channelId(c)) order.push_back(c);
    wire.deliverToClient();
  }
  ASSERT_EQ(order.size(), 6u);
  EXPECT_THAT((std::vector<int32_t>(order.begin() + 1, order.begin() + 4)), ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST(RequestQueue, ABufferSizeReachesTheProducer) {
  TestConnection wire;
  const auto partition = wire.producer.partition(1);
  wire.connect(0);
  wire.settle();
  wire.client.notifyNewBufferSize(channelId(0), 300);
  wire.settle();
  EXPECT_EQ(partition->subpartition(0).desiredBufferSize(), 300);
}

TEST(RequestQueue, TheEndOfAllRecordsReachesTheProducer) {
  TestConnection wire;
  const auto partition = wire.producer.partition(1);
  wire.connect(0);
  wire.settle();
  wire.client.acknowledgeAllRecordsProcessed(channelId(0));
  wire.settle();
  EXPECT_TRUE(partition->isAllDataProcessed());
}

}  // namespace
}  // namespace weir
