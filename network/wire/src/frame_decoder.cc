#include "weir/wire/frame_decoder.h"

#include <algorithm>

#include "field_reader.h"
#include "weir/base/check.h"

namespace weir {
namespace {

/// Longer than any frame of fixed length, and than the fields of a BufferResponse.
constexpr size_t kUsualRoom = 128;
constexpr size_t kTaskEventHead = kFrameHeaderSize + 4 + kWirePartitionSize + kWireIdSize;
/// The form's name, how many exceptions, a class, a message, whether there is a receiver.
constexpr size_t kSmallestError = kFrameHeaderSize + 4 + 4 + 4 + 4 + 1;

struct Lengths {
  size_t least, most;
};

Lengths lengthsOf(FrameId id, const FrameLimits& limits) {
  const auto exactly = [](size_t body) { return Lengths{kFrameHeaderSize + body, kFrameHeaderSize + body}; };
  switch (id) {
    case FrameId::kBufferResponse:
      return {kBufferResponseHeadSize, kBufferResponseHeadSize + 4 * size_t{limits.partials} + std::max(limits.payload, limits.event)};
    case FrameId::kErrorResponse: return {kSmallestError, limits.error};
    case FrameId::kPartitionRequest: return exactly(kWirePartitionSize + 8 + kWireIdSize + 4);
    case FrameId::kTaskEventRequest: return {kTaskEventHead, kTaskEventHead + limits.event};
    case FrameId::kCancelPartitionRequest:
    case FrameId::kResumeConsumption:
    case FrameId::kAckAllUserRecordsProcessed: return exactly(kWireIdSize);
    case FrameId::kAddCredit:
    case FrameId::kBacklogAnnouncement:
    case FrameId::kNewBufferSize: return exactly(4 + kWireIdSize);
    case FrameId::kSegmentId: return exactly(8 + kWireIdSize);
    case FrameId::kCloseRequest: break;
  }
  return exactly(0);
}

PartitionRequest readPartitionRequest(FieldReader& in) {
  PartitionRequest m;
  m.partition = in.partition();
  const int32_t first = in.atLeast(0, "first subpartition");
  const int32_t last = in.number();
  if (last < first)
    in.refuse(in.lastAt(), fmt::format("PartitionRequest asks for the subpartitions {} to {}, which are none", first, last));
  m.subpartition = static_cast<uint32_t>(first);
  m.furtherSubpartitions = static_cast<uint32_t>(last) - static_cast<uint32_t>(first);
  m.receiver = in.id<InputChannelID>();
  m.credit = in.atLeast(0, "credit");
  return m;
}

TaskEventRequest readTaskEvent(FieldReader& in, const FrameLimits& limits) {
  TaskEventRequest m;
  const auto event = in.bytes(limits.event, "an event");
  m.event.assign(event.begin(), event.end());
  m.partition = in.partition();
  m.receiver = in.id<InputChannelID>();
  return m;
}

std::string readText(FieldReader& in, size_t limit, std::string_view name) {
  const auto bytes = in.bytes(limit, name);
  return {bytes.begin(), bytes.end()};
}

std::shared_ptr<const Throwable> readCauses(FieldReader& in, int32_t count) {
  if (count == 0 || in.violation()) return nullptr;
  std::string name = readText(in, kMaxErrorClass, "a class name");
  std::string message = readText(in, kMaxErrorMessage, "a message");
  return std::make_shared<Throwable>(std::move(name), std::move(message), readCauses(in, count - 1));
}

ErrorResponse readError(FieldReader& in) {
  const auto form = static_cast<uint32_t>(in.number());
  if (form >> 16 == 0xaced)
    in.refuse(in.lastAt(), "ErrorResponse has an exception that Java has serialized, which only a Java process can read",
              ErrorCode::kUnsupported);
  else if (form != kErrorForm)
    in.refuse(in.lastAt(), fmt::format("ErrorResponse has an exception of an unknown form {:08x}", form));
  const int32_t count = in.atLeast(1, "number of exceptions");
  if (count > static_cast<int32_t>(kMaxErrorChain))
    in.refuse(in.lastAt(), fmt::format("ErrorResponse has {} exceptions, of which {} are allowed", count, kMaxErrorChain));
  ErrorResponse m;
  m.cause = readCauses(in, count);
  if (in.flag("has a receiver")) m.receiver = in.id<InputChannelID>();
  return m;
}

template <class Message>
Message readReceiver(FieldReader& in) {
  return {in.id<InputChannelID>()};
}
template <class Message>
Message readPositive(FieldReader& in, std::string_view name) {
  const int32_t number = in.atLeast(1, name);
  return {in.id<InputChannelID>(), number};
}
SegmentId readSegmentId(FieldReader& in) {
  const int32_t subpartition = in.atLeast(0, "subpartition");
  const int32_t segment = in.atLeast(1, "segment");
  return {in.id<InputChannelID>(), subpartition, segment};
}

NetworkMessage readMessage(FieldReader& in, FrameId id, const FrameLimits& limits) {
  switch (id) {
    case FrameId::kErrorResponse: return readError(in);
    case FrameId::kPartitionRequest: return readPartitionRequest(in);
    case FrameId::kTaskEventRequest: return readTaskEvent(in, limits);
    case FrameId::kCancelPartitionRequest: return readReceiver<CancelPartitionRequest>(in);
    case FrameId::kResumeConsumption: return readReceiver<ResumeConsumption>(in);
    case FrameId::kAckAllUserRecordsProcessed: return readReceiver<AckAllUserRecordsProcessed>(in);
    case FrameId::kAddCredit: return readPositive<AddCredit>(in, "credit");
    case FrameId::kBacklogAnnouncement: return readPositive<BacklogAnnouncement>(in, "backlog");
    case FrameId::kNewBufferSize: return readPositive<NewBufferSize>(in, "buffer size");
    case FrameId::kSegmentId: return readSegmentId(in);
    case FrameId::kBufferResponse:
    case FrameId::kCloseRequest: break;
  }
  return CloseRequest{};
}

}  // namespace

FrameDecoder::FrameDecoder(FrameSender sender, FrameLimits limits) : sender_(sender), limits_(limits) { gathered_.reserve(kUsualRoom); }

Result<FrameDecoder::Step> FrameDecoder::decode(std::span<const uint8_t>& bytes) {
  for (;;) {
    switch (stage_) {
      case Stage::kHeader:
        if (!gather(bytes, kFrameHeaderSize)) return Step::kNeedMore;
        WEIR_TRY(readHeader());
        break;
      case Stage::kBody:
        if (!gather(bytes, length_)) return Step::kNeedMore;
        WEIR_TRY(readBody());
        return finish(Step::kMessage);
      case Stage::kResponseHead:
        if (!gather(bytes, kBufferResponseHeadSize)) return Step::kNeedMore;
        WEIR_TRY(readResponseHead());
        break;
      case Stage::kPartialSizes:
        if (!gather(bytes, kBufferResponseHeadSize + 4 * partials_)) return Step::kNeedMore;
        WEIR_TRY(readPartialSizes());
        break;
      case Stage::kNeedBuffer:
        return Step::kNeedBuffer;
      case Stage::kPayload: {
        const std::span<uint8_t> room = payloadRoom();
        const size_t size = std::min(room.size(), bytes.size());
        if (size > 0) std::memcpy(room.data(), bytes.data(), size);
        bytes = bytes.subspan(size);
        payloadArrived(size);
        if (payloadRead_ < payloadSize_) return Step::kNeedMore;
        message_ = std::move(response_);
        return finish(Step::kMessage);
      }
      case Stage::kDiscard:
        return skip(bytes);
      case Stage::kComplete:
        WEIR_CHECK(false, "the message before was not taken");
      case Stage::kBroken:
        return *error_;
    }
  }
}

bool FrameDecoder::gather(std::span<const uint8_t>& bytes, size_t size) {
  const size_t taken = std::min(size - gathered_.size(), bytes.size());
  gathered_.insert(gathered_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
  bytes = bytes.subspan(taken);
  offset_ += taken;
  return gathered_.size() == size;
}

Result<void> FrameDecoder::readHeader() {
  const auto length = loadBigEndian<uint32_t>(gathered_.data());
  const auto magic = loadBigEndian<uint32_t>(gathered_.data() + 4);
  const uint8_t id = gathered_[8];
  if (magic != kFrameMagic) return violation(4, fmt::format("the magic number is {:08x} instead of {:08x}", magic, kFrameMagic));
  if (id >= kFrameIdCount) return violation(8, fmt::format("there is no message with the id {}", id));
  id_ = static_cast<FrameId>(id);
  if (senderOf(id_) != sender_)
    return violation(8, fmt::format("{} is no message of a {}", nameOf(id_), sender_ == FrameSender::kProducer ? "producer" : "consumer"));
  const auto [least, most] = lengthsOf(id_, limits_);
  if (length < least || length > most)
    return violation(0, least == most ? fmt::format("{} has {} bytes instead of {}", nameOf(id_), length, least)
                                      : fmt::format("{} has {} bytes, which must be {} to {}", nameOf(id_), length, least, most));
  length_ = length;
  stage_ = id_ == FrameId::kBufferResponse ? Stage::kResponseHead : Stage::kBody;
  return {};
}

Result<void> FrameDecoder::readBody() {
  FieldReader in(gathered_, id_);
  in.skip(kFrameHeaderSize);
  NetworkMessage message = readMessage(in, id_, limits_);
  in.end();
  if (const auto& refused = in.violation()) return violation(refused->at, refused->what, refused->code);
  message_ = std::move(message);
  return {};
}

Result<void> FrameDecoder::readResponseHead() {
  FieldReader in(gathered_, id_);
  in.skip(kFrameHeaderSize);
  response_ = {};
  response_.receiver = in.id<InputChannelID>();
  response_.subpartition = in.atLeast(0, "subpartition");
  const int32_t partials = in.atLeast(0, "number of partial buffers");
  const size_t partialsAt = in.lastAt();
  response_.sequenceNumber = in.number();  // any: it starts again at the smallest after the largest
  response_.backlog = in.atLeast(0, "backlog");
  const auto type = static_cast<DataType>(in.byte());
  if (!isBuffer(type) && (!isEvent(type) || static_cast<int>(type) >= kDataTypeCount))
    in.refuse(in.lastAt(), fmt::format("BufferResponse has the data type {}, which does not exist", static_cast<int>(type)));
  response_.compressed = in.flag("compressed");
  if (response_.compressed && !isBuffer(type)) in.refuse(in.lastAt(), "BufferResponse has an event that is compressed");
  const int32_t size = in.atLeast(0, "size");
  const uint32_t most = isBuffer(type) ? limits_.payload : limits_.event;
  if (size >= 0 && static_cast<uint32_t>(size) > most)
    in.refuse(in.lastAt(), fmt::format("BufferResponse has {} bytes of {}, of which {} are allowed", size, toString(type), most));
  if (partials > 0 && (!isBuffer(type) || static_cast<uint32_t>(partials) > limits_.partials))
    in.refuse(partialsAt, fmt::format("BufferResponse has {} partial buffers in a {}, of which {} are allowed", partials, toString(type),
                                      isBuffer(type) ? limits_.partials : 0));
  if (!in.violation() && kBufferResponseHeadSize + 4 * static_cast<size_t>(partials) + static_cast<size_t>(size) != length_)
    in.refuse(in.lastAt(), fmt::format("BufferResponse has {} bytes of payload and {} partial buffers, which does not fit its {} bytes",
                                       size, partials, length_));
  if (const auto& refused = in.violation()) return violation(refused->at, refused->what, refused->code);

  response_.buffer = Buffer::adopt(nullptr, 0, 0, type);
  payloadSize_ = static_cast<uint32_t>(size);
  payloadRead_ = 0;
  partials_ = static_cast<size_t>(partials);
  if (partials_ > 0) stage_ = Stage::kPartialSizes;
  else beginPayload();
  return {};
}

Result<void> FrameDecoder::readPartialSizes() {
  FieldReader in(gathered_, id_);
  in.skip(kBufferResponseHeadSize);
  uint64_t sum = 0;
  response_.partialSizes.reserve(partials_);
  for (size_t i = 0; i < partials_; ++i) {
    response_.partialSizes.push_back(in.atLeast(0, "partial buffer's size"));
    sum += static_cast<uint64_t>(response_.partialSizes.back());
  }
  if (!in.violation() && sum != payloadSize_)
    in.refuse(kBufferResponseHeadSize, fmt::format("BufferResponse has partial buffers of {} bytes in a payload of {}", sum, payloadSize_));
  if (const auto& refused = in.violation()) return violation(refused->at, refused->what, refused->code);
  beginPayload();
  return {};
}

void FrameDecoder::beginPayload() {
  stage_ = Stage::kNeedBuffer;
  // An event comes however little memory there is: it waits for no segment.
  if (!response_.buffer.isBuffer()) provide(MemorySegment::allocate(payloadSize_));
}

void FrameDecoder::provide(MemorySegment* segment) {
  WEIR_CHECK(stage_ == Stage::kNeedBuffer && segment->capacity() >= payloadSize_, "{} bytes for a payload of {}", segment->capacity(),
             payloadSize_);
  response_.buffer = Buffer::adopt(segment, 0, payloadSize_, response_.buffer.dataType());
  stage_ = Stage::kPayload;
}

void FrameDecoder::discard() {
  WEIR_CHECK(stage_ == Stage::kNeedBuffer);
  stage_ = Stage::kDiscard;
}

std::span<uint8_t> FrameDecoder::payloadRoom() {
  if (stage_ != Stage::kPayload) return {};
  return {response_.buffer.segment()->data() + payloadRead_, payloadSize_ - payloadRead_};
}

void FrameDecoder::payloadArrived(size_t size) {
  WEIR_CHECK(stage_ == Stage::kPayload && size <= payloadSize_ - payloadRead_, "{} bytes of a payload of {}, of which {} were there", size,
             payloadSize_, payloadRead_);
  payloadRead_ += static_cast<uint32_t>(size);
  offset_ += size;
}

Result<FrameDecoder::Step> FrameDecoder::skip(std::span<const uint8_t>& bytes) {
  const auto size = static_cast<uint32_t>(std::min<size_t>(payloadSize_ - payloadRead_, bytes.size()));
  bytes = bytes.subspan(size);
  payloadRead_ += size;
  offset_ += size;
  if (payloadRead_ < payloadSize_) return Step::kNeedMore;
  return finish(Step::kDiscarded);
}

FrameDecoder::Step FrameDecoder::finish(Step step) {
  stage_ = step == Step::kMessage ? Stage::kComplete : Stage::kHeader;
  gathered_.clear();
  if (gathered_.capacity() > kUsualRoom) {  // a long frame was an exception: its memory is not kept for the next
    gathered_.shrink_to_fit();
    gathered_.reserve(kUsualRoom);
  }
  frameStart_ = offset_;
  return step;
}

NetworkMessage FrameDecoder::take() {
  WEIR_CHECK(stage_ == Stage::kComplete, "no message is complete");
  stage_ = Stage::kHeader;
  NetworkMessage message = std::move(*message_);
  message_.reset();
  return message;
}

Error FrameDecoder::violation(size_t at, std::string what, ErrorCode code) {
  stage_ = Stage::kBroken;
  error_ = Error{code, fmt::format("The peer breaks the protocol at byte {} of the connection: {}.", frameStart_ + at, what)};
  return *error_;
}

}  // namespace weir
