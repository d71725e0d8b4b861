#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/error.h"
#include "weir/base/ids.h"
#include "weir/buffer/buffer.h"

namespace weir {

/// What the two ends of a data connection say to each other: a type for each kind of frame. Flink: NettyMessage and its subclasses, with
/// their names. Which of their values a frame may carry is checked by FrameDecoder.

// From the producer. ------------------------------------------------------------------------------------------------------------------

/// A buffer or an event of one channel.
struct BufferResponse {
  InputChannelID receiver;
  int32_t sequenceNumber = 0;
  int32_t backlog = 0;  ///< data buffers still queued behind it
  Buffer buffer;
  int32_t subpartition = 0;
  bool compressed = false;
  /// Where several buffers travel as one: the size of each. They take consecutive sequence numbers; the backlog is that behind the last.
  std::vector<int32_t> partialSizes = {};
};
/// Without a receiver: the connection is broken for all of its channels.
struct ErrorResponse {
  std::optional<InputChannelID> receiver;
  std::shared_ptr<const Throwable> cause;
};
/// Data is queued for a receiver that never has credit by itself.
struct BacklogAnnouncement {
  InputChannelID receiver;
  int32_t backlog = 0;
};

// From the consumer. ------------------------------------------------------------------------------------------------------------------

struct PartitionRequest {
  ResultPartitionID partition;
  uint32_t subpartition = 0;
  InputChannelID receiver;
  int32_t credit = 0;                 ///< exclusive buffers of the receiver
  uint32_t furtherSubpartitions = 0;  ///< how many behind `subpartition` are asked for too
};
/// An event for the task that produces the partition, as EventSerializer writes it.
struct TaskEventRequest {
  ResultPartitionID partition;
  InputChannelID receiver;
  std::vector<uint8_t> event;
};
struct AddCredit {
  InputChannelID receiver;
  int32_t credit = 0;
};
struct ResumeConsumption {
  InputChannelID receiver;
};
struct AckAllUserRecordsProcessed {
  InputChannelID receiver;
};
struct NewBufferSize {
  InputChannelID receiver;
  int32_t size = 0;
};
struct CancelPartitionRequest {
  InputChannelID receiver;
};
/// Which segment of tiered storage the receiver needs next.
struct SegmentId {
  InputChannelID receiver;
  int32_t subpartition = 0;
  int32_t segment = 0;
};
struct CloseRequest {};

using NetworkMessage =
    std::variant<BufferResponse, ErrorResponse, BacklogAnnouncement, PartitionRequest, AddCredit, ResumeConsumption,
                 AckAllUserRecordsProcessed, NewBufferSize, CancelPartitionRequest, CloseRequest, TaskEventRequest, SegmentId>;

/// Flink's name of the message, for logs and traces.
std::string_view nameOf(const NetworkMessage& message);

}  // namespace weir
