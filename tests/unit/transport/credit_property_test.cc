#include <map>

#include "unit/transport/transport_fixture.h"
#include "weir/base/random.h"

// Several channels over one connection under hostile schedules, against a ledger of all that is on the wire: writer, messages of both ways,
// consumer and releases take their turns at random; pools are tiny.
namespace weir {
namespace {

using namespace testing;

class Ledger {
 public:
  explicit Ledger(uint64_t seed)
      : random_(seed), channels_(1 + static_cast<int32_t>(random_.below(4))), exclusive_(static_cast<int32_t>(random_.below(4))),
        wire_({.exclusive = exclusive_, .floating = 1 + static_cast<int32_t>(random_.below(4)), .segments = 64, .segmentSize = 16}) {
    partition_ = ResultPartition::create({.id = partitionId(0), .owningTask = "producer", .subpartitions = channels_,
                                          .forwardsEmptyBuffers = exclusive_ == 0});
    partition_->setup(wire_.producer.context,
                      wire_.producer.network->createBufferPool(LocalBufferPoolOptions::forResultPartition(channels_)).value());
    wire_.producer.manager->registerResultPartition(partition_);
    wire_.producer.partitions.push_back(partition_);
    if (random_.oneIn(2)) wire_.toClient.window = wire_.toServer.window = 1 + random_.below(3);
    written_.resize(static_cast<size_t>(channels_));
    read_.resize(written_.size());
    blocked_.resize(written_.size());
    granted_.resize(written_.size(), exclusive_);
    sent_.resize(written_.size());
    resuming_.resize(written_.size());
    for (int32_t c = 0; c < channels_; ++c) wire_.connect(static_cast<uint32_t>(c));
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
    drain();
  }

 private:
  using Step = void (Ledger::*)();
  void step() {
    static constexpr Step kSteps[] = {&Ledger::write,   &Ledger::write,   &Ledger::flush,   &Ledger::event,     &Ledger::toClient,
                                      &Ledger::toClient, &Ledger::toServer, &Ledger::toServer, &Ledger::poll,      &Ledger::poll,
                                      &Ledger::letGo,   &Ledger::letGo,   &Ledger::resume,  &Ledger::newsOfData};
    (this->*kSteps[random_.below(std::size(kSteps))])();
  }

  void write() {
    if (!partition_->isAvailable()) return;
    const auto c = static_cast<uint32_t>(random_.below(static_cast<uint64_t>(channels_)));
    std::string record(1 + random_.below(12), 'a');
    for (char& letter : record) letter = static_cast<char>('a' + random_.below(26));
    // A record may need a second buffer: only where the pool is sure to have it.
    if (partition_->pool().size() - partition_->pool().used() < 2) return;
    partition_->emitRecord(asBytes(record), c);
    written_[c] += record;
  }
  void flush() { partition_->flushAll(); }
  void event() {
    if (!random_.oneIn(3)) return;
    ++id_;
    switch (random_.below(3)) {
      case 0: return partition_->broadcastEvent(CancelCheckpointMarker{id_});
      case 1: return partition_->broadcastEvent(barrier(id_));
      default: return partition_->broadcastEvent(barrier(id_, AlignmentType::kUnaligned), true);
    }
  }
  void newsOfData() { wire_.settleProducer(); }
  void toClient() {
    if (wire_.toClient.messages.empty()) return;
    if (const auto* response = std::get_if<BufferResponse>(&wire_.toClient.messages.front()); response && response->buffer.isBuffer())
      ++sent_[indexOf(response->receiver)];
    wire_.deliverToClient();
  }
  void toServer() {
    if (wire_.toServer.messages.empty()) return;
    const NetworkMessage& next = wire_.toServer.messages.front();
    if (const auto* credit = std::get_if<AddCredit>(&next)) granted_[indexOf(credit->receiver)] += credit->credit;
    if (const auto* resume = std::get_if<ResumeConsumption>(&next)) --resuming_[indexOf(resume->receiver)];
    wire_.deliverToServer();
  }
  void poll() {
    const size_t c = random_.below(written_.size());
    auto next = wire_.ends[c]->receiver->poll();
    if (!next) return;
    if (next->buffer.isBuffer()) {
      read_[c] += asText(next->buffer);
      held_.push_back(std::move(next->buffer));
    } else if (isBlockingUpstream(next->buffer.dataType())) {
      blocked_[c] = true;
    }
  }
  void letGo() {
    if (held_.empty()) return;
    const size_t at = random_.below(held_.size());
    std::swap(held_[at], held_.back());
    held_.pop_back();
  }
  void resume() {
    const size_t c = random_.below(written_.size());
    if (!blocked_[c]) return;
    blocked_[c] = false;
    ++resuming_[c];
    wire_.ends[c]->receiver->onResume();
    wire_.client.resumeConsumption(channelId(static_cast<int32_t>(c)));
  }

  static size_t indexOf(const InputChannelID& id) {
    size_t c = 0;
    while (channelId(static_cast<int32_t>(c)) != id) ++c;
    return c;
  }

  void check() {
    ASSERT_FALSE(wire_.server.failed());
    ASSERT_FALSE(wire_.client.failed());
    for (size_t c = 0; c < written_.size(); ++c) {
      const auto id = channelId(static_cast<int32_t>(c));
      ASSERT_NO_THROW(wire_.ends[c]->receiver->checkError());
      const auto* reader = wire_.server.queue().find(id);
      if (!reader) continue;
      int32_t onTheWay = 0, credit = 0;
      bool voids = blocked_[c] || resuming_[c] > 0;
      for (const auto& message : wire_.toClient.messages) {
        const auto* response = std::get_if<BufferResponse>(&message);
        if (!response || response->receiver != id) continue;
        onTheWay += response->buffer.isBuffer();
        voids |= isBlockingUpstream(response->buffer.dataType());
      }
      for (const auto& message : wire_.toServer.messages) {
        if (const auto* add = std::get_if<AddCredit>(&message); add && add->receiver == id) credit += add->credit;
      }
      const BufferManager& buffers = wire_.ends[c]->buffers();
      ASSERT_GE(reader->credit(), 0) << "C1";
      ASSERT_LE(sent_[c] + onTheWay, granted_[c]) << "C1: data sent on channel " << c << " against its credit";
      ASSERT_GE(buffers.available(), onTheWay) << "C2: what is on the way finds a buffer on channel " << c;
      // Without exclusive buffers a blocked channel has given its buffers back, and the credit for them is void once it is resumed.
      if (exclusive_ == 0 && (voids || wire_.ends[c]->receiver->queueLength() > 0)) continue;
      ASSERT_EQ(reader->credit() + onTheWay + credit + buffers.unannouncedCredit(), buffers.available())
          << "C3: credit of channel " << c << " stands for the buffers in hand";
    }
  }

  /// C4: once everybody goes on, all that was written arrives, in order.
  void drain() {
    partition_->flushAll();
    for (int round = 0; round < 2000 && !::testing::Test::HasFailure(); ++round) {
      newsOfData();
      for (int i = 0; i < 4; ++i) toServer();
      for (int i = 0; i < 4; ++i) toClient();
      for (int i = 0; i < 8; ++i) poll();
      held_.clear();
      for (int i = 0; i < 8; ++i) resume();
      check();
    }
    for (size_t c = 0; c < written_.size(); ++c)
      ASSERT_EQ(read_[c], written_[c]) << "C4: channel " << c << " with " << wire_.readerOf(static_cast<int32_t>(c)).credit() << " credit";
  }

  Random random_;
  const int32_t channels_, exclusive_;
  TestConnection wire_;  // its end checks C5: every segment is back
  std::shared_ptr<ResultPartition> partition_;
  std::vector<std::string> written_, read_;
  std::vector<bool> blocked_;
  std::vector<int32_t> granted_, sent_;
  std::vector<int32_t> resuming_;  ///< resumptions that the producer does not know of yet
  std::vector<Buffer> held_;
  int64_t id_ = 0;
};

TEST(CreditLedger, HoldsAtEveryStepOfHostileSchedules) {
  for (uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Ledger(seed).run(600);
  }
}

TEST(CreditLedger, ReturnsEverySegmentWhereverAConnectionIsCut) {
  for (uint64_t seed = 1; seed <= 200 && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed);
    TestConnection wire({.exclusive = static_cast<int32_t>(random.below(3)), .segments = 32, .segmentSize = 16});
    const auto partition = wire.producer.partition(2);
    wire.connect(0);
    wire.connect(1);
    std::vector<Buffer> held;
    const uint64_t end = random.below(60);
    for (uint64_t i = 0; i < end; ++i) {
      if (partition->isAvailable()) partition->emitRecord(asBytes("0123456789"), static_cast<uint32_t>(random.below(2)));
      partition->flushAll();
      wire.settleProducer();
      if (!wire.toServer.messages.empty() && random.oneIn(2)) wire.deliverToServer();
      if (!wire.toClient.messages.empty() && random.oneIn(2)) wire.deliverToClient();
      if (auto next = wire.ends[random.below(2)]->receiver->poll()) held.push_back(std::move(next->buffer));
      if (random.oneIn(3) && !held.empty()) held.pop_back();
    }
    wire.client.onClosed({ConnectionEnded::Why::kClosed});
    wire.server.release();
    for (const auto& channel : wire.ends) channel->receiver->release();
    wire.toClient.messages.clear();
    held.clear();  // buffers that the task still held come back last
    partition->release();
    partition->close();
    EXPECT_EQ(wire.producer.network->usedSegments(), 0) << "seed " << seed;
    wire.gatePool->lazyDestroy();
    for (const auto& pool : wire.exclusivePools) pool->lazyDestroy();
    EXPECT_EQ(wire.consumer->usedSegments(), 0) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir
