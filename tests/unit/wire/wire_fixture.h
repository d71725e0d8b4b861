#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "support/golden_bytes.h"
#include "weir/wire/frame_decoder.h"
#include "weir/wire/frame_encoder.h"

namespace weir::test {

using Bytes = std::vector<uint8_t>;

inline Bytes encoded(const NetworkMessage& message) {
  DataOutput out;
  appendFrame(message, out);
  return out.toVector();
}

/// A decoder whose every payload gets heap memory: what it makes of bytes that come in slices of `slice`.
struct Decoded {
  std::vector<NetworkMessage> messages;
  std::optional<Error> error;
  size_t mostHeld = 0;
};
inline Decoded decodeAll(FrameSender sender, std::span<const uint8_t> bytes, size_t slice = SIZE_MAX, FrameLimits limits = {}) {
  Decoded result;
  FrameDecoder decoder(sender, limits);
  while (!bytes.empty() && !result.error) {
    std::span<const uint8_t> some = bytes.first(std::min(slice, bytes.size()));
    bytes = bytes.subspan(some.size());
    for (;;) {
      const auto step = decoder.decode(some);
      result.mostHeld = std::max(result.mostHeld, decoder.heldBytes());
      if (step.has_error()) {
        result.error = step.error();
        break;
      }
      if (*step == FrameDecoder::Step::kNeedMore) break;
      if (*step == FrameDecoder::Step::kNeedBuffer) decoder.provide(MemorySegment::allocate(decoder.payloadSize()));
      if (*step == FrameDecoder::Step::kMessage) result.messages.push_back(decoder.take());
    }
    EXPECT_TRUE(some.empty() || result.error) << "who needs more has taken all";
  }
  return result;
}

inline FrameSender senderOf(const NetworkMessage& message) { return weir::senderOf(frameIdOf(message)); }

/// A message in the words of Flink's decoder, as the golden conversations have them.
struct Describe {
  static std::string of(const ResultPartitionID& p) {
    return fmt::format("partition={}#{} producer={}", p.partition.dataSet.toString(), p.partition.partition, p.producer.toString());
  }
  std::string operator()(const BufferResponse& m) const {
    return fmt::format("receiver={} subpartition={} seq={} backlog={} type={} compressed={} size={} partials=[{}]", m.receiver.toString(),
                       m.subpartition, m.sequenceNumber, m.backlog, toString(m.buffer.dataType()), m.compressed, m.buffer.size(),
                       fmt::join(m.partialSizes, ", "));
  }
  std::string operator()(const ErrorResponse& m) const {
    return fmt::format("receiver={} cause={}", m.receiver ? m.receiver->toString() : "none", m.cause->trace());
  }
  std::string operator()(const PartitionRequest& m) const {
    return fmt::format("{} subpartitions=[{}, {}] receiver={} credit={}", of(m.partition), m.subpartition,
                       m.subpartition + m.furtherSubpartitions, m.receiver.toString(), m.credit);
  }
  std::string operator()(const TaskEventRequest& m) const {
    return fmt::format("{} receiver={} event={}", of(m.partition), m.receiver.toString(), toHex(m.event));
  }
  std::string operator()(const BacklogAnnouncement& m) const {
    return fmt::format("backlog={} receiver={}", m.backlog, m.receiver.toString());
  }
  std::string operator()(const AddCredit& m) const { return fmt::format("credit={} receiver={}", m.credit, m.receiver.toString()); }
  std::string operator()(const NewBufferSize& m) const { return fmt::format("size={} receiver={}", m.size, m.receiver.toString()); }
  std::string operator()(const SegmentId& m) const {
    return fmt::format("subpartition={} segment={} receiver={}", m.subpartition, m.segment, m.receiver.toString());
  }
  std::string operator()(const CloseRequest&) const { return ""; }
  template <class OfReceiver>
  std::string operator()(const OfReceiver& m) const {
    return fmt::format("receiver={}", m.receiver.toString());
  }
};
inline std::string describe(const NetworkMessage& message) {
  return fmt::format("{} {}", nameOf(message), std::visit(Describe{}, message));
}

}  // namespace weir::test
