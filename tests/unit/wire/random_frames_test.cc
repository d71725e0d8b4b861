#include "support/damage.h"
#include "support/seeds.h"
#include "weir/base/random.h"
#include "weir/record/event_serializer.h"
#include "wire_fixture.h"

namespace weir {
namespace {

using namespace test;

Bytes randomBytes(Random& random, size_t most) {
  Bytes bytes(random.below(most + 1));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  return bytes;
}
int32_t randomNumber(Random& random, int32_t least) {
  return random.oneIn(4) ? static_cast<int32_t>(random.between(least, INT32_MAX)) : static_cast<int32_t>(random.between(least, least + 3));
}
InputChannelID randomReceiver(Random& random) { return InputChannelID::random(random); }
ResultPartitionID randomPartition(Random& random) {
  return {{IntermediateDataSetID::random(random), randomNumber(random, 0)},
          {ExecutionGraphID::random(random), JobVertexID::random(random), randomNumber(random, 0), randomNumber(random, 0)}};
}

BufferResponse randomResponse(Random& random) {
  const auto type = static_cast<DataType>(random.between(1, kDataTypeCount - 1));
  BufferResponse m{randomReceiver(random), static_cast<int32_t>(random.next()), randomNumber(random, 0),
                   Buffer::copyOf(randomBytes(random, 300), type), randomNumber(random, 0)};
  if (!isBuffer(type)) return m;
  m.compressed = random.oneIn(3);
  if (random.oneIn(3)) {
    for (uint32_t left = m.buffer.size(); left > 0;) {
      m.partialSizes.push_back(static_cast<int32_t>(random.between(0, left)));
      left -= static_cast<uint32_t>(m.partialSizes.back());
    }
  }
  return m;
}
ErrorResponse randomError(Random& random) {
  std::shared_ptr<const Throwable> cause;
  for (uint64_t left = 1 + random.below(4); left > 0; --left)
    cause = std::make_shared<Throwable>(std::string(random.below(60), 'C'), std::string(random.below(200), 'm'), cause);
  ErrorResponse m{{}, cause};
  if (random.oneIn(2)) m.receiver = randomReceiver(random);
  return m;
}
PartitionRequest randomRequest(Random& random) {
  const auto first = static_cast<uint32_t>(random.below(1u << 30));
  return {randomPartition(random), first, randomReceiver(random), randomNumber(random, 0), static_cast<uint32_t>(random.below(1u << 30))};
}

NetworkMessage randomMessage(Random& random, FrameSender sender) {
  if (sender == FrameSender::kProducer) {
    switch (random.below(4)) {
      case 0: return randomError(random);
      case 1: return BacklogAnnouncement{randomReceiver(random), randomNumber(random, 1)};
      default: return randomResponse(random);
    }
  }
  switch (random.below(9)) {
    case 0: return randomRequest(random);
    case 1: return TaskEventRequest{randomPartition(random), randomReceiver(random), randomBytes(random, 200)};
    case 2: return AddCredit{randomReceiver(random), randomNumber(random, 1)};
    case 3: return ResumeConsumption{randomReceiver(random)};
    case 4: return AckAllUserRecordsProcessed{randomReceiver(random)};
    case 5: return NewBufferSize{randomReceiver(random), randomNumber(random, 1)};
    case 6: return CancelPartitionRequest{randomReceiver(random)};
    case 7: return SegmentId{randomReceiver(random), randomNumber(random, 0), randomNumber(random, 1)};
    default: return CloseRequest{};
  }
}

TEST(RandomFrames, ComeBackAsTheyWereHoweverTheyAreCut) {
  for (const uint64_t seed : testing::seeds(200)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const FrameSender sender = random.oneIn(2) ? FrameSender::kProducer : FrameSender::kConsumer;
    DataOutput stream;
    std::vector<std::string> sent;
    for (uint64_t left = 1 + random.below(20); left > 0; --left) {
      const NetworkMessage message = randomMessage(random, sender);
      const size_t before = stream.size();
      appendFrame(message, stream);
      ASSERT_EQ(stream.size() - before, frameSize(message));
      sent.push_back(describe(message));
    }
    const Decoded decoded = decodeAll(sender, stream.bytes(), 1 + random.below(random.oneIn(3) ? 3 : 1000));
    ASSERT_FALSE(decoded.error) << decoded.error->message;
    Bytes again;
    std::vector<std::string> got;
    for (const NetworkMessage& message : decoded.messages) {
      const Bytes frame = encoded(message);
      again.insert(again.end(), frame.begin(), frame.end());
      got.push_back(describe(message));
    }
    ASSERT_EQ(got, sent);
    ASSERT_EQ(again, stream.toVector());
  }
}

/// Every frame of the vectors and of the shortest conversation.
std::vector<Bytes> corpus() {
  std::vector<Bytes> frames;
  for (const Row& row : goldenRows("frames.tsv"))
    if (row[0] != "dataType" && row[2] != "error") frames.push_back(fromHex(row[3]));
  for (const Row& row : goldenRows("frames-rejected.tsv")) frames.push_back(fromHex(row[2]));
  for (const Row& row : goldenRows("conversation-one-way.txt"))
    if (row.fields.size() > 4 && row[4].find("badc0ffe") == 8) frames.push_back(fromHex(row[4]));
  frames.push_back(
      encoded(ErrorResponse{InputChannelID{}, std::make_shared<Throwable>("a.B", "c", std::make_shared<Throwable>("d.E", "f"))}));
  return frames;
}

TEST(DamagedFrames, AreRefusedOrAreFramesAndNeverCostMoreMemoryThanArrived) {
  const std::vector<Bytes> frames = corpus();
  size_t refused = 0, taken = 0;
  for (const uint64_t seed : testing::seeds(3000)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Bytes stream;
    for (uint64_t left = 1 + random.below(3); left > 0; --left) {
      const Bytes& frame = frames[random.below(frames.size())];
      stream.insert(stream.end(), frame.begin(), frame.end());
    }
    const auto bad = testing::damaged(std::as_bytes(std::span(stream)), random);
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(bad.data()), bad.size());
    for (const FrameSender sender : {FrameSender::kProducer, FrameSender::kConsumer}) {
      const Decoded decoded = decodeAll(sender, bytes, 1 + random.below(300));
      EXPECT_LE(decoded.mostHeld, 128 + 2 * bytes.size()) << "what is announced and does not come costs nothing";
      if (decoded.error) {
        EXPECT_TRUE(decoded.error->message.starts_with("The peer breaks the protocol at byte ")) << decoded.error->message;
        EXPECT_TRUE(decoded.error->message.ends_with(".")) << decoded.error->message;
        ++refused;
      }
      for (const NetworkMessage& message : decoded.messages) {
        // What is taken is a frame: it has one form, which is taken again.
        const Bytes again = encoded(message);
        const Decoded twice = decodeAll(sender, again);
        ASSERT_FALSE(twice.error) << twice.error->message;
        ASSERT_EQ(describe(twice.messages.at(0)), describe(message));
        if (const auto* response = std::get_if<BufferResponse>(&message); response && !response->buffer.isBuffer())
          (void)EventSerializer::decode(response->buffer.bytes()).has_value();  // whatever it says, it says it without a crash
        ++taken;
      }
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace weir
