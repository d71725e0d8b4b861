#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "weir/wire/messages.h"

namespace weir {

/// What stands where in a frame. Flink 2.3: NettyMessage. All numbers have their most significant byte first.
///
/// A frame is: its length with these four bytes (4), the magic number (4), the id of the message (1), the body.

inline constexpr uint32_t kFrameMagic = 0xBADC0FFE;
inline constexpr size_t kFrameHeaderSize = 9;
inline constexpr size_t kWireIdSize = 16;
/// Header and fields of a BufferResponse, in front of the sizes of partial buffers and the payload.
inline constexpr size_t kBufferResponseHeadSize = 47;
/// Data set and partition (20), and the attempt that produces it (40).
inline constexpr size_t kWirePartitionSize = 60;

enum class FrameId : uint8_t {
  kBufferResponse = 0,
  kErrorResponse = 1,
  kPartitionRequest = 2,
  kTaskEventRequest = 3,
  kCancelPartitionRequest = 4,
  kCloseRequest = 5,
  kAddCredit = 6,
  kResumeConsumption = 7,
  kAckAllUserRecordsProcessed = 8,
  kBacklogAnnouncement = 9,
  kNewBufferSize = 10,
  kSegmentId = 11,
};
inline constexpr size_t kFrameIdCount = 12;

/// Who sends the bytes of one direction of a connection: each knows only the messages of the other.
enum class FrameSender { kProducer, kConsumer };

constexpr FrameSender senderOf(FrameId id) {
  const bool producer = id == FrameId::kBufferResponse || id == FrameId::kErrorResponse || id == FrameId::kBacklogAnnouncement;
  return producer ? FrameSender::kProducer : FrameSender::kConsumer;
}

constexpr std::string_view nameOf(FrameId id) {
  constexpr std::string_view kNames[kFrameIdCount] = {
      "BufferResponse", "ErrorResponse",     "PartitionRequest",           "TaskEventRequest",    "CancelPartitionRequest", "CloseRequest",
      "AddCredit",      "ResumeConsumption", "AckAllUserRecordsProcessed", "BacklogAnnouncement", "NewBufferSize",          "SegmentId"};
  return kNames[static_cast<size_t>(id)];
}

inline FrameId frameIdOf(const NetworkMessage& message) {
  constexpr FrameId kIds[] = {FrameId::kBufferResponse,     FrameId::kErrorResponse,     FrameId::kBacklogAnnouncement,
                              FrameId::kPartitionRequest,   FrameId::kAddCredit,         FrameId::kResumeConsumption,
                              FrameId::kAckAllUserRecordsProcessed, FrameId::kNewBufferSize, FrameId::kCancelPartitionRequest,
                              FrameId::kCloseRequest,       FrameId::kTaskEventRequest,  FrameId::kSegmentId};
  static_assert(std::size(kIds) == std::variant_size_v<NetworkMessage>);
  return kIds[message.index()];
}

/// What a peer may make this side keep. Beyond it a frame breaks the protocol.
struct FrameLimits {
  uint32_t payload = 32768;       ///< of a data buffer: the size of the receiver's segments
  uint32_t event = 64 * 1024;     ///< of an event, in either direction
  uint32_t partials = 4096;       ///< buffers that travel as one
  uint32_t error = 1024 * 1024;   ///< the whole frame of an ErrorResponse
};

/// An exception as an ErrorResponse carries it. Flink: a Java object stream, which begins with other bytes.
///
/// These four letters (4), how many exceptions (4), then for each from the outermost to the innermost cause: its class and its message,
/// each with a length (4) in front. Longer chains and texts are cut, so that no error is too long to be told.
inline constexpr uint32_t kErrorForm = 0x57454952;  // "WEIR"
inline constexpr size_t kMaxErrorChain = 32;
inline constexpr size_t kMaxErrorClass = 1024;
inline constexpr size_t kMaxErrorMessage = 16 * 1024;

}  // namespace weir
