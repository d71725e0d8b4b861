#include "unit/transport/transport_fixture.h"

// What users of Flink have met in credit-based flow control, one test each, named after the failure.
namespace weir {
namespace {

using namespace testing;

/// Takes everything that has come in a channel, events too.
int drain(RemoteEnd& end) {
  int taken = 0;
  while (end.receiver->poll()) ++taken;
  return taken;
}

/// Four channels of one gate, each from a subpartition of its own.
struct FourChannels {
  explicit FourChannels(ConnectionOptions options) : wire(options), partition(wire.producer.partition(4, {.required = 40, .max = 40})) {
    for (uint32_t c = 0; c < 4; ++c) ends.push_back(&wire.connect(c));
    wire.settle();
  }
  void emit(uint32_t channel, int buffers) {
    for (int i = 0; i < buffers; ++i) emitFull(*partition, channel);
  }
  /// Until nothing moves any more, with a task that reads whatever has come.
  void run(std::vector<int>& read) {
    for (bool moved = true; moved;) {
      wire.settle();
      moved = false;
      for (size_t c = 0; c < 4; ++c)
        if (const int taken = drain(*ends[c])) {
          read[c] += taken;
          moved = true;
        }
    }
  }

  TestConnection wire;
  std::shared_ptr<ResultPartition> partition;
  std::vector<RemoteEnd*> ends;
};

// floating-buffers-for-blocked-channel (FLINK-8523)
TEST(FailureMode, FloatingBuffersForBlockedChannel) {
  FourChannels gate({.exclusive = 2, .floating = 4});
  gate.emit(0, 6);
  gate.wire.settle();
  EXPECT_EQ(gate.ends[0]->buffers().availableFloating() + 6, 2 + 4) << "it holds all: nothing is read yet";
  gate.partition->broadcastEvent(barrier(1));
  gate.emit(0, 20);
  for (uint32_t c = 1; c < 4; ++c) gate.emit(c, 4);
  gate.partition->flushAll();
  gate.wire.settle();
  EXPECT_EQ(drain(*gate.ends[0]), 6 + 1) << "up to the barrier, and nothing of the twenty behind it";
  EXPECT_EQ(gate.ends[0]->buffers().availableFloating(), 0) << "blocked: what it had borrowed is free for others";
  for (uint32_t c = 1; c < 4; ++c) {
    EXPECT_EQ(drain(*gate.ends[c]), 1) << "its barrier";
    gate.ends[c]->receiver->onResume();
    gate.wire.client.resumeConsumption(channelId(static_cast<int32_t>(c)));
  }
  std::vector<int> read(4);
  gate.run(read);
  EXPECT_EQ(read, (std::vector<int>{0, 4, 4, 4})) << "the others go on while channel 0 stays blocked";
  EXPECT_EQ(gate.ends[0]->buffers().availableFloating(), 0);
}

// blocked-channels-hoard-floating (FLINK-16404)
TEST(FailureMode, BlockedChannelsHoardFloating) {
  FourChannels gate({.exclusive = 0, .floating = 2});
  for (uint32_t c = 0; c < 2; ++c) gate.emit(c, 3);
  gate.partition->broadcastEvent(barrier(1));
  for (uint32_t c = 0; c < 4; ++c) gate.emit(c, 3);  // behind the barrier, and more than there are buffers
  gate.partition->flushAll();
  std::vector<int> read(4);
  gate.run(read);
  EXPECT_EQ(read, (std::vector<int>{4, 4, 1, 1})) << "no hang in front of the barriers";
  for (uint32_t c = 0; c < 2; ++c) {
    EXPECT_EQ(gate.wire.readerOf(static_cast<int32_t>(c)).credit(), 0) << "the sender dropped its credit with the barrier";
    EXPECT_EQ(gate.ends[c]->buffers().availableFloating(), 0) << "and the receiver has returned its buffers";
  }
  for (uint32_t c = 2; c < 4; ++c) {
    gate.ends[c]->receiver->onResume();
    gate.wire.client.resumeConsumption(channelId(static_cast<int32_t>(c)));
  }
  gate.run(read);
  EXPECT_EQ(read, (std::vector<int>{4, 4, 4, 4})) << "two channels are blocked, the others use all floating buffers";
  for (uint32_t c = 0; c < 2; ++c) {
    gate.ends[c]->receiver->onResume();
    gate.wire.client.resumeConsumption(channelId(static_cast<int32_t>(c)));
  }
  gate.run(read);
  EXPECT_EQ(read, (std::vector<int>{7, 7, 4, 4})) << "what was behind the barrier is announced anew";
}

// zero-exclusive-mutual-wait (FLINK-16641)
TEST(FailureMode, ZeroExclusiveMutualWait) {
  TestConnection wire({.exclusive = 0, .floating = 2});
  const auto partition = wire.producer.partition(1);
  RemoteEnd& end = wire.connect(0);
  wire.settle();
  EXPECT_EQ(wire.readerOf(0).credit(), 0) << "idle: nothing is lent to it";
  emitFull(*partition);
  partition->flushAll();
  wire.settleProducer();
  EXPECT_EQ(wire.toClient.names(), std::vector<std::string>{"BacklogAnnouncement"}) << "no data to carry its backlog, so it goes alone";
  wire.settle();
  const auto record = end.receiver->poll();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->buffer.size(), 64u);
}

}  // namespace
}  // namespace weir
