#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "output_queue.h"
#include "weir/io/tls.h"
#include "weir/transport/messages.h"
#include "weir/wire/frame_decoder.h"

namespace weir {

/// One end of an open connection.
///
/// Threads: the actor of the end. It waits for readiness and moves bytes without blocking, so an idle one holds no memory for them in the
/// kernel's hands. Its handler is called by its reactor alone, never inside of send().
/// Life: held by its handler; what it waits for does not hold it. Letting go of it closes it.
class SocketConnection final : public Connection, public std::enable_shared_from_this<SocketConnection> {
 public:
  /// `peerSends`: which messages come: those of a producer to the end that has connected.
  SocketConnection(std::shared_ptr<Reactor> reactor, boost::asio::ip::tcp::socket socket, std::shared_ptr<NetworkConnectionHandler> handler,
                   FrameSender peerSends, const FrameLimits& limits, const std::shared_ptr<const TlsContext>& tls);
  /// Tells the handler, once TLS is agreed upon where there is any; then what arrives.
  void start();

  bool isWritable() const override { return writable_; }
  void send(std::unique_ptr<TransportMessage> message) override;
  void close() override;
  void closeWhenSent() override;

 private:
  enum class Flow { kGoesOn, kStops };
  enum class Sent { kSome, kSocketIsFull, kLost };

  template <class Action>
  auto later(Action action);
  void handshake();
  /// The handshake goes on then; until it is done, nobody else holds this.
  void handshakeAfter(boost::asio::ip::tcp::socket::wait_type ready);
  void refuse(const std::string& why);
  void opened();

  void waitReadable();
  void read();
  /// kStops: there is nothing more now, or it has ended.
  Flow readSome(size_t& size);
  Flow readClear(std::span<uint8_t> room, size_t& size);
  Flow readSealed(std::span<uint8_t> room, size_t& size);
  Flow decode(std::span<const uint8_t> bytes);
  Flow ended(ConnectionEnded why);

  void writeLater();
  void writeTurn();
  void write();
  Sent writeClear(size_t& size, std::string& why);
  Sent writeSealed(size_t& size, std::string& why);
  void endSending();

  const std::shared_ptr<Reactor> reactor_;  ///< outlives the socket
  boost::asio::ip::tcp::socket socket_;
  const std::unique_ptr<TlsStream> tls_;  ///< null: in the clear
  const ConnectionEnded::Why refused_;    ///< what a handshake that fails is to this end
  std::optional<boost::asio::steady_timer> handshakeTimer_;
  std::shared_ptr<NetworkConnectionHandler> handler_;  ///< null once closed
  FrameDecoder decoder_;
  std::vector<uint8_t> scratch_;  ///< what is read and is no payload
  size_t lastPayload_ = 0;
  OutputQueue output_;
  std::vector<uint8_t> sealed_;  ///< what becomes one record of TLS
  size_t turnLeft_ = 0;  ///< what may be written before others have had their turn
  bool writable_ = true;
  bool writesLater_ = false;    ///< a turn of writing is posted
  bool waitsToWrite_ = false;   ///< the socket is full
  bool sendsNoMore_ = false;
};

}  // namespace weir
