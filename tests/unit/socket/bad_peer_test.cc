#include "unit/socket/socket_fixture.h"

// Peers that break the protocol, and connections that break: closed with one line in the log, and the process lives.
namespace weir {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Violation {
  const char* name;
  Bytes bytes;
  const char* said;         ///< in the log
  bool answered = false;    ///< with an ErrorResponse
};
void PrintTo(const Violation& violation, std::ostream* out) { *out << violation.name; }

Bytes changed(Bytes bytes, size_t at, std::initializer_list<uint8_t> with) {
  std::copy(with.begin(), with.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return bytes;
}

// ---- consumers -------------------------------------------------------------------------------------------------------------------------

struct BadConsumer : SocketTest, ::testing::WithParamInterface<Violation> {};

TEST_P(BadConsumer, LosesItsConnectionAndNobodyElseDoes) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(2);
    SocketChannel& good = connect("tm1", 0);
    RawPeer peer = connectRaw();
    peer.send(PartitionRequest{partitionId(0), 1, channelId(5), 1});
    awaitUntil("both are served", [&] { return tm1->openEnds() == 2 && partition->subpartition(1).hasReader(); });
    peer.send(GetParam().bytes);
    if (GetParam().answered) {
      const auto error = peer.readAs<ErrorResponse>();
      EXPECT_FALSE(error.receiver);
      EXPECT_THAT(error.cause->trace(), HasSubstr(GetParam().said));
    }
    EXPECT_FALSE(peer.read()) << "closed";
    peer.close();
    awaitUntil("its end is gone", [&] { return tm1->openEnds() == 1; });

    EXPECT_EQ(log.count(LogLevel::kError), 1u) << log.text();
    EXPECT_THAT(log.text(), AllOf(HasSubstr("tm1 closes its connection from 127.0.0.1:"), HasSubstr(GetParam().said)));
    emitFull(*partition, 0);
    partition->flushAll();
    EXPECT_EQ(next(good).buffer.size(), 64u);
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, BadConsumer,
    ::testing::Values(
        Violation{"WrongMagic", changed(frame(AddCredit{channelId(5), 1}), 4, {1}), "the magic number is"},
        Violation{"UnknownMessage", changed(frame(AddCredit{channelId(5), 1}), 8, {99}), "there is no message with the id 99"},
        Violation{"OversizedLength", changed(frame(AddCredit{channelId(5), 1}), 0, {0x7f, 0xff, 0xff, 0xff}),
                  "AddCredit has 2147483647 bytes instead of 29"},
        Violation{"NegativeCredit", changed(frame(AddCredit{channelId(5), 1}), 9, {0xff, 0xff, 0xff, 0xff}),
                  "AddCredit has a credit of -1"},
        Violation{"TalksLikeAProducer", frame(BacklogAnnouncement{channelId(5), 1}), "is no message of a consumer"},
        Violation{"UnknownChannel", frame(AddCredit{channelId(6), 1}), "No reader for receiverId", true},
        Violation{"ResumesWhatIsNotBlocked", frame(ResumeConsumption{channelId(5)}), "is not blocked", true},
        Violation{"TooMuchCredit", frame(AddCredit{channelId(5), INT32_MAX}), "is not possible", true},
        Violation{"NoSuchSubpartition", frame(PartitionRequest{partitionId(0), 7, channelId(8), 1}), "asks for subpartition 7", true}),
    [](const auto& info) { return info.param.name; });

// ---- producers -------------------------------------------------------------------------------------------------------------------------

struct BadProducer : SocketTest {
  RawServer server;

  RawPeer accepted(SocketChannel&) {
    RawPeer peer = server.accept();
    (void)peer.readAs<PartitionRequest>();
    return peer;
  }
  static BufferResponse data(int32_t channel, int32_t number, std::string_view text = "abc") {
    return {channelId(channel), number, 0, Buffer::copyOf(asBytes(text), DataType::DATA_BUFFER)};
  }
};

struct BadProducerBytes : BadProducer, ::testing::WithParamInterface<Violation> {};

TEST_P(BadProducerBytes, FailItsChannelsAndCloseTheConnection) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    RawPeer peer = accepted(first);
    SocketChannel& second = connect(server.address());
    (void)peer.readAs<PartitionRequest>();
    peer.send(GetParam().bytes);
    const std::string expected = "LocalTransportException: The peer breaks the protocol at byte ";
    EXPECT_THAT(failureOf(first), AllOf(HasSubstr(expected), HasSubstr(GetParam().said)));
    EXPECT_THAT(failureOf(second), AllOf(HasSubstr(expected), HasSubstr("(connection to '" + server.address() + "')")));
    EXPECT_TRUE(peer.isClosed());
    EXPECT_EQ(log.count(LogLevel::kError), 1u) << log.text();
    EXPECT_THAT(log.text(), AllOf(HasSubstr("tm2 closes its connection to 127.0.0.1:"), HasSubstr(GetParam().said)));
  });
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProducerBytes,
    ::testing::Values(Violation{"WrongMagic", changed(frame(BadProducer::data(0, 0)), 4, {1}), "the magic number is"},
                      Violation{"OversizedLength", changed(frame(BadProducer::data(0, 0)), 0, {0x7f, 0xff, 0xff, 0xff}),
                                "BufferResponse has 2147483647 bytes"},
                      Violation{"PayloadLongerThanASegment", frame(BadProducer::data(0, 0, std::string(65, 'x'))),
                                "BufferResponse has 65 bytes of DATA_BUFFER, of which 64 are allowed"},
                      Violation{"NegativeBacklog", changed(frame(BacklogAnnouncement{channelId(0), 1}), 9, {0xff, 0xff, 0xff, 0xff}),
                                "BacklogAnnouncement has a backlog of -1"},
                      Violation{"TalksLikeAConsumer", frame(AddCredit{channelId(0), 1}), "is no message of a producer"},
                      Violation{"ErrorOfJava", [] {
                                  Bytes bytes = frame(ErrorResponse{std::nullopt, std::make_shared<Throwable>("x.Y", "z")});
                                  return changed(bytes, 9, {0xac, 0xed, 0, 5});
                                }(), "which only a Java process can read"}),
    [](const auto& info) { return info.param.name; });

TEST_F(BadProducer, ACompressedBufferFailsTheChannel) {
  run([&](ExecutionContext&) {
    SocketChannel& end = connect(server.address());
    RawPeer peer = accepted(end);
    BufferResponse message = data(0, 0);
    message.compressed = true;
    peer.send(message);
    EXPECT_THAT(failureOf(end), HasSubstr("Buffer 0 on channel 0 of gate 0 is compressed, which only partitions of batch jobs are."));
  });
}

TEST_F(BadProducer, ABufferThatIsPutTogetherFromSeveralFailsTheChannel) {
  run([&](ExecutionContext&) {
    SocketChannel& end = connect(server.address());
    RawPeer peer = accepted(end);
    BufferResponse message = data(0, 0);
    message.partialSizes = {1, 2};
    peer.send(message);
    EXPECT_THAT(failureOf(end), HasSubstr("is put together from several, which only partitions of batch jobs are."));
  });
}

TEST_F(BadProducer, AGapInTheNumbersFailsItsChannelOnly) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    RawPeer peer = accepted(first);
    SocketChannel& second = connect(server.address());
    (void)peer.readAs<PartitionRequest>();
    peer.send(data(0, 1));
    peer.send(data(1, 0, "fine"));
    EXPECT_THAT(failureOf(first), HasSubstr("Buffer re-ordering: expected buffer with sequence number 0, but received 1."));
    EXPECT_EQ(asText(next(second).buffer), "fine");
  });
}

TEST_F(BadProducer, DataWithoutCreditFailsItsChannelOnlyAndIsSkipped) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    RawPeer peer = accepted(first);
    SocketChannel& second = connect(server.address());
    (void)peer.readAs<PartitionRequest>();
    for (int i = 0; i < 30; ++i) peer.send(data(0, i));
    peer.send(data(1, 0, "fine"));
    EXPECT_EQ(asText(next(second).buffer), "fine");
    EXPECT_THAT(failureOf(first), HasSubstr("its sender had no credit for it"));
  });
}

TEST_F(BadProducer, DataForAnUnknownReceiverIsSkippedAndCancelledOnce) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    RawPeer peer = accepted(first);
    for (int i = 0; i < 3; ++i) peer.send(data(7, i, std::string(64, 'z')));
    peer.send(data(0, 0, "fine"));
    EXPECT_EQ(asText(next(first).buffer), "fine");
    first.channel->releaseAllResources();
    std::vector<InputChannelID> cancelled;
    while (cancelled.empty() || cancelled.back() != channelId(0)) {
      const auto message = peer.read();
      ASSERT_TRUE(message);
      if (const auto* cancel = std::get_if<CancelPartitionRequest>(&*message)) cancelled.push_back(cancel->receiver);
    }
    EXPECT_THAT(cancelled, ElementsAre(channelId(7), channelId(0)));
  });
}

// ---- connections that break ------------------------------------------------------------------------------------------------------------

struct LostConnection : BadProducer {};

TEST_F(LostConnection, APeerThatClosesIsAnErrorOfAllChannels) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    RawPeer peer = accepted(first);
    const Bytes bytes = frame(data(0, 0));
    peer.send(std::span(bytes).first(48));  // in the middle of a frame
    peer.close();
    EXPECT_THAT(failureOf(first), HasSubstr("RemoteTransportException: Connection unexpectedly closed by remote task manager '" +
                                            server.address() + "'. This might indicate that the remote task manager was lost."));
    EXPECT_EQ(log.count(LogLevel::kError), 0u) << "no peer is to blame";
  });
}

TEST_F(LostConnection, AResetIsAnErrorOfAllChannels) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    RawPeer peer = accepted(first);
    peer.reset();
    EXPECT_THAT(failureOf(first), AllOf(HasSubstr("RemoteTransportException: Lost connection to task manager '" + server.address() + "'"),
                                        HasSubstr("Connection reset by peer")));
  });
}

TEST_F(LostConnection, TheNextChannelGetsANewOne) {
  run([&](ExecutionContext&) {
    SocketChannel& first = connect(server.address());
    accepted(first).close();
    (void)failureOf(first);
    SocketChannel& second = connect(server.address());
    RawPeer peer = accepted(second);
    peer.send(data(1, 0, "fine"));
    EXPECT_EQ(asText(next(second).buffer), "fine");
  });
}

TEST_F(LostConnection, AProducerLetsGoOfWhatAResetConsumerWanted) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    RawPeer peer = connectRaw();
    peer.send(PartitionRequest{partitionId(0), 0, channelId(5), 1});
    awaitUntil("it is served", [&] { return partition->subpartition(0).hasReader(); });
    peer.reset();
    awaitUntil("its end is gone", [&] { return tm1->openEnds() == 0; });
    EXPECT_EQ(log.count(LogLevel::kError), 0u);
  });
}

TEST_F(LostConnection, APeerThatDoesNotListenIsUnreachable) {
  std::string address;
  {
    RawServer gone;
    address = gone.address();
  }
  run([&](ExecutionContext&) {
    EXPECT_THAT(failureOf(connect(address)),
                AllOf(HasSubstr("RemoteTransportException: Connecting to remote task manager '" + address +
                                "' has failed. This might indicate that the remote task manager has been lost."),
                      HasSubstr("Connection refused")));
    EXPECT_THAT(failureOf(connect("no address")), HasSubstr("'no address' is no address of a TaskManager, which is host:port"));
  });
}

TEST_F(LostConnection, APeerThatDoesNotAnswerIsGivenUpAfterTheLastAttempt) {
  options.connectTimeout = Millis(60);
  options.retries = 2;
  RawServer full(0);
  std::vector<RawPeer> queued;
  for (int i = 0; i < 1; ++i) queued.push_back(RawPeer::connectTo(full.address(), FrameSender::kProducer));
  run([&](ExecutionContext& its) {
    const Nanos begin = its.clock().monotonic();
    EXPECT_THAT(failureOf(connect(full.address())),
                AllOf(HasSubstr("Connecting to remote task manager"), HasSubstr("no answer within 60 ms")));
    EXPECT_GE(its.clock().monotonic() - begin, 3 * 60ms);
  });
}

}  // namespace
}  // namespace weir
