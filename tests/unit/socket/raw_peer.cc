#include "unit/socket/raw_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace weir::testing {
namespace {

[[noreturn]] void fail(const char* what) { throw std::runtime_error(std::string(what) + ": " + std::strerror(errno)); }

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

/// A test does not wait for ever.
void limit(int descriptor) {
  const timeval most{20, 0};
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

RawPeer::RawPeer(int descriptor, FrameSender reads)
    : descriptor_(descriptor), decoder_(reads, {.payload = 1 << 20, .event = 1 << 20}) {
  limit(descriptor_);
}

RawPeer::RawPeer(RawPeer&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), decoder_(std::move(other.decoder_)), unread_(std::move(other.unread_)),
      at_(other.at_) {}

RawPeer::~RawPeer() { close(); }

RawPeer RawPeer::connectTo(const std::string& address, FrameSender reads) {
  const sockaddr_in peer = loopback(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) fail("connect");
  return {descriptor, reads};
}

void RawPeer::send(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) fail("send");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
}

void RawPeer::sendByteByByte(const NetworkMessage& message) {
  for (const uint8_t byte : frame(message)) send({&byte, 1});
}

std::optional<NetworkMessage> RawPeer::read() {
  for (;;) {
    std::span<const uint8_t> some(unread_.data() + at_, unread_.size() - at_);
    for (bool more = true; more;) {
      auto step = decoder_.decode(some);
      at_ = unread_.size() - some.size();
      if (step.has_error()) throw std::runtime_error(step.error().message);
      switch (*step) {
        case FrameDecoder::Step::kMessage: return decoder_.take();
        case FrameDecoder::Step::kNeedBuffer: decoder_.provide(MemorySegment::allocate(decoder_.payloadSize())); break;
        default: more = false;
      }
    }
    unread_.resize(64 * 1024);
    const ssize_t got = ::recv(descriptor_, unread_.data(), unread_.size(), 0);
    if (got < 0 && errno != ECONNRESET) fail("read");
    unread_.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    at_ = 0;
    if (got <= 0) return std::nullopt;
  }
}

bool RawPeer::isClosed() {
  while (read()) {
  }
  return true;
}

void RawPeer::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void RawPeer::reset() {
  const linger now{1, 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

RawServer::RawServer(int backlog) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in own = loopback(0);
  socklen_t size = sizeof own;
  if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&own), size) != 0 || ::listen(descriptor_, backlog) != 0) fail("listen");
  ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &size);
  address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
  limit(descriptor_);
}

RawServer::~RawServer() { ::close(descriptor_); }

RawPeer RawServer::accept() {
  const int descriptor = ::accept(descriptor_, nullptr, nullptr);
  if (descriptor < 0) fail("accept");
  return {descriptor, FrameSender::kConsumer};
}

}  // namespace weir::testing
