#include "weir/record/event_serializer.h"

#include <fmt/format.h>

#include <algorithm>

#include "weir/record/data_input.h"
#include "weir/record/data_output.h"

namespace weir {

namespace {

enum class EventType : int32_t {
  kEndOfPartition = 0,
  kCheckpointBarrier = 1,
  kEndOfSuperstep = 2,
  kOther = 3,
  kCancelCheckpointMarker = 4,
  kEndOfChannelState = 5,
  kEventAnnouncement = 6,
  kSubtaskConnectionDescriptor = 7,
  kEndOfData = 8,
  kEndOfSegment = 9,
  kRecoveryMetadata = 10,
  kWatermarkEvent = 11,
  kEndOfInputChannelState = 12,
};

/// What Flink allocates for a barrier without a location; it never needs all of it, and sends all of it.
constexpr size_t kSentBarrierSize = 38;

struct Encoder {
  DataOutput& out;
  void type(EventType type) { out.writeInt(static_cast<int32_t>(type)); }

  void operator()(const EndOfPartition&) { type(EventType::kEndOfPartition); }
  void operator()(const EndOfSuperstep&) { type(EventType::kEndOfSuperstep); }
  void operator()(const EndOfChannelState&) { type(EventType::kEndOfChannelState); }
  void operator()(const EndOfSegment&) { type(EventType::kEndOfSegment); }
  void operator()(const EndOfInputChannelState&) { type(EventType::kEndOfInputChannelState); }
  void operator()(const CheckpointBarrier& barrier) {
    const CheckpointOptions& options = barrier.options;
    type(EventType::kCheckpointBarrier);
    out.writeLong(barrier.id);
    out.writeLong(barrier.timestamp);
    out.writeByte(static_cast<int8_t>(options.type));
    if (isSavepoint(options.type)) out.writeByte(static_cast<int8_t>(options.format));
    out.writeInt(options.hasLocation ? static_cast<int32_t>(options.location.size()) : -1);
    if (options.hasLocation) out.writeBytes(std::span(options.location));
    out.writeByte(static_cast<int8_t>(options.alignment));
    out.writeLong(options.alignedTimeoutMs);
  }
  void operator()(const CancelCheckpointMarker& marker) {
    type(EventType::kCancelCheckpointMarker);
    out.writeLong(marker.checkpointId);
  }
  void operator()(const EventAnnouncement& announcement) {
    type(EventType::kEventAnnouncement);
    out.writeInt(announcement.sequenceNumber);
    (*this)(announcement.announced);
  }
  void operator()(const SubtaskConnectionDescriptor& pair) {
    type(EventType::kSubtaskConnectionDescriptor);
    out.writeInt(pair.inputSubtaskIndex);
    out.writeInt(pair.outputSubtaskIndex);
  }
  void operator()(const EndOfData& end) {
    type(EventType::kEndOfData);
    out.writeByte(static_cast<int8_t>(end.mode));
  }
  void operator()(const RecoveryMetadata& metadata) {
    type(EventType::kRecoveryMetadata);
    out.writeInt(metadata.finalBufferSubpartitionId);
  }
  void operator()(const WatermarkEvent& watermark) {
    type(EventType::kWatermarkEvent);
    out.writeUtf(watermark.identifier);
    out.writeBoolean(watermark.aligned);
    out.writeInt(static_cast<int32_t>(watermark.value.index()));
    if (auto number = std::get_if<int64_t>(&watermark.value))
      out.writeLong(*number);
    else
      out.writeBoolean(std::get<bool>(watermark.value));
  }
};

/// Reads behind the type. Fails the input where Flink's own constructors would refuse the options.
CheckpointBarrier readBarrier(DataInput& in) {
  CheckpointBarrier barrier;
  CheckpointOptions& options = barrier.options;
  barrier.id = in.readLong();
  barrier.timestamp = in.readLong();
  uint8_t type = in.readUnsignedByte();
  if (type > static_cast<uint8_t>(SnapshotType::kFullCheckpoint)) in.fail("has an unknown checkpoint type");
  options.type = static_cast<SnapshotType>(type);
  if (isSavepoint(options.type)) {
    uint8_t format = in.readUnsignedByte();
    if (format > static_cast<uint8_t>(SavepointFormat::kNative)) in.fail("has an unknown savepoint format");
    options.format = static_cast<SavepointFormat>(format);
  }
  int32_t locationSize = in.readInt();
  if (locationSize == 0 || locationSize < -1) in.fail("has a location of no possible length");
  if (locationSize > 0) {
    auto location = in.take(static_cast<size_t>(locationSize));
    options.location.assign(location.begin(), location.end());
    options.hasLocation = true;
  }
  uint8_t alignment = in.readUnsignedByte();
  if (alignment > static_cast<uint8_t>(AlignmentType::kForcedAligned)) in.fail("has an unknown alignment type");
  options.alignment = static_cast<AlignmentType>(alignment);
  options.alignedTimeoutMs = in.readLong();
  if (options.isUnaligned() && isSavepoint(options.type)) in.fail("is of an unaligned savepoint, which does not exist");
  if (options.isUnaligned() && options.alignedTimeoutMs != CheckpointOptions::kNoTimeout)
    in.fail("is unaligned and has an alignment timeout");
  return barrier;
}

EventAnnouncement readAnnouncement(DataInput& in) {
  EventAnnouncement announcement;
  announcement.sequenceNumber = in.readInt();
  auto type = static_cast<EventType>(in.readInt());
  if (type == EventType::kCheckpointBarrier)
    announcement.announced = readBarrier(in);
  else
    in.fail("announces something else than a checkpoint barrier");
  return announcement;
}

EndOfData readEndOfData(DataInput& in) {
  uint8_t mode = in.readUnsignedByte();
  if (mode > static_cast<uint8_t>(StopMode::NO_DRAIN)) in.fail("has an unknown stop mode");
  return {static_cast<StopMode>(mode)};
}

WatermarkEvent readWatermark(DataInput& in) {
  WatermarkEvent watermark;
  watermark.identifier = in.readUtf();
  watermark.aligned = in.readBoolean();
  int32_t kind = in.readInt();
  if (kind == 0)
    watermark.value = in.readLong();
  else if (kind == 1)
    watermark.value = in.readBoolean();
  else
    in.fail("has an unknown kind of value");
  return watermark;
}

RuntimeEvent readFields(DataInput& in, EventType type) {
  switch (type) {
    case EventType::kEndOfPartition:
      return EndOfPartition{};
    case EventType::kCheckpointBarrier:
      return readBarrier(in);
    case EventType::kEndOfSuperstep:
      return EndOfSuperstep{};
    case EventType::kCancelCheckpointMarker:
      return CancelCheckpointMarker{in.readLong()};
    case EventType::kEndOfChannelState:
      return EndOfChannelState{};
    case EventType::kEventAnnouncement:
      return readAnnouncement(in);
    case EventType::kSubtaskConnectionDescriptor: {
      int32_t input = in.readInt();
      return SubtaskConnectionDescriptor{input, in.readInt()};
    }
    case EventType::kEndOfData:
      return readEndOfData(in);
    case EventType::kEndOfSegment:
      return EndOfSegment{};
    case EventType::kRecoveryMetadata:
      return RecoveryMetadata{in.readInt()};
    case EventType::kWatermarkEvent:
      return readWatermark(in);
    case EventType::kEndOfInputChannelState:
      return EndOfInputChannelState{};
    case EventType::kOther:
      break;
  }
  in.fail("is of an unknown type");
  return EndOfPartition{};
}

std::string alignmentName(AlignmentType type) {
  switch (type) {
    case AlignmentType::kAtLeastOnce:
      return "AT_LEAST_ONCE";
    case AlignmentType::kAligned:
      return "ALIGNED";
    case AlignmentType::kUnaligned:
      return "UNALIGNED";
    case AlignmentType::kForcedAligned:
      return "FORCED_ALIGNED";
  }
  return "?";
}

struct Printer {
  std::string operator()(const EndOfPartition&) const { return "EndOfPartitionEvent"; }
  std::string operator()(const EndOfSuperstep&) const { return "EndOfSuperstepEvent"; }
  std::string operator()(const EndOfChannelState&) const { return "EndOfOutputChannelStateEvent"; }
  std::string operator()(const EndOfSegment&) const { return "EndOfSegmentEvent"; }
  std::string operator()(const EndOfInputChannelState&) const { return "EndOfInputChannelStateEvent"; }
  std::string operator()(const CheckpointBarrier& b) const {
    std::string timeout =
        b.options.alignedTimeoutMs == CheckpointOptions::kNoTimeout ? "" : fmt::format(" timeout={}", b.options.alignedTimeoutMs);
    return fmt::format("CheckpointBarrier {} @ {} {}{} {}", b.id, b.timestamp, alignmentName(b.options.alignment), timeout,
                       toString(b.options.type, b.options.format));
  }
  std::string operator()(const CancelCheckpointMarker& m) const { return fmt::format("CancelCheckpointMarker {}", m.checkpointId); }
  std::string operator()(const EventAnnouncement& a) const {
    return fmt::format("Announcement of [{}] at {}", (*this)(a.announced), a.sequenceNumber);
  }
  std::string operator()(const SubtaskConnectionDescriptor& d) const {
    return fmt::format("SubtaskConnectionDescriptor{{inputSubtaskIndex={}, outputSubtaskIndex={}}}", d.inputSubtaskIndex,
                       d.outputSubtaskIndex);
  }
  std::string operator()(const EndOfData& e) const {
    return fmt::format("EndOfData{{mode={}}}", e.mode == StopMode::DRAIN ? "DRAIN" : "NO_DRAIN");
  }
  std::string operator()(const RecoveryMetadata& m) const {
    return fmt::format("RecoveryMetadata{{finalBufferSubpartitionId={}}}", m.finalBufferSubpartitionId);
  }
  std::string operator()(const WatermarkEvent& w) const {
    std::string value = std::visit([](auto v) { return fmt::format("{}", v); }, w.value);
    return fmt::format("WatermarkEvent{{identifier={}, value={}, isAligned={}}}", w.identifier, value, w.aligned);
  }
};

}  // namespace

std::vector<uint8_t> EventSerializer::encode(const RuntimeEvent& event) {
  DataOutput out;
  std::visit(Encoder{out}, event);
  return out.toVector();
}

std::vector<uint8_t> EventSerializer::encodeForSend(const RuntimeEvent& event) {
  const auto* const barrier = std::get_if<CheckpointBarrier>(&event);
  if (!barrier) return encode(event);
  const size_t sent = kSentBarrierSize + barrier->options.location.size();
  DataOutput out(sent);
  Encoder{out}(*barrier);
  std::vector<uint8_t> bytes(sent);
  std::copy(out.bytes().begin(), out.bytes().end(), bytes.begin());
  return bytes;
}

Result<RuntimeEvent> EventSerializer::decode(std::span<const uint8_t> bytes) {
  DataInput in(bytes);
  auto type = static_cast<EventType>(in.readInt());
  if (in.ok() && type == EventType::kOther) {
    std::string className = in.readUtf();
    if (in.ok())
      return Error{ErrorCode::kUnsupported, fmt::format("An event of class {} arrived; Weir knows Flink's own events only.", className)};
  } else if (in.ok()) {
    RuntimeEvent event = readFields(in, type);
    if (in.ok()) return event;
  }
  return in.error(fmt::format("An event of type {}", static_cast<int32_t>(type)));
}

DataType dataTypeOf(const RuntimeEvent& event, bool priority) {
  if (priority) return DataType::PRIORITIZED_EVENT_BUFFER;
  if (std::holds_alternative<EndOfChannelState>(event)) return DataType::RECOVERY_COMPLETION;
  if (std::holds_alternative<EndOfData>(event)) return DataType::END_OF_DATA;
  if (std::holds_alternative<EndOfPartition>(event)) return DataType::END_OF_PARTITION;
  if (auto watermark = std::get_if<WatermarkEvent>(&event))
    return watermark->aligned ? DataType::ALIGNED_WATERMARK_EVENT : DataType::UNALIGNED_WATERMARK_EVENT;
  auto barrier = std::get_if<CheckpointBarrier>(&event);
  if (!barrier || !barrier->options.needsAlignment()) return DataType::EVENT_BUFFER;
  return barrier->options.isTimeoutable() ? DataType::TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER : DataType::ALIGNED_CHECKPOINT_BARRIER;
}

std::string toString(const RuntimeEvent& event) { return std::visit(Printer{}, event); }

}  // namespace weir
