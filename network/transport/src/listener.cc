#include "listener.h"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>

#include <cerrno>
#include <cstring>
#include <utility>

#include "addresses.h"
#include "socket_connection.h"
#include "weir/io/io_reactor.h"

namespace weir {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr Nanos kPauseAfterFailure = std::chrono::milliseconds(100);

/// A socket that nobody has taken yet.
struct Descriptor {
  explicit Descriptor(int d) : descriptor(d) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor >= 0) ::close(descriptor);
  }
  int release() { return std::exchange(descriptor, -1); }
  int descriptor;
};

}  // namespace

struct SocketListener::Socket {
  std::shared_ptr<IoReactor> reactor = std::make_shared<IoReactor>();
  tcp::acceptor acceptor{reactor->context()};
};

Result<std::shared_ptr<SocketListener>> SocketListener::open(const SocketTransportOptions& options, Transport::Acceptor acceptor,
                                                             Logger log) {
  std::shared_ptr<SocketListener> listener(new SocketListener(std::move(acceptor), options, std::move(log)));
  WEIR_TRY(listener->bind());
  return listener;
}

Result<void> SocketListener::bind() {
  WEIR_ASSIGN(const auto endpoints, resolve(options_.bindHost, 0));
  error_code error;
  for (const uint16_t port : options_.bindPorts) {
    auto socket = std::make_shared<Socket>();
    const tcp::endpoint endpoint(endpoints.front().address(), port);
    tcp::acceptor& acceptor = socket->acceptor;
    error.clear();
    (void)acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error && options_.sendReceiveBufferSize > 0)  // what is accepted inherits it
      acceptor.set_option(tcp::acceptor::receive_buffer_size(options_.sendReceiveBufferSize), error);
    if (!error) (void)acceptor.bind(endpoint, error);
    if (!error) (void)acceptor.listen(options_.backlog > 0 ? options_.backlog : tcp::acceptor::max_listen_connections, error);
    if (!error) acceptor.non_blocking(true, error);
    if (error) continue;
    address_ = join(options_.host, options_.port > 0 ? options_.port : acceptor.local_endpoint().port());
    bound_ = std::move(socket);
    return {};
  }
  return Error{ErrorCode::kIo, fmt::format("cannot listen for data connections on {}, port {}: {}; set taskmanager.bind-host and "
                                           "taskmanager.data.bind-port to what this machine has free",
                                           options_.bindHost, fmt::join(options_.bindPorts, ", "), error.message())};
}

void SocketListener::start(Executor& executor, std::string actor) {
  const auto socket = std::exchange(bound_, nullptr);
  const std::shared_ptr<Reactor> reactor = socket->reactor;
  executor.spawn({.name = std::move(actor), .reactor = reactor}, [self = shared_from_this(), socket](ExecutionContext& context) {
    self->waitForPeers(socket);
    self->loop_.run(context);
    error_code ignored;
    socket->acceptor.close(ignored);
  });
}

void SocketListener::waitForPeers(const std::shared_ptr<Socket>& socket) {
  socket->acceptor.async_wait(tcp::acceptor::wait_read,
                              [weak = weak_from_this(), held = std::weak_ptr(socket)](const error_code& error) {
                                const auto self = weak.lock();
                                const auto listening = held.lock();
                                if (!error && self && listening) self->accept(listening);
                              });
}

void SocketListener::accept(const std::shared_ptr<Socket>& socket) {
  for (;;) {
    const int descriptor = ::accept4(socket->acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      adopt(descriptor);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return waitForPeers(socket);
    if (errno == EINTR || errno == ECONNABORTED) continue;
    log_.warn("a data connection cannot be accepted: {}; next attempt in {} ms", std::strerror(errno),
              kPauseAfterFailure.count() / 1'000'000);
    (void)loop_.postAt(Deadline::housekeeping(SystemClock::instance().monotonic() + kPauseAfterFailure),
                       {"accept again", [this, socket] { accept(socket); }});
    return;
  }
}

void SocketListener::adopt(int descriptor) {
  const auto held = std::make_shared<Descriptor>(descriptor);
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return;  // gone again
  const ConnectionEnd end = acceptor_(nameOf(peer));
  const tcp protocol = peer.ss_family == AF_INET6 ? tcp::v6() : tcp::v4();
  (void)end.loop->post({"connection open", [held, end, protocol, options = options_] {
                          auto& reactor = static_cast<IoReactor&>(*end.reactor);
                          tcp::socket socket(reactor.context(), protocol, held->release());
                          setUp(socket, options);
                          std::make_shared<SocketConnection>(end.reactor, std::move(socket),
                                                             std::static_pointer_cast<NetworkConnectionHandler>(end.handler),
                                                             FrameSender::kConsumer, options.limits, options.tls)
                              ->start();
                        }});
}

}  // namespace weir
