#include <gtest/gtest.h>

#include <set>

#include "support/golden_bytes.h"
#include "weir/record/event_serializer.h"

namespace weir {
namespace {

using test::fromHex;
using test::goldenRows;
using test::Row;
using test::toHex;

constexpr int64_t kTime = 1543488224622;
constexpr std::string_view kSavepointPath = "file:/savepoints/savepoint-1a2b3c-000000000000";

std::vector<uint8_t> pathReference() {
  std::string reference = "\x05\x5f\x3f\x18" + std::string(kSavepointPath);
  return {reference.begin(), reference.end()};
}

/// The barrier that a row's description speaks of.
CheckpointBarrier barrierOf(const std::string& text) {
  auto has = [&](std::string_view part) { return text.find(part) != std::string::npos; };
  CheckpointBarrier barrier{has("id=8") ? 8 : has("Long.MAX") ? INT64_MAX : 7, has("ts=0") ? 0 : kTime, {}};
  CheckpointOptions& options = barrier.options;
  if (has("FULL_CHECKPOINT")) options.type = SnapshotType::kFullCheckpoint;
  if (has("SAVEPOINT")) options.type = SnapshotType::kSavepoint;
  if (has("SAVEPOINT_SUSPEND")) options.type = SnapshotType::kSavepointSuspend;
  if (has("SAVEPOINT_TERMINATE")) options.type = SnapshotType::kSavepointTerminate;
  if (has("NATIVE")) options.format = SavepointFormat::kNative;
  if (isSavepoint(options.type)) options.location = pathReference();
  if (has("reference=010203")) options.location = {1, 2, 3};
  options.hasLocation = !options.location.empty();
  if (has("AT_LEAST_ONCE")) options.alignment = AlignmentType::kAtLeastOnce;
  if (has(" UNALIGNED")) options.alignment = AlignmentType::kUnaligned;
  if (has("FORCED_ALIGNED")) options.alignment = AlignmentType::kForcedAligned;
  if (has("timeout=30000")) options.alignedTimeoutMs = 30000;
  return barrier;
}

RuntimeEvent eventOf(const std::string& text) {
  auto starts = [&](std::string_view prefix) { return text.starts_with(prefix); };
  if (starts("CheckpointBarrier")) return barrierOf(text);
  if (starts("EventAnnouncement seq=42 of ")) return EventAnnouncement{barrierOf(text), 42};
  if (text == "EndOfPartition") return EndOfPartition{};
  if (text == "EndOfData DRAIN") return EndOfData{StopMode::DRAIN};
  if (text == "EndOfData NO_DRAIN") return EndOfData{StopMode::NO_DRAIN};
  if (text == "EndOfSuperstep") return EndOfSuperstep{};
  if (text == "EndOfSegment") return EndOfSegment{};
  if (text == "CancelCheckpointMarker 7") return CancelCheckpointMarker{7};
  if (text == "EndOfOutputChannelState") return EndOfChannelState{};
  if (text == "EndOfInputChannelState") return EndOfInputChannelState{};
  if (text == "SubtaskConnectionDescriptor input=3 output=5") return SubtaskConnectionDescriptor{3, 5};
  if (text == "RecoveryMetadata finalBufferSubpartitionId=6") return RecoveryMetadata{6};
  if (text == "WatermarkEvent long 99 id=\"wm\" aligned=false") return WatermarkEvent{"wm", false, int64_t{99}};
  if (text == "WatermarkEvent long 99 id=\"wm\" aligned=true") return WatermarkEvent{"wm", true, int64_t{99}};
  if (text == "WatermarkEvent bool true id=\"wm\" aligned=false") return WatermarkEvent{"wm", false, true};
  ADD_FAILURE() << "no event for " << text;
  return EndOfPartition{};
}

std::string typeColumn(DataType type) { return std::string(toString(type)) + "(" + std::to_string(static_cast<int>(type)) + ")"; }

TEST(GoldenEvents, EveryEventHasTheBytesAndTheBufferTypeOfFlinkAndIsReadBack) {
  int checked = 0;
  for (const Row& row : goldenRows("events.tsv")) {
    if (row[0] == "reject" || row[0].starts_with("TaskEvent")) continue;
    SCOPED_TRACE("line " + std::to_string(row.line));
    RuntimeEvent event = eventOf(row[0]);
    EXPECT_EQ(toHex(EventSerializer::encode(event)), row[4]);
    EXPECT_EQ(typeColumn(dataTypeOf(event, row[1] == "priority")), row[2]);
    auto back = EventSerializer::decode(fromHex(row[4]));
    ASSERT_TRUE(back.has_value()) << back.error().message;
    EXPECT_EQ(*back, event) << toString(*back);
    ++checked;
  }
  EXPECT_EQ(checked, 56);
}

TEST(GoldenEvents, AnEventOfAUserClassIsRefusedByName) {
  int checked = 0;
  for (const Row& row : goldenRows("events.tsv")) {
    if (!row[0].starts_with("TaskEvent")) continue;
    auto event = EventSerializer::decode(fromHex(row[4]));
    ASSERT_FALSE(event.has_value());
    EXPECT_EQ(event.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(event.error().message.find("EventVectors$MyTaskEvent"), std::string::npos) << event.error().message;
    ++checked;
  }
  EXPECT_EQ(checked, 2);
}

TEST(GoldenEvents, DamagedBytesAreRefusedWhereFlinkRefusesThem) {
  int checked = 0;
  for (const Row& row : goldenRows("events.tsv")) {
    if (row[0] != "reject") continue;
    SCOPED_TRACE("line " + std::to_string(row.line));
    auto event = EventSerializer::decode(fromHex(row[1]));
    EXPECT_EQ(event.has_value(), row[2].starts_with("accepted"));
    if (event.has_value())
      EXPECT_EQ(*event, RuntimeEvent(EndOfData{StopMode::DRAIN}));
    else
      EXPECT_NE(event.error().message, "");
    ++checked;
  }
  EXPECT_EQ(checked, 10);
}

TEST(EventSerializer, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(EventSerializer::decode(fromHex("0000000802")).error().message, "An event of type 8 has an unknown stop mode (at byte 5 of 5)");
  EXPECT_EQ(EventSerializer::decode(fromHex("00000063")).error().message, "An event of type 99 is of an unknown type (at byte 4 of 4)");
  EXPECT_EQ(EventSerializer::decode(fromHex("000000040000")).error().message, "An event of type 4 ends too early (at byte 4 of 6)");
  EXPECT_EQ(EventSerializer::decode(fromHex("0000")).error().message, "An event of type 0 ends too early (at byte 0 of 2)");
}

TEST(EventSerializer, EveryTruncationOfEveryEventIsRefusedOrWasPadding) {
  for (const Row& row : goldenRows("events.tsv")) {
    if (row[0] == "reject") continue;
    auto bytes = fromHex(row[4]);
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(EventSerializer::decode(std::span(bytes).first(size)).has_value()) << row[0] << " cut to " << size;
  }
}

TEST(EventSerializer, ATaskSendsABarrierWithZeroesBehindItAndNothingElsePadded) {
  auto sent = EventSerializer::encodeForSend(CheckpointBarrier{1, 2, {}});
  EXPECT_EQ(toHex(sent),
            "00000001000000000000000100000000000000020"
            "0ffffffff017fffffffffffffff00000000");
  EXPECT_EQ(EventSerializer::decode(sent).value(), RuntimeEvent(CheckpointBarrier{1, 2, {}}));

  CheckpointBarrier savepoint = barrierOf("id=8 SAVEPOINT");
  EXPECT_EQ(EventSerializer::encode(savepoint).size(), 85u);
  EXPECT_EQ(EventSerializer::encodeForSend(savepoint).size(), 38u + pathReference().size());
  EXPECT_EQ(EventSerializer::decode(EventSerializer::encodeForSend(savepoint)).value(), RuntimeEvent(savepoint));

  EXPECT_EQ(EventSerializer::encodeForSend(EndOfData{}), EventSerializer::encode(EndOfData{}));
  EXPECT_EQ(EventSerializer::encodeForSend(CancelCheckpointMarker{3}), EventSerializer::encode(CancelCheckpointMarker{3}));
}

TEST(EventSerializer, RefusesABarrierWhoseOptionsCannotBe) {
  auto decodedWith = [](std::string_view type, std::string_view location, std::string_view alignment, std::string_view timeout) {
    return EventSerializer::decode(
        fromHex("00000001"
                "0000000000000007"
                "0000000000000001" +
                std::string(type) + std::string(location) + std::string(alignment) + std::string(timeout)));
  };
  constexpr const char* kNone = "7fffffffffffffff";
  EXPECT_TRUE(decodedWith("00", "ffffffff", "02", kNone).has_value());
  EXPECT_FALSE(decodedWith("05", "ffffffff", "02", kNone).has_value()) << "type";
  EXPECT_FALSE(decodedWith("0102", "ffffffff", "01", kNone).has_value()) << "format";
  EXPECT_FALSE(decodedWith("00", "00000000", "01", kNone).has_value()) << "empty location";
  EXPECT_FALSE(decodedWith("00", "fffffffe", "01", kNone).has_value()) << "negative location";
  EXPECT_FALSE(decodedWith("00", "7fffffff", "01", kNone).has_value()) << "location longer than the event";
  EXPECT_FALSE(decodedWith("00", "ffffffff", "04", kNone).has_value()) << "alignment";
  EXPECT_FALSE(decodedWith("00", "ffffffff", "02", "0000000000007530").has_value()) << "unaligned with timeout";
  EXPECT_FALSE(decodedWith("0100", "ffffffff", "02", kNone).has_value()) << "unaligned savepoint";
}

TEST(EventSerializer, AnnouncesBarriersOnly) {
  EXPECT_FALSE(EventSerializer::decode(fromHex("000000060000002a00000000")).has_value());
  EXPECT_FALSE(EventSerializer::decode(fromHex("000000060000002a000000060000002a00000000")).has_value());
}

TEST(RuntimeEvent, ABarrierTurnsUnalignedAndDropsItsTimeout) {
  CheckpointBarrier barrier = barrierOf("id=7 timeout=30000");
  EXPECT_TRUE(barrier.asUnaligned().options.isUnaligned());
  EXPECT_EQ(barrier.asUnaligned().options.alignedTimeoutMs, CheckpointOptions::kNoTimeout);
  EXPECT_EQ(barrier.asUnaligned().asUnaligned(), barrier.asUnaligned());
  EXPECT_EQ(dataTypeOf(barrier, false), DataType::TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER);
  EXPECT_EQ(dataTypeOf(barrier.asUnaligned(), true), DataType::PRIORITIZED_EVENT_BUFFER);
}

TEST(RuntimeEvent, PrintsWhatAnOperatorNeedsToKnow) {
  EXPECT_EQ(
      toString(barrierOf("id=7 timeout=30000")),
      "CheckpointBarrier 7 @ 1543488224622 ALIGNED timeout=30000 CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}");
  std::set<std::string> texts;
  for (const Row& row : goldenRows("events.tsv"))
    if (row[0] != "reject" && !row[0].starts_with("TaskEvent")) texts.insert(toString(eventOf(row[0])));
  EXPECT_EQ(texts.size(), 28u) << "every golden event prints differently";
}

}  // namespace
}  // namespace weir
