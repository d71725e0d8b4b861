#include "unit/socket/socket_fixture.h"

// Two TaskManagers over a network that is slow, or breaks: what their tasks see of it.
namespace weir {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct FaultyLink : SocketTest {
  FaultyLink() { proxied = true; }
  LinkProxy& link() const { return **links->link("tm2", "tm1"); }
  /// A channel that has received one buffer: it is connected.
  SocketChannel& connected(ResultPartition& partition, uint32_t subpartition = 0) {
    SocketChannel& end = connect("tm1", subpartition);
    emitFull(partition, subpartition, 'a');
    partition.flushAll();
    EXPECT_EQ(asText(next(end).buffer), std::string(64, 'a'));
    return end;
  }
  Nanos now() const { return context->clock().monotonic(); }
};

TEST_F(FaultyLink, LatencyHoldsForTheRequestAndForWhatItAsksFor) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(2);
    (void)connected(*partition, 0);
    link().setDelay(20ms);
    emitFull(*partition, 1);
    partition->flushAll();
    const Nanos from = now();
    SocketChannel& end = connect("tm1", 1);
    EXPECT_EQ(next(end).buffer.size(), 64u);
    EXPECT_GE(now() - from, 40ms) << "there and back";
  });
}

TEST_F(FaultyLink, BandwidthSlowsTheProducerDownToIt) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connected(*partition);
    link().setBandwidth(20'000);
    const Nanos from = now();
    for (int i = 0; i < 20; ++i) emitFull(*partition);
    partition->flushAll();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(next(end).buffer.size(), 64u);
    EXPECT_GE(now() - from, 64ms) << "20 times 64 bytes";
  });
}

TEST_F(FaultyLink, ACutConnectionIsLostForEachOfItsChannelsAndForItsProducer) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(2);
    SocketChannel& first = connected(*partition, 0);
    SocketChannel& second = connected(*partition, 1);
    link().cut();
    for (SocketChannel* end : {&first, &second})
      EXPECT_THAT(failureOf(*end), AllOf(HasSubstr("Lost connection to task manager 'tm1'. This indicates that the remote task manager was "
                                                   "lost."),
                                         HasSubstr("Connection reset by peer")));
    awaitUntil("the producing end is gone", [&] { return tm1->openEnds() == 0; });
    EXPECT_EQ(log.count(LogLevel::kError), 0u) << "nobody has broken the protocol: " << log.text();
  });
}

TEST_F(FaultyLink, AfterACutANewChannelConnectsAnew) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(2);
    SocketChannel& end = connected(*partition, 0);
    link().cut();
    (void)failureOf(end);
    (void)connected(*partition, 1);
  });
}

TEST_F(FaultyLink, SilenceHoldsEverythingAndFailsNobody) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connected(*partition);
    link().goSilent();
    for (int i = 0; i < 10; ++i) emitFull(*partition, 0, static_cast<char>('b' + i));
    partition->flushAll();
    end.forgetNews();
    pause(50ms);
    EXPECT_FALSE(end.channel->getNextBuffer()) << "nothing has come";
    link().goOn();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(asText(next(end).buffer), std::string(64, static_cast<char>('b' + i)));
  });
}

TEST_F(FaultyLink, AProducerWhoseConsumerIsGoneInSilenceSendsAsMuchAsItHasCreditFor) {
  run([&](ExecutionContext&) {
    const auto partition = producer.partition(1);
    SocketChannel& end = connected(*partition);
    link().goSilent();
    end.channel->releaseAllResources();  // it says so, and nobody hears it
    for (int i = 0; i < 20; ++i) emitFull(*partition);
    partition->flushAll();
    pause(50ms);
    EXPECT_GE(partition->queuedBuffers(), 16) << "two exclusive buffers' worth has left, and what was to be announced";
    link().goOn();
    awaitUntil("the producer hears of it", [&] { return partition->queuedBuffers() == 0; });
  });
}

TEST_F(FaultyLink, ATaskManagerThatCannotBeReachedFailsItsChannelWithTheReason) {
  run([&](ExecutionContext&) {
    SocketChannel& end = connect("nowhere");
    EXPECT_THAT(failureOf(end), AllOf(HasSubstr("Connecting to remote task manager 'nowhere' has failed."),
                                      HasSubstr("'nowhere' is no address of a link")));
  });
}

}  // namespace
}  // namespace weir
