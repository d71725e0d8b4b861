#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/wire/frame_decoder.h"
#include "weir/wire/frame_encoder.h"

namespace weir::testing {

using Bytes = std::vector<uint8_t>;

inline Bytes frame(const NetworkMessage& message) {
  DataOutput out;
  appendFrame(message, out);
  return out.toVector();
}

/// A blocking socket in the hands of a test: it sends what bytes it likes, and reads frames.
class RawPeer {
 public:
  /// `reads`: who sends what it reads.
  RawPeer(int descriptor, FrameSender reads);
  static RawPeer connectTo(const std::string& address, FrameSender reads);
  RawPeer(RawPeer&& other) noexcept;
  ~RawPeer();

  void send(std::span<const uint8_t> bytes);
  void send(const NetworkMessage& message) { send(frame(message)); }
  /// Each byte in a segment of its own.
  void sendByteByByte(const NetworkMessage& message);
  /// The next frame; nothing once the other end has closed.
  std::optional<NetworkMessage> read();
  template <class Message>
  Message readAs() {
    auto message = read();
    if (!message) throw std::runtime_error("closed instead of a message");
    if (!std::holds_alternative<Message>(*message)) throw std::runtime_error("unexpected: " + std::string(nameOf(*message)));
    return std::get<Message>(std::move(*message));
  }
  /// Skips others.
  template <class Message>
  Message readUntil() {
    for (;;) {
      auto message = read();
      if (!message) throw std::runtime_error("closed instead of a message");
      if (std::holds_alternative<Message>(*message)) return std::get<Message>(std::move(*message));
    }
  }
  /// Reads up to the end and forgets it.
  bool isClosed();
  void close();
  /// As a machine that has crashed and come back answers.
  void reset();

 private:
  int descriptor_;
  FrameDecoder decoder_;
  Bytes unread_;
  size_t at_ = 0;
};

/// A listening socket in the hands of a test.
class RawServer {
 public:
  explicit RawServer(int backlog = 10);
  ~RawServer();
  const std::string& address() const { return address_; }
  RawPeer accept();

 private:
  int descriptor_;
  std::string address_;
};

}  // namespace weir::testing
