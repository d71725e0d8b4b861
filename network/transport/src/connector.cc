#include "connector.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "addresses.h"
#include "socket_connection.h"
#include "weir/io/io_reactor.h"

namespace weir {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

void setUpKeepAlive(tcp::socket& socket, const SocketTransportOptions& options) {
  error_code ignored;
  socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int name, const std::optional<int>& value) {
    if (value) (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, name, &*value, sizeof *value);
  };
  set(TCP_KEEPIDLE, options.keepIdleSeconds);
  set(TCP_KEEPINTVL, options.keepIntervalSeconds);
  set(TCP_KEEPCNT, options.keepCount);
}

}  // namespace

void SocketConnector::start(ConnectionEnd end, std::string address, std::shared_ptr<const SocketTransportOptions> options) {
  const auto loop = end.loop;
  (void)loop->post({"connect", [end = std::move(end), address = std::move(address), options = std::move(options)] {
                      auto& reactor = static_cast<IoReactor&>(*end.reactor);
                      std::shared_ptr<SocketConnector> connector(
                          new SocketConnector(end.reactor, reactor.context(), end.handler, options));
                      const auto parsed = parseAddress(address);
                      if (parsed.has_error()) return connector->onFailed(parsed.error().message);
                      auto endpoints = resolve(parsed->host, parsed->port);
                      if (endpoints.has_error()) return connector->onFailed(endpoints.error().message);
                      connector->endpoints_ = std::move(*endpoints);
                      connector->attempt();
                    }});
}

void SocketConnector::attempt() {
  const tcp::endpoint& endpoint = endpoints_[attempts_++ % endpoints_.size()];
  error_code error;
  (void)socket_.open(endpoint.protocol(), error);
  if (error) return onFailed(error.message());
  setUp(socket_, *options_);
  setUpKeepAlive(socket_, *options_);
  timedOut_ = false;
  timer_.expires_after(options_->connectTimeout);
  timer_.async_wait([weak = weak_from_this()](const error_code& stopped) {
    const auto self = weak.lock();
    if (stopped || !self) return;
    self->timedOut_ = true;
    error_code ignored;
    (void)self->socket_.close(ignored);
  });
  socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& failed) {
    self->timer_.cancel();
    if (self->timedOut_) self->onFailed(fmt::format("no answer within {} ms", self->options_->connectTimeout.count()));
    else if (failed) self->onFailed(failed.message());
    else self->onConnected();
  });
}

void SocketConnector::onFailed(const std::string& why) {
  const size_t most = endpoints_.size() * (1 + static_cast<size_t>(std::max(options_->retries, 0)));
  if (attempts_ >= most) return handler_->onClosed({ConnectionEnded::Why::kUnreachable, why});
  error_code ignored;
  (void)socket_.close(ignored);
  attempt();
}

void SocketConnector::onConnected() {
  std::make_shared<SocketConnection>(reactor_.lock(), std::move(socket_), std::static_pointer_cast<NetworkConnectionHandler>(handler_),
                                     FrameSender::kProducer, options_->limits, options_->tls)
      ->start();
}

}  // namespace weir
