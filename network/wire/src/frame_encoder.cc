#include "weir/wire/frame_encoder.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/wire/frame_format.h"

namespace weir {
namespace {

/// The first `limit` bytes of a text, without half a character at the end.
std::string_view cut(std::string_view text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<uint8_t>(text[limit]) & 0xc0) == 0x80) --limit;
  return text.substr(0, limit);
}

/// Calls `each` with class and message of the exceptions of a chain, as far as they are sent.
template <class Each>
void forEachSent(const Throwable& outermost, Each&& each) {
  size_t sent = 0;
  for (const Throwable* at = &outermost; at && sent < kMaxErrorChain; at = at->cause().get(), ++sent)
    each(cut(at->className(), kMaxErrorClass), cut(at->message(), kMaxErrorMessage));
}

struct BodySize {
  static constexpr size_t kInt = 4;

  size_t operator()(const BufferResponse& m) const {
    return kBufferResponseHeadSize - kFrameHeaderSize + kInt * m.partialSizes.size() + m.buffer.size();
  }
  size_t operator()(const ErrorResponse& m) const {
    size_t size = 2 * kInt + 1 + (m.receiver ? kWireIdSize : 0);
    forEachSent(*m.cause, [&](std::string_view name, std::string_view text) { size += 2 * kInt + name.size() + text.size(); });
    return size;
  }
  size_t operator()(const BacklogAnnouncement&) const { return kInt + kWireIdSize; }
  size_t operator()(const PartitionRequest&) const { return kWirePartitionSize + 2 * kInt + kWireIdSize + kInt; }
  size_t operator()(const TaskEventRequest& m) const { return kInt + m.event.size() + kWirePartitionSize + kWireIdSize; }
  size_t operator()(const AddCredit&) const { return kInt + kWireIdSize; }
  size_t operator()(const ResumeConsumption&) const { return kWireIdSize; }
  size_t operator()(const AckAllUserRecordsProcessed&) const { return kWireIdSize; }
  size_t operator()(const NewBufferSize&) const { return kInt + kWireIdSize; }
  size_t operator()(const CancelPartitionRequest&) const { return kWireIdSize; }
  size_t operator()(const SegmentId&) const { return 2 * kInt + kWireIdSize; }
  size_t operator()(const CloseRequest&) const { return 0; }
};

/// Writes everything behind the header but the payload.
struct BodyWriter {
  DataOutput& out;

  template <class Tag>
  void id(const Id<Tag>& id) {
    out.writeBytes(std::span<const uint8_t>(id.bytes));
  }
  void partition(const ResultPartitionID& p) {
    id(p.partition.dataSet);
    out.writeInt(p.partition.partition);
    id(p.producer.graph);
    id(p.producer.vertex);
    out.writeInt(p.producer.subtask);
    out.writeInt(p.producer.attempt);
  }
  void text(std::string_view text) {
    out.writeInt(static_cast<int32_t>(text.size()));
    out.writeBytes(text);
  }
  void positive(int32_t number, const InputChannelID& receiver) {
    WEIR_CHECK_GT(number, 0);
    out.writeInt(number);
    id(receiver);
  }

  void operator()(const BufferResponse& m) {
    WEIR_CHECK(m.buffer.dataType() != DataType::NONE && m.subpartition >= 0 && m.backlog >= 0, "subpartition {}, backlog {}",
               m.subpartition, m.backlog);
    id(m.receiver);
    out.writeInt(m.subpartition);
    out.writeInt(static_cast<int32_t>(m.partialSizes.size()));
    out.writeInt(m.sequenceNumber);
    out.writeInt(m.backlog);
    out.writeByte(static_cast<int8_t>(m.buffer.dataType()));
    out.writeBoolean(m.compressed);
    out.writeInt(static_cast<int32_t>(m.buffer.size()));
    for (const int32_t size : m.partialSizes) out.writeInt(size);
  }
  void operator()(const ErrorResponse& m) {
    int32_t sent = 0;
    forEachSent(*m.cause, [&](std::string_view, std::string_view) { ++sent; });
    out.writeInt(static_cast<int32_t>(kErrorForm));
    out.writeInt(sent);
    forEachSent(*m.cause, [&](std::string_view name, std::string_view message) {
      text(name);
      text(message);
    });
    out.writeBoolean(m.receiver.has_value());
    if (m.receiver) id(*m.receiver);
  }
  void operator()(const PartitionRequest& m) {
    WEIR_CHECK_GE(m.credit, 0);
    partition(m.partition);
    out.writeInt(static_cast<int32_t>(m.subpartition));
    out.writeInt(static_cast<int32_t>(m.subpartition + m.furtherSubpartitions));
    id(m.receiver);
    out.writeInt(m.credit);
  }
  void operator()(const TaskEventRequest& m) {
    out.writeInt(static_cast<int32_t>(m.event.size()));
    out.writeBytes(std::span(m.event));
    partition(m.partition);
    id(m.receiver);
  }
  void operator()(const BacklogAnnouncement& m) { positive(m.backlog, m.receiver); }
  void operator()(const AddCredit& m) { positive(m.credit, m.receiver); }
  void operator()(const NewBufferSize& m) { positive(m.size, m.receiver); }
  void operator()(const SegmentId& m) {
    out.writeInt(m.subpartition);
    positive(m.segment, m.receiver);
  }
  void operator()(const ResumeConsumption& m) { id(m.receiver); }
  void operator()(const AckAllUserRecordsProcessed& m) { id(m.receiver); }
  void operator()(const CancelPartitionRequest& m) { id(m.receiver); }
  void operator()(const CloseRequest&) {}
};

}  // namespace

size_t frameSize(const NetworkMessage& message) { return kFrameHeaderSize + std::visit(BodySize{}, message); }

void appendFrameHead(const NetworkMessage& message, DataOutput& out) {
  const size_t size = frameSize(message), start = out.size();
  WEIR_CHECK_LE(size, static_cast<size_t>(INT32_MAX));
  out.writeInt(static_cast<int32_t>(size));
  out.writeInt(static_cast<int32_t>(kFrameMagic));
  out.writeByte(static_cast<int8_t>(frameIdOf(message)));
  std::visit(BodyWriter{out}, message);
  const auto* const response = std::get_if<BufferResponse>(&message);
  WEIR_CHECK_EQ(out.size() - start + (response ? response->buffer.size() : 0), size);
}

void appendFrame(const NetworkMessage& message, DataOutput& out) {
  appendFrameHead(message, out);
  if (const auto* const response = std::get_if<BufferResponse>(&message)) out.writeBytes(response->buffer.bytes());
}

}  // namespace weir
