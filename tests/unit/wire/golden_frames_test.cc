#include <gmock/gmock.h>

#include <map>
#include <set>

#include "weir/record/event_serializer.h"
#include "wire_fixture.h"

namespace weir {
namespace {

using namespace test;
using ::testing::HasSubstr;

// The ids that the head of frames.tsv speaks of.
const InputChannelID kReceiver = InputChannelID::of(0x0102030405060708, 0x1112131415161718);
const ResultPartitionID kPartition{{IntermediateDataSetID::of(0x2122232425262728, 0x3132333435363738), 3},
                                   {ExecutionGraphID::of(0x4142434445464748, 0x5152535455565758),
                                    JobVertexID::of(0x6162636465666768, 0x7172737475767778), 4, 5}};

/// The number behind `name` in a row's description.
int32_t numberOf(const std::string& text, const std::string& name) {
  const size_t at = text.find(name + " ");
  if (at == text.npos) ADD_FAILURE() << "no " << name << " in: " << text;
  return at == text.npos ? 0 : std::stoi(text.substr(at + name.size() + 1));
}

/// The payload that a row's description speaks of; compressed and glued ones are taken from the row's bytes.
Buffer payloadOf(const std::string& text, std::string_view hex) {
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  const auto event = [](const RuntimeEvent& e, bool priority = false) {
    return Buffer::copyOf(EventSerializer::encodeForSend(e), dataTypeOf(e, priority));
  };
  CheckpointBarrier barrier{7, 1543488224622, {}};
  if (has("aligned barrier") && !has("unaligned")) return event(barrier);
  if (has("unaligned priority barrier")) return event(barrier.asUnaligned(), true);
  if (has("EndOfData")) return event(EndOfData{StopMode::DRAIN});
  if (has("EndOfPartition as")) return event(EndOfPartition{});
  if (has("CancelCheckpointMarker")) return event(CancelCheckpointMarker{7});
  if (has("data empty")) return Buffer::copyOf({}, DataType::DATA_BUFFER);
  if (has("data 0")) return Buffer::copyOf(fromHex("00000003010261"), DataType::DATA_BUFFER);
  if (has("type ")) {
    const auto type = static_cast<DataType>(std::stoi(text.substr(text.find('(') + 1)));
    EXPECT_THAT(text, HasSubstr(fmt::format("type {}(", toString(type))));
    return Buffer::copyOf(fromHex("0000000c"), type);
  }
  const size_t head = 2 * (kBufferResponseHeadSize + (has("partial buffers") ? 8 : 0));
  return Buffer::copyOf(fromHex(hex.substr(head)), DataType::DATA_BUFFER);
}

NetworkMessage responseOf(const std::string& text, std::string_view hex) {
  BufferResponse m{kReceiver, numberOf(text, "seq"), 0, payloadOf(text, hex)};
  if (text.find("backlog") != text.npos) m.backlog = numberOf(text, "backlog");
  if (text.find("subpartition ") != text.npos) m.subpartition = numberOf(text, "subpartition");
  m.compressed = text.starts_with("compressed");
  if (text.find("2 partial buffers (7 and 14") != text.npos) m.partialSizes = {7, 14};
  return m;
}

/// The message that a row speaks of, made from its description.
NetworkMessage messageOf(const std::string& name, const std::string& text, std::string_view hex) {
  if (name == "BufferResponse") return responseOf(text, hex);
  if (name == "PartitionRequest") {
    const bool several = text.find("subpartitions 7..9") != text.npos;
    return PartitionRequest{kPartition, 7, kReceiver, numberOf(text, "credit"), several ? 2u : 0u};
  }
  if (name == "TaskEventRequest") return TaskEventRequest{kPartition, kReceiver, fromHex(hex.substr(26, 2 * 77))};
  if (name == "AddCredit") return AddCredit{kReceiver, numberOf(text, "credit")};
  if (name == "BacklogAnnouncement") return BacklogAnnouncement{kReceiver, numberOf(text, "backlog")};
  if (name == "NewBufferSize") return NewBufferSize{kReceiver, numberOf(text, "buffer size")};
  if (name == "SegmentId") return SegmentId{kReceiver, numberOf(text, "subpartition"), numberOf(text, "segment")};
  if (name == "CancelPartitionRequest") return CancelPartitionRequest{kReceiver};
  if (name == "ResumeConsumption") return ResumeConsumption{kReceiver};
  if (name == "AckAllUserRecordsProcessed") return AckAllUserRecordsProcessed{kReceiver};
  if (name != "CloseRequest") ADD_FAILURE() << "unknown message " << name;
  return CloseRequest{};
}

/// The rows that are frames with bytes of their own: message, content, size, bytes.
std::vector<Row> frameRows() {
  std::vector<Row> rows;
  for (const Row& row : goldenRows("frames.tsv"))
    if (row[0] != "dataType" && row[2] != "error") rows.push_back(row);
  return rows;
}

TEST(GoldenFrames, AreWhatTheirMessagesEncodeTo) {
  std::set<std::string> names;
  for (const Row& row : frameRows()) {
    if (row[0] == "ErrorResponse") continue;  // a form of our own
    SCOPED_TRACE(row[0] + " " + row[1]);
    const NetworkMessage message = messageOf(row[0], row[1], row[3]);
    EXPECT_EQ(toHex(encoded(message)), row[3]);
    EXPECT_EQ(frameSize(message), std::stoul(row[2]));
    names.insert(row[0]);
  }
  EXPECT_EQ(names.size(), kFrameIdCount - 1) << "every message but the error has a vector";
}

TEST(GoldenFrames, DecodeToTheirMessages) {
  for (const Row& row : frameRows()) {
    if (row[0] == "ErrorResponse") continue;
    SCOPED_TRACE(row[0] + " " + row[1]);
    const NetworkMessage expected = messageOf(row[0], row[1], row[3]);
    const Decoded decoded = decodeAll(senderOf(expected), fromHex(row[3]));
    ASSERT_FALSE(decoded.error) << decoded.error->message;
    ASSERT_EQ(decoded.messages.size(), 1u);
    EXPECT_EQ(describe(decoded.messages[0]), describe(expected));
    EXPECT_EQ(toHex(encoded(decoded.messages[0])), row[3]);
  }
}

TEST(GoldenFrames, OfJavaExceptionsAreRefusedByWhatTheyAre) {
  int seen = 0;
  for (const Row& row : frameRows()) {
    if (row[0] != "ErrorResponse") continue;
    const Decoded decoded = decodeAll(FrameSender::kProducer, fromHex(row[3]));
    ASSERT_TRUE(decoded.error);
    EXPECT_EQ(decoded.error->code, ErrorCode::kUnsupported);
    EXPECT_EQ(
        decoded.error->message,
        "The peer breaks the protocol at byte 9 of the connection: ErrorResponse has an exception that Java has serialized, which only a "
        "Java process can read.");
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

TEST(GoldenFrames, OfEveryDataTypeAreThere) {
  for (const Row& row : goldenRows("frames.tsv")) {
    if (row[0] != "dataType") continue;
    const auto type = static_cast<DataType>(std::stoi(row[1]));
    EXPECT_EQ(toString(type), row[2]);
    EXPECT_EQ(isBuffer(type), row[3] == "true") << row[2];
    EXPECT_EQ(isEvent(type), row[4] == "true") << row[2];
    EXPECT_EQ(isBlockingUpstream(type), row[5] == "true") << row[2];
    EXPECT_EQ(hasPriority(type), row[6] == "true") << row[2];
    EXPECT_EQ(requiresAnnouncement(type), row[7] == "true") << row[2];
  }
}

/// Rows of frames-rejected.tsv: what is said here. Empty: it is taken.
const std::map<std::string, std::string> kSaid = {
    {"AddCredit with magic badc0fff", "byte 4 of the connection: the magic number is badc0fff instead of badc0ffe."},
    {"unknown id 12", "byte 8 of the connection: there is no message with the id 12."},
    {"unknown id 127 with 4 bytes", "byte 8 of the connection: there is no message with the id 127."},
    {"length 8 (shorter than the 9-byte header)", "byte 0 of the connection: CloseRequest has 8 bytes instead of 9."},
    {"length 0", "byte 0 of the connection: CloseRequest has 0 bytes instead of 9."},
    {"negative length", "byte 0 of the connection: CloseRequest has 4294967295 bytes instead of 9."},
    {"AddCredit credit 0", "byte 9 of the connection: AddCredit has a credit of 0, which must be positive."},
    {"AddCredit cut off (length too large by 4)", "byte 0 of the connection: AddCredit has 33 bytes instead of 29."},
    {"AddCredit with 4 bytes too many inside the frame", "byte 0 of the connection: AddCredit has 33 bytes instead of 29."},
    {"AddCredit 4 bytes short inside the frame", "byte 0 of the connection: AddCredit has 25 bytes instead of 29."},
    {"NewBufferSize 0", "byte 9 of the connection: NewBufferSize has a buffer size of 0, which must be positive."},
    {"BacklogAnnouncement 0", "byte 9 of the connection: BacklogAnnouncement has a backlog of 0, which must be positive."},
    {"SegmentId segment 0", "byte 13 of the connection: SegmentId has a segment of 0, which must be positive."},
    {"PartitionRequest subpartitions 9..7",
     "byte 73 of the connection: PartitionRequest asks for the subpartitions 9 to 7, which are none."},
    {"PartitionRequest credit -1", "byte 93 of the connection: PartitionRequest has a credit of -1, which must be 0 or more."},
    {"BufferResponse data type 14 (unknown)", "byte 41 of the connection: BufferResponse has the data type 14, which does not exist."},
    {"BufferResponse size field larger than the frame",
     "byte 43 of the connection: BufferResponse has 9 bytes of payload and 0 partial buffers, which does not fit its 54 bytes."},
    {"BufferResponse size field -1", "byte 43 of the connection: BufferResponse has a size of -1, which must be 0 or more."},
    {"BufferResponse cut off in its header",
     "byte 0 of the connection: BufferResponse has 33 bytes, which must be 47 to 81967."},
    {"BufferResponse event with unknown event id 99", ""},
};

TEST(GoldenFrames, ThatFlinkRefusesAreRefusedInOneSentence) {
  size_t seen = 0;
  for (const Row& row : goldenRows("frames-rejected.tsv")) {
    SCOPED_TRACE(row[0]);
    ASSERT_TRUE(kSaid.contains(row[0]));
    const std::string& said = kSaid.at(row[0]);
    for (const size_t slice : {size_t{1}, size_t{7}, SIZE_MAX}) {
      const Decoded decoded = decodeAll(row[1] == "server" ? FrameSender::kConsumer : FrameSender::kProducer, fromHex(row[2]), slice);
      EXPECT_EQ(decoded.error ? decoded.error->message : "", said.empty() ? "" : "The peer breaks the protocol at " + said);
      if (row[3].starts_with("rejected") && said.empty()) ADD_FAILURE() << "Flink refuses it";
    }
    ++seen;
  }
  EXPECT_EQ(seen, kSaid.size());
}

class Conversation : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Golden, Conversation, ::testing::Values("one-way", "two-way", "unaligned"), [](const auto& info) {
  return std::string(info.param) == "unaligned" ? "Unaligned" : info.param[0] == 'o' ? "OneWay" : "TwoWay";
});

/// A recorded frame: who sent it, its bytes, and what Flink's decoders say that it is.
struct Recorded {
  std::string connection;
  FrameSender sender;
  Bytes bytes;
  std::string flink;
  std::vector<std::string> events;
};
std::vector<Recorded> recorded(const std::string& name) {
  std::vector<Recorded> frames;
  for (const Row& row : goldenRows("conversation-" + name + ".txt")) {
    if (row.fields.size() == 1) {
      const std::string text = row[0].substr(row[0].find_first_not_of(' '));
      if (frames.back().flink.empty()) frames.back().flink = text;
      else if (text.starts_with("event ")) frames.back().events.push_back(text.substr(6));
    } else if (row[4] != "FIN" && row[4] != "RST") {
      frames.push_back({row[1], row[2] == "S>C" ? FrameSender::kProducer : FrameSender::kConsumer, fromHex(row[4]), "", {}});
    }
  }
  return frames;
}

TEST_P(Conversation, DecodesFrameByFrameToWhatFlinkSaysAndEncodesToTheSameBytes) {
  const auto frames = recorded(GetParam());
  ASSERT_GT(frames.size(), 10u);
  for (const Recorded& frame : frames) {
    SCOPED_TRACE(frame.flink);
    const Decoded decoded = decodeAll(frame.sender, frame.bytes);
    ASSERT_FALSE(decoded.error) << decoded.error->message;
    ASSERT_EQ(decoded.messages.size(), 1u);
    EXPECT_EQ(describe(decoded.messages[0]), frame.flink);
    EXPECT_EQ(toHex(encoded(decoded.messages[0])), toHex(frame.bytes));
  }
}

TEST_P(Conversation, HasEventsThatAreSentWithTheSameBytes) {
  for (const Recorded& frame : recorded(GetParam())) {
    if (frame.events.empty()) continue;
    SCOPED_TRACE(frame.events[0]);
    const Decoded decoded = decodeAll(frame.sender, frame.bytes);
    ASSERT_EQ(decoded.messages.size(), 1u);
    const Buffer& buffer = std::get<BufferResponse>(decoded.messages[0]).buffer;
    const auto event = EventSerializer::decode(buffer.bytes());
    ASSERT_TRUE(event.has_value()) << event.error().message;
    EXPECT_EQ(toHex(EventSerializer::encodeForSend(*event)), toHex(buffer.bytes()));
    EXPECT_EQ(dataTypeOf(*event, hasPriority(buffer.dataType())), buffer.dataType());
  }
}

TEST_P(Conversation, IsTheSameInSlicesOfEverySize) {
  for (const FrameSender sender : {FrameSender::kProducer, FrameSender::kConsumer}) {
    Bytes stream;
    std::vector<std::string> expected;
    for (const Recorded& frame : recorded(GetParam())) {
      if (frame.sender != sender || stream.size() > 8192) continue;
      stream.insert(stream.end(), frame.bytes.begin(), frame.bytes.end());
      expected.push_back(frame.flink);
    }
    for (size_t slice = 1; slice <= 160; ++slice) {
      const Decoded decoded = decodeAll(sender, stream, slice);
      ASSERT_FALSE(decoded.error) << decoded.error->message;
      Bytes again;
      std::vector<std::string> texts;
      for (const NetworkMessage& message : decoded.messages) {
        const Bytes frame = encoded(message);
        again.insert(again.end(), frame.begin(), frame.end());
        texts.push_back(describe(message));
      }
      ASSERT_EQ(texts, expected) << "slices of " << slice;
      ASSERT_EQ(again, stream) << "slices of " << slice;
    }
  }
}

}  // namespace
}  // namespace weir
