#include "socket_connection.h"

#include <sys/socket.h>

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// As Netty's: a sender that can wait is asked to from the upper mark on, and told to go on at the lower.
constexpr size_t kHighWater = 64 * 1024;
constexpr size_t kLowWater = 32 * 1024;
constexpr size_t kBytesPerTurn = 1024 * 1024;  // then mails get their turn
constexpr size_t kPieces = 64;
/// How much is read beyond a payload: what of the next payload is read here is copied. Long payloads get little of it, short ones, many of
/// which come with one call, all.
constexpr size_t kScratch = 32 * 1024;
constexpr size_t kScratchBesideLong = 512;
constexpr size_t kLongPayload = 4096;

}  // namespace

SocketConnection::SocketConnection(std::shared_ptr<Reactor> reactor, tcp::socket socket, std::shared_ptr<NetworkConnectionHandler> handler,
                                   FrameSender peerSends, const FrameLimits& limits)
    : reactor_(std::move(reactor)), socket_(std::move(socket)), handler_(std::move(handler)), decoder_(peerSends, limits),
      scratch_(kScratch), turnLeft_(kBytesPerTurn) {}

/// Runs `action` unless this has ended by then.
template <class Action>
auto SocketConnection::later(Action action) {
  return [weak = weak_from_this(), action](const boost::system::error_code& error = {}) {
    const auto self = weak.lock();
    if (!error && self && self->handler_) action(*self);
  };
}

void SocketConnection::start() {
  handler_->onOpen(shared_from_this());
  if (handler_) waitReadable();
}

void SocketConnection::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  output_.clear();
  writable_ = false;
  handler_ = nullptr;
}

SocketConnection::Flow SocketConnection::ended(ConnectionEnded why) {
  const auto handler = handler_;
  close();
  handler->onClosed(why);
  return Flow::kStops;
}

// ---- reading ----------------------------------------------------------------------------------------------------------------------------

void SocketConnection::waitReadable() {
  socket_.async_wait(tcp::socket::wait_read, later([](SocketConnection& self) { self.read(); }));
}

void SocketConnection::read() {
  const auto keep = handler_;  // it may let go of itself in what it is told
  size_t total = 0;
  while (total < kBytesPerTurn) {
    size_t size = 0;
    if (readSome(size) == Flow::kStops) return;
    total += size;
  }
  asio::post(socket_.get_executor(), later([](SocketConnection& self) { self.read(); }));
}

SocketConnection::Flow SocketConnection::readSome(size_t& size) {
  const std::span<uint8_t> room = decoder_.payloadRoom();
  iovec pieces[2] = {{room.data(), room.size()}, {scratch_.data(), lastPayload_ < kLongPayload ? kScratch : kScratchBesideLong}};
  const size_t first = room.empty() ? 1 : 0;
  ssize_t got;
  do {
    got = ::readv(socket_.native_handle(), pieces + first, static_cast<int>(2 - first));
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return waitReadable(), Flow::kStops;
  if (got < 0) return ended({ConnectionEnded::Why::kLost, std::strerror(errno)});
  if (got == 0) return ended({ConnectionEnded::Why::kClosed});
  size = static_cast<size_t>(got);
  if (sendsNoMore_) return Flow::kGoesOn;  // nobody listens any more
  const size_t payload = std::min(size, room.size());
  if (payload > 0) decoder_.payloadArrived(payload);
  return decode({scratch_.data(), size - payload});
}

SocketConnection::Flow SocketConnection::decode(std::span<const uint8_t> bytes) {
  for (;;) {
    auto step = decoder_.decode(bytes);
    if (step.has_error()) return ended({ConnectionEnded::Why::kViolation, step.error().message});
    switch (*step) {
      case FrameDecoder::Step::kNeedMore:
        return Flow::kGoesOn;
      case FrameDecoder::Step::kDiscarded:
        break;
      case FrameDecoder::Step::kNeedBuffer: {
        lastPayload_ = decoder_.payloadSize();
        Buffer buffer = handler_->bufferFor(decoder_.response(), decoder_.payloadSize());
        if (buffer) decoder_.provide(buffer.detach());
        else decoder_.discard();
        break;
      }
      case FrameDecoder::Step::kMessage:
        handler_->onMessage(std::make_unique<NetworkFrame>(decoder_.take(), NetworkFrame::Payload::kInPlace));
        if (sendsNoMore_ && handler_) return Flow::kGoesOn;
        break;
    }
    if (!handler_) return Flow::kStops;  // closed by what it was told
  }
}

// ---- writing ----------------------------------------------------------------------------------------------------------------------------

void SocketConnection::send(std::unique_ptr<TransportMessage> message) {
  if (!handler_ || sendsNoMore_) return;
  auto& frame = static_cast<NetworkFrame&>(*message);
  output_.push(std::move(frame.message), std::move(frame.trace));
  if (output_.bytes() >= kHighWater) {
    if (turnLeft_ > 0 && !waitsToWrite_) write();
    writable_ = output_.bytes() < kHighWater && turnLeft_ > 0;
  }
  if (!output_.empty() || !writable_) writeLater();
}

void SocketConnection::writeLater() {
  if (waitsToWrite_ || std::exchange(writesLater_, true)) return;
  asio::post(socket_.get_executor(), later([](SocketConnection& self) {
               self.writesLater_ = false;
               self.writeTurn();
             }));
}

void SocketConnection::writeTurn() {
  const auto keep = handler_;
  turnLeft_ = kBytesPerTurn;
  write();
  if (sendsNoMore_ && output_.empty()) return endSending();
  if (writable_ || output_.bytes() > kLowWater || turnLeft_ == 0) return;
  writable_ = true;
  handler_->onWritable();
}

void SocketConnection::write() {
  while (!output_.empty() && turnLeft_ > 0) {
    iovec pieces[kPieces];
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = output_.gather(pieces);
    const ssize_t sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      output_.taken(static_cast<size_t>(sent));
      turnLeft_ -= std::min(turnLeft_, static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      waitsToWrite_ = true;
      socket_.async_wait(tcp::socket::wait_write, later([](SocketConnection& self) {
                           self.waitsToWrite_ = false;
                           self.writeTurn();
                         }));
      return;
    } else if (errno != EINTR) {
      // Not told here: the handler may be in the middle of sending.
      output_.clear();
      asio::post(socket_.get_executor(), later([what = std::string(std::strerror(errno))](SocketConnection& self) {
                   (void)self.ended({ConnectionEnded::Why::kLost, what});
                 }));
      return;
    }
  }
}

void SocketConnection::closeWhenSent() {
  if (!handler_ || std::exchange(sendsNoMore_, true)) return;
  writable_ = false;
  if (!waitsToWrite_) write();
  if (output_.empty()) endSending();
  else writeLater();
}

void SocketConnection::endSending() {
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace weir
