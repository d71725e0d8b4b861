#pragma once

#include <functional>
#include <string>
#include <utility>

#include "weir/base/transport.h"
#include "weir/wire/frame_encoder.h"
#include "weir/wire/messages.h"

namespace weir {

/// For a message whose way is traced: told on the thread of its end. A carrier in memory tells nothing.
struct SocketTrace {
  std::function<void(int64_t bytesInFront)> onWritten{};  ///< it waits for the socket behind so many bytes; empty: nobody asks
  std::function<void()> onFlushed{};                      ///< its last byte has been handed to the network
};

/// A message as the two ends of a data connection hand it to their transport, and get it: a value that counts as many bytes as its frame
/// has.
struct NetworkFrame final : TransportMessage {
  /// Where the payload of a data buffer lies.
  enum class Payload {
    kAsSent,    ///< in memory of the sender
    kInPlace,   ///< in the buffer that its handler gave for it
  };
  explicit NetworkFrame(NetworkMessage m, Payload p = Payload::kAsSent) : message(std::move(m)), payload(p) {}
  NetworkFrame(NetworkMessage m, SocketTrace t) : message(std::move(m)), payload(Payload::kAsSent), trace(std::move(t)) {}
  size_t wireSize() const override { return frameSize(message); }
  NetworkMessage message;
  Payload payload;
  SocketTrace trace{};
};

/// Told once by an end that gives up a connection for what its peer has sent: one sentence.
using BrokenConnectionReport = std::function<void(const std::string& what)>;

/// One end of a data connection, for carriers that get a message piece by piece.
class NetworkConnectionHandler : public ConnectionHandler {
 public:
  /// Data of `size` bytes comes for the receiver that `head` names: the buffer that they go into. Empty: nobody wants them.
  virtual Buffer bufferFor(const BufferResponse& head, uint32_t size) = 0;
  /// Nothing more is there now, or much has come: whoever waits for what onMessage() was told is to be told at the latest now.
  virtual void onRead() {}
};

/// Where one end's messages go. Flink: the Channel of a handler's context.
class MessageSink {
 public:
  virtual void send(NetworkMessage message) = 0;
  virtual void send(NetworkMessage message, SocketTrace trace) {
    (void)trace;
    send(std::move(message));
  }
  /// False: whoever can wait with its messages waits until it is told.
  virtual bool isWritable() const = 0;

 protected:
  ~MessageSink() = default;
};

}  // namespace weir
