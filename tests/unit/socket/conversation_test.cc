#include <sys/resource.h>

#include <atomic>

#include "unit/socket/socket_fixture.h"

// What two TaskManagers say to each other over sockets, and how their connections begin and end.
namespace weir {
namespace {

using namespace testing;
using ::testing::HasSubstr;

struct SocketConversation : SocketTest {};

TEST_F(SocketConversation, DataAndEventsArriveInOrderFarBeyondTheFirstCredit) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connect("tm1");
    for (int i = 0; i < 200; ++i) {
      emitFull(*partition, 0, static_cast<char>('a' + i % 26));
      if (i % 50 == 49) partition->broadcastEvent(CancelCheckpointMarker{i});
      partition->flushAll();
      EXPECT_EQ(asText(next(end).buffer), std::string(64, static_cast<char>('a' + i % 26)));
      if (i % 50 == 49) {
        EXPECT_EQ(next(end).buffer.dataType(), DataType::EVENT_BUFFER);
      }
    }
  });
}

TEST_F(SocketConversation, PayloadArrivesInASegmentOfTheConsumerAndLeavesThatOfTheProducer) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connect("tm1");
    partition->emitRecord(asBytes("short"), 0);
    partition->flushAll();
    const BufferAndBacklog got = next(end);
    EXPECT_EQ(got.buffer.size(), 5u);
    EXPECT_EQ(got.buffer.segment()->capacity(), kSegment) << "no copy made for it";
    EXPECT_EQ(got.buffer.offset(), 0u);
    partition->broadcastEvent(CancelCheckpointMarker{1});  // nothing more is written into it
    awaitUntil("the producer has its segment back", [&] { return partition->queuedBuffers() == 0; });
  });
}

TEST_F(SocketConversation, AChannelWithoutExclusiveBuffersHearsOfABacklog) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connect("tm1", 0, 0, 0);
    for (int i = 0; i < 5; ++i) emitFull(*partition);
    partition->flushAll();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(next(end).buffer.size(), 64u);
  });
}

TEST_F(SocketConversation, AllChannelsOfATaskManagerShareOneConnection) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(20);
    for (uint32_t i = 0; i < 20; ++i) connect("tm1", i);
    for (uint32_t i = 0; i < 20; ++i) emitFull(*partition, i, static_cast<char>('a' + i));
    partition->flushAll();
    for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(asText(next(*channels[i]).buffer), std::string(64, static_cast<char>('a' + i)));
    EXPECT_EQ(tm2->openEnds(), 1u);
    EXPECT_EQ(tm1->openEnds(), 1u);
  });
}

TEST_F(SocketConversation, EveryMessageOfAConsumerIsUnderstood) {
  requestTimeout = Millis(20);
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(2);
    RawPeer peer = connectRaw();
    peer.send(PartitionRequest{partitionId(0), 0, channelId(1), 1});
    for (int i = 0; i < 3; ++i) emitFull(*partition);
    partition->flushAll();
    EXPECT_EQ(peer.readAs<BufferResponse>().sequenceNumber, 0);
    peer.send(AddCredit{channelId(1), 2});
    EXPECT_EQ(peer.readAs<BufferResponse>().backlog, 1);
    EXPECT_EQ(peer.readAs<BufferResponse>().sequenceNumber, 2);

    partition->broadcastEvent(barrier(7));
    EXPECT_EQ(peer.readAs<BufferResponse>().buffer.dataType(), DataType::ALIGNED_CHECKPOINT_BARRIER);
    partition->broadcastEvent(CancelCheckpointMarker{7});
    peer.send(ResumeConsumption{channelId(1)});
    EXPECT_EQ(peer.readAs<BufferResponse>().buffer.dataType(), DataType::EVENT_BUFFER) << "it was blocked until then";

    peer.send(NewBufferSize{channelId(1), 300});
    awaitUntil("the buffer size is known", [&] { return partition->subpartition(0).desiredBufferSize() == 300; });

    peer.send(PartitionRequest{partitionId(0), 1, channelId(2), 1});
    (void)peer.readAs<BufferResponse>();
    const auto other = producer.partition(1);
    peer.send(PartitionRequest{partitionId(1), 0, channelId(4), 0});
    emitFull(*other);
    other->flushAll();
    EXPECT_EQ(peer.readAs<BacklogAnnouncement>().backlog, 1) << "without credit";

    peer.send(AckAllUserRecordsProcessed{channelId(1)});
    peer.send(AckAllUserRecordsProcessed{channelId(2)});
    awaitUntil("all records are acknowledged", [&] { return partition->isAllDataProcessed(); });

    peer.send(CancelPartitionRequest{channelId(2)});
    peer.send(PartitionRequest{partitionId(9), 0, channelId(3), 2});
    EXPECT_THAT(peer.readUntil<ErrorResponse>().cause->trace(), HasSubstr("PartitionNotFoundException"));
    peer.send(CloseRequest{});
    EXPECT_FALSE(peer.read()) << "it has closed";
    awaitUntil("the end of the connection is gone", [&] { return tm1->openEnds() == 0; });
  });
}

TEST_F(SocketConversation, EveryMessageMayComeByteByByte) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    RawPeer peer = connectRaw();
    peer.sendByteByByte(PartitionRequest{partitionId(0), 0, channelId(1), 1});
    emitFull(*partition);
    emitFull(*partition);
    partition->flushAll();
    EXPECT_EQ(peer.readAs<BufferResponse>().sequenceNumber, 0);
    peer.sendByteByByte(AddCredit{channelId(1), 1});
    EXPECT_EQ(peer.readAs<BufferResponse>().sequenceNumber, 1);

    RawServer server;
    SocketChannel& end = connect(server.address());
    RawPeer accepted = server.accept();
    (void)accepted.readAs<PartitionRequest>();
    accepted.sendByteByByte(BufferResponse{channelId(0), 0, 1, Buffer::copyOf(asBytes("some data"), DataType::DATA_BUFFER)});
    accepted.sendByteByByte(BufferResponse{channelId(0), 1, 0, eventBuffer(EndOfData{})});
    EXPECT_EQ(asText(next(end).buffer), "some data");
    EXPECT_EQ(next(end).buffer.dataType(), DataType::END_OF_DATA);
  });
}

TEST_F(SocketConversation, TheTraceTellsWhenABarrierWasWrittenAndWhenItHadLeft) {
  options.sendReceiveBufferSize = 4096;
  const auto trace = std::make_shared<BarrierTrace>(SystemClock::instance());
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(2);
    partition->setTrace(trace->tracer("tm1", "producer"));
    SocketChannel& end = connect("tm1", 1);
    partition->broadcastEvent(barrier(7));
    EXPECT_EQ(next(end).buffer.dataType(), DataType::ALIGNED_CHECKPOINT_BARRIER);
    std::vector<BarrierTraceEvent> events;
    awaitUntil("it has left", [&] {
      trace->drain(events);
      return std::any_of(events.begin(), events.end(), [](const auto& event) { return event.step == BarrierStep::kSocketFlushed; });
    });
    std::erase_if(events, [](const BarrierTraceEvent& event) { return event.step == BarrierStep::kEnqueued; });
    ASSERT_EQ(events.size(), 2u) << "of the one subpartition that is read";
    EXPECT_EQ(events[0].step, BarrierStep::kSocketWritten);
    EXPECT_EQ(events[0].details.bytes, 0) << "nothing was in front of it";
    for (const BarrierTraceEvent& event : events) {
      EXPECT_EQ(event.checkpointId, 7);
      EXPECT_EQ(event.details.gate, 0);
      EXPECT_EQ(event.details.channel, 1);
    }
    EXPECT_LE(events[0].at, events[1].at);
  });
}

TEST_F(SocketConversation, APeerThatDoesNotReadHoldsItsBuffersOnly) {
  options.sendReceiveBufferSize = 4096;
  run([&](ExecutionContext&) {
    std::atomic<int> emitted{0};
    const auto task = produce(0, 1, [&](ResultPartition& partition) {
      for (;;) emitFull(partition, 0, static_cast<char>(emitted.fetch_add(1)));
    });
    RawPeer peer = connectRaw();
    peer.send(PartitionRequest{partitionId(0), 0, channelId(1), 1'000'000});
    // It goes on for as long as the sockets take something, and then no more: far less than what the credit allows.
    for (int before = -1, quiet = 0; quiet < 20; pause(5ms)) {
      quiet = before == emitted ? quiet + 1 : 0;
      before = emitted;
    }
    const int stuck = emitted;
    EXPECT_LT(stuck, 200'000);
    for (int i = 0; i < stuck + 1000; ++i) {
      const auto got = peer.readAs<BufferResponse>();
      ASSERT_EQ(got.sequenceNumber, i);
      ASSERT_EQ(got.buffer.bytes()[0], static_cast<uint8_t>(i));
    }
    task->cancel();
    await(task->done());
  });
}

TEST_F(SocketConversation, ATaskManagerSaysGoodbye) {
  run([&](ExecutionContext&) {
    RawServer server;
    connect(server.address());
    RawPeer accepted = server.accept();
    (void)accepted.readAs<PartitionRequest>();
    channels[0]->channel->releaseAllResources();
    (void)accepted.readAs<CancelPartitionRequest>();
    const auto stopped = std::make_shared<Signal>();
    tm2->stop([stopped] { stopped->set(); });
    (void)accepted.readAs<CloseRequest>();
    EXPECT_FALSE(accepted.read());
    await(*stopped);
  });
}

TEST_F(SocketConversation, ATaskManagerStopsThoughItsPeersAreSilent) {
  run([&](ExecutionContext&) {
    RawServer server;
    connect(server.address());
    RawPeer accepted = server.accept();
    RawPeer silent = connectRaw();
    stop(tm1);
    stop(tm2);
  });
}

TEST_F(SocketConversation, AnIdleConnectionCostsNoSwitches) {
  run([&](ExecutionContext&) {
    producer.partition(1);
    connect("tm1");
    awaitUntil("both ends are there", [&] { return tm1->openEnds() == 1; });
    pause(50ms);
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    pause(300ms);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_nvcsw - before.ru_nvcsw, 8);
  });
}

TEST_F(SocketConversation, AnAddressMayNameTheHost) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    const std::string& address = tm1->address();
    SocketChannel& end = connect("localhost" + address.substr(address.rfind(':')));
    emitFull(*partition);
    partition->flushAll();
    EXPECT_EQ(next(end).buffer.size(), 64u);
  });
}

TEST_F(SocketConversation, OfSeveralPortsTheFirstFreeOneIsTaken) {
  RawServer taken, free;
  const auto portOf = [](const RawServer& server) {
    return static_cast<uint16_t>(std::stoi(server.address().substr(server.address().rfind(':') + 1)));
  };
  options.bindPorts = {portOf(taken), 0};
  run([&](ExecutionContext&) { EXPECT_NE(tm1->address(), taken.address()); });

  options.bindPorts = {portOf(taken)};
  executor.run("main", [&](ExecutionContext&) {
    SocketTransport other(executor, log, options);
    const auto listening = other.listen("tm3", nullptr);
    ASSERT_TRUE(listening.has_error());
    EXPECT_THAT(listening.error().message, HasSubstr("cannot listen for data connections on 127.0.0.1, port"));
    EXPECT_THAT(listening.error().message, HasSubstr("Address already in use"));
  });
}

TEST_F(SocketConversation, ANameIsTakenOnce) {
  run([&](ExecutionContext&) { EXPECT_TRUE(transport->listen("tm1", nullptr).has_error()); });
}

}  // namespace
}  // namespace weir
