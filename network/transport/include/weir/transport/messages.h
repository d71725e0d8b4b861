#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <variant>

#include "weir/base/error.h"
#include "weir/base/ids.h"
#include "weir/base/transport.h"
#include "weir/buffer/buffer.h"

namespace weir {

/// What the two ends of a data connection say to each other. Flink: NettyMessage and its subclasses, with their names.

// From the producer. ------------------------------------------------------------------------------------------------------------------

/// A buffer or an event of one channel.
struct BufferResponse {
  InputChannelID receiver;
  int32_t sequenceNumber = 0;
  int32_t backlog = 0;  ///< data buffers still queued behind it
  Buffer buffer;
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
  int32_t credit = 0;  ///< exclusive buffers of the receiver
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
struct CloseRequest {};

using NetworkMessage = std::variant<BufferResponse, ErrorResponse, BacklogAnnouncement, PartitionRequest, AddCredit, ResumeConsumption,
                                    AckAllUserRecordsProcessed, NewBufferSize, CancelPartitionRequest, CloseRequest>;

/// Flink's name of the message, for logs and traces.
std::string_view nameOf(const NetworkMessage& message);
/// As long as Flink 2.3's frame of it.
size_t frameSize(const NetworkMessage& message);

/// As a connection carries it.
struct NetworkFrame final : TransportMessage {
  explicit NetworkFrame(NetworkMessage m) : message(std::move(m)) {}
  size_t wireSize() const override { return frameSize(message); }
  NetworkMessage message;
};

/// Where one end's messages go. Flink: the Channel of a handler's context.
class MessageSink {
 public:
  virtual void send(NetworkMessage message) = 0;
  /// False: whoever can wait with its messages waits until it is told.
  virtual bool isWritable() const = 0;

 protected:
  ~MessageSink() = default;
};

}  // namespace weir
