#include "socket_connection.h"

#include <fmt/format.h>
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
constexpr size_t kBytesUntold = 128 * 1024;  // readers are woken once for so much
constexpr size_t kPieces = 64;
/// How much is read beyond a payload: what of the next payload is read here is copied. Long payloads get little of it, short ones, many of
/// which come with one call, all.
constexpr size_t kScratch = 32 * 1024;
constexpr size_t kScratchBesideLong = 512;
constexpr size_t kLongPayload = 4096;
constexpr size_t kSealed = 16 * 1024;  // the longest record of TLS

std::unique_ptr<TlsStream> streamOf(const std::shared_ptr<const TlsContext>& tls, FrameSender peerSends, tcp::socket& socket) {
  if (!tls) return nullptr;
  const auto role = peerSends == FrameSender::kProducer ? TlsContext::Role::kClient : TlsContext::Role::kServer;
  return std::make_unique<TlsStream>(tls, role, socket.native_handle());
}

}  // namespace

SocketConnection::SocketConnection(std::shared_ptr<Reactor> reactor, tcp::socket socket, std::shared_ptr<NetworkConnectionHandler> handler,
                                   FrameSender peerSends, const FrameLimits& limits, const std::shared_ptr<const TlsContext>& tls)
    : reactor_(std::move(reactor)), socket_(std::move(socket)), tls_(streamOf(tls, peerSends, socket_)),
      refused_(peerSends == FrameSender::kProducer ? ConnectionEnded::Why::kUnreachable : ConnectionEnded::Why::kViolation),
      handler_(std::move(handler)), decoder_(peerSends, limits), scratch_(kScratch), turnLeft_(kBytesPerTurn) {
  if (tls_) sealed_.resize(kSealed);
}

/// Runs `action` unless this has ended by then.
template <class Action>
auto SocketConnection::later(Action action) {
  return [weak = weak_from_this(), action](const boost::system::error_code& error = {}) {
    const auto self = weak.lock();
    if (!error && self && self->handler_) action(*self);
  };
}

void SocketConnection::start() {
  if (!tls_) return opened();
  handshakeTimer_.emplace(socket_.get_executor());
  handshakeTimer_->expires_after(tls_->handshakeTimeout());
  handshakeTimer_->async_wait(later([](SocketConnection& self) {
    self.refuse(fmt::format("no TLS handshake within {} ms", self.tls_->handshakeTimeout().count()));
  }));
  handshake();
}

void SocketConnection::handshake() {
  switch (tls_->handshake()) {
    case TlsStream::Step::kDone:
      handshakeTimer_.reset();
      return opened();
    case TlsStream::Step::kWantsToRead:
      return handshakeAfter(tcp::socket::wait_read);
    case TlsStream::Step::kWantsToWrite:
      return handshakeAfter(tcp::socket::wait_write);
    case TlsStream::Step::kEnded:
      return refuse("the peer has closed during the TLS handshake: it does not accept this side's certificate, or has no TLS");
    case TlsStream::Step::kFailed:
      return refuse("the TLS handshake has failed: " + tls_->failure());
  }
}

void SocketConnection::handshakeAfter(tcp::socket::wait_type ready) {
  socket_.async_wait(ready, [self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && self->handler_) self->handshake();
  });
}

void SocketConnection::refuse(const std::string& why) {
  const auto keep = shared_from_this();
  (void)ended({refused_, why});
}

void SocketConnection::opened() {
  handler_->onOpen(shared_from_this());
  if (!handler_) return;
  if (!tls_) return waitReadable();
  // What came with the end of the handshake makes no socket readable.
  asio::post(socket_.get_executor(), later([](SocketConnection& self) { self.read(); }));
}

void SocketConnection::close() {
  handshakeTimer_.reset();
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
  size_t total = 0, untold = 0;
  while (total < kBytesPerTurn) {
    size_t size = 0;
    if (readSome(size) == Flow::kStops) return keep->onRead();
    total += size;
    if ((untold += size) < kBytesUntold) continue;
    keep->onRead();
    untold = 0;
  }
  keep->onRead();
  asio::post(socket_.get_executor(), later([](SocketConnection& self) { self.read(); }));
}

SocketConnection::Flow SocketConnection::readSome(size_t& size) {
  const std::span<uint8_t> room = decoder_.payloadRoom();
  if ((tls_ ? readSealed(room, size) : readClear(room, size)) == Flow::kStops) return Flow::kStops;
  if (sendsNoMore_) return Flow::kGoesOn;  // nobody listens any more
  const size_t payload = std::min(size, room.size());
  if (payload > 0) decoder_.payloadArrived(payload);
  return decode({scratch_.data(), size - payload});
}

SocketConnection::Flow SocketConnection::readClear(std::span<uint8_t> room, size_t& size) {
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
  return Flow::kGoesOn;
}

SocketConnection::Flow SocketConnection::readSealed(std::span<uint8_t> room, size_t& size) {
  switch (tls_->read(room.empty() ? std::span(scratch_) : room, size)) {
    case TlsStream::Step::kDone:
      return Flow::kGoesOn;
    case TlsStream::Step::kWantsToRead:
      return waitReadable(), Flow::kStops;
    case TlsStream::Step::kWantsToWrite:
      socket_.async_wait(tcp::socket::wait_write, later([](SocketConnection& self) { self.read(); }));
      return Flow::kStops;
    case TlsStream::Step::kEnded:
      return ended({ConnectionEnded::Why::kClosed});
    case TlsStream::Step::kFailed:
      return ended({ConnectionEnded::Why::kLost, tls_->failure()});
  }
  return Flow::kStops;
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
    size_t size = 0;
    std::string why;
    switch (tls_ ? writeSealed(size, why) : writeClear(size, why)) {
      case Sent::kSome:
        output_.taken(size);
        turnLeft_ -= std::min(turnLeft_, size);
        break;
      case Sent::kSocketIsFull:
        waitsToWrite_ = true;
        socket_.async_wait(tcp::socket::wait_write, later([](SocketConnection& self) {
                             self.waitsToWrite_ = false;
                             self.writeTurn();
                           }));
        return;
      case Sent::kLost:
        // Not told here: the handler may be in the middle of sending.
        output_.clear();
        asio::post(socket_.get_executor(),
                   later([why](SocketConnection& self) { (void)self.ended({ConnectionEnded::Why::kLost, why}); }));
        return;
    }
  }
}

SocketConnection::Sent SocketConnection::writeClear(size_t& size, std::string& why) {
  iovec pieces[kPieces];
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = output_.gather(pieces);
  ssize_t sent;
  do {
    sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return size = static_cast<size_t>(sent), Sent::kSome;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Sent::kSocketIsFull;
  return why = std::strerror(errno), Sent::kLost;
}

SocketConnection::Sent SocketConnection::writeSealed(size_t& size, std::string& why) {
  iovec pieces[kPieces];
  size_t filled = 0;
  for (const iovec& piece : std::span(pieces, output_.gather(pieces))) {
    const size_t part = std::min(piece.iov_len, sealed_.size() - filled);
    std::memcpy(sealed_.data() + filled, piece.iov_base, part);
    filled += part;
  }
  switch (tls_->write({sealed_.data(), filled}, size)) {
    case TlsStream::Step::kDone:
      return Sent::kSome;
    case TlsStream::Step::kWantsToRead:  // does not happen: nobody may negotiate again
    case TlsStream::Step::kWantsToWrite:
      return Sent::kSocketIsFull;
    case TlsStream::Step::kEnded:
      return why = "the peer has ended TLS", Sent::kLost;
    case TlsStream::Step::kFailed:
      return why = tls_->failure(), Sent::kLost;
  }
  return Sent::kLost;
}

void SocketConnection::closeWhenSent() {
  if (!handler_ || std::exchange(sendsNoMore_, true)) return;
  writable_ = false;
  if (!waitsToWrite_) write();
  if (output_.empty()) endSending();
  else writeLater();
}

void SocketConnection::endSending() {
  if (tls_) tls_->endSending();
  boost::system::error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

}  // namespace weir
