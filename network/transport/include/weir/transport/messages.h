#pragma once

#include <utility>

#include "weir/base/transport.h"
#include "weir/wire/frame_encoder.h"
#include "weir/wire/messages.h"

namespace weir {

/// A message as a connection inside the process carries it: as a value that counts as many bytes as its frame has.
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
