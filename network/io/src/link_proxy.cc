#include "weir/io/link_proxy.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <vector>

#include "weir/io/io_reactor.h"

namespace weir {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr size_t kPiece = 16 * 1024;
/// What is under way in one direction at most. A receiver that does not read stops the sender behind that.
constexpr size_t kWindow = 1024 * 1024;
constexpr Nanos kPauseAfterFailure = std::chrono::milliseconds(100);

Result<tcp::endpoint> parse(const std::string& target) {
  const size_t colon = target.rfind(':');
  error_code error;
  if (colon != std::string::npos) {
    std::string host = target.substr(0, colon);
    if (host.size() > 1 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const auto address = asio::ip::make_address(host, error);
    const std::string port = target.substr(colon + 1);
    char* end = nullptr;
    const unsigned long number = std::strtoul(port.c_str(), &end, 10);
    if (!error && !port.empty() && *end == '\0' && number > 0 && number <= 0xffff)
      return tcp::endpoint(address, static_cast<uint16_t>(number));
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is no address of a link: write it as 127.0.0.1:6121 or [::1]:6121", target)};
}

}  // namespace

/// One direction of a connection.
class LinkProxy::Pipe {
 public:
  Pipe(Connection& connection, const LinkProxy& link, tcp::socket& from, tcp::socket& to)
      : connection_(connection), link_(link), from_(from), to_(to), timer_(from.get_executor()) {}
  void pump() {
    if (link_.silent_.load(std::memory_order_relaxed)) return;
    read();
    write();
  }
  bool isDone() const { return ended_ && underWay_.empty(); }

 private:
  struct Piece {
    std::vector<uint8_t> bytes;  ///< none: the end
    Nanos due;
  };
  static Nanos now() { return SystemClock::instance().monotonic(); }
  template <class Action>
  auto later(Action action);
  void read();
  void arrived(size_t size);
  void write();

  Connection& connection_;
  const LinkProxy& link_;
  tcp::socket &from_, &to_;
  asio::steady_timer timer_;
  std::array<uint8_t, kPiece> piece_;
  std::deque<Piece> underWay_;
  size_t bytes_ = 0;
  Nanos free_{0};  ///< when what has arrived is through, as far as bandwidth goes
  bool reading_ = false, writing_ = false, waiting_ = false, ended_ = false;
};

class LinkProxy::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(const std::shared_ptr<LinkProxy>& link, const std::shared_ptr<Net>& net, tcp::socket accepted);
  ~Connection() { link_->connections_.fetch_sub(1, std::memory_order_relaxed); }

  tcp::socket& far() { return far_; }
  void connected() {
    connected_ = true;
    pump();
  }
  void pump() {
    if (!open_ || !connected_) return;
    there_.pump();
    back_.pump();
    if (there_.isDone() && back_.isDone()) end();
  }
  /// Resets both sides.
  void reset();
  bool isSilent() const { return link_->silent_.load(std::memory_order_relaxed); }
  /// One side is lost. In silence the other does not hear of it before it is over.
  void lost() {
    if (!isSilent()) return reset();
    lost_ = true;
  }
  void goOn() {
    if (lost_) return reset();
    pump();
  }
  bool isOpen() const { return open_; }

 private:
  void end();

  const std::shared_ptr<LinkProxy> link_;
  const std::weak_ptr<Net> net_;
  tcp::socket near_, far_;
  Pipe there_, back_;
  bool open_ = true, connected_ = false, lost_ = false;
};

struct LinkProxy::Net {
  explicit Net(std::shared_ptr<IoReactor> r) : reactor(std::move(r)), acceptor(reactor->context()) {}
  std::shared_ptr<IoReactor> reactor;
  tcp::acceptor acceptor;
  tcp::endpoint target;
  std::set<std::shared_ptr<Connection>> connections;
};

// ---- one direction ----------------------------------------------------------------------------------------------------------------------

template <class Action>
auto LinkProxy::Pipe::later(Action action) {
  return [this, keep = connection_.shared_from_this(), action](const error_code& error, size_t size = 0) {
    if (keep->isOpen()) action(error, size);
  };
}

void LinkProxy::Pipe::read() {
  if (reading_ || ended_ || bytes_ >= kWindow) return;
  reading_ = true;
  from_.async_read_some(asio::buffer(piece_), later([this](const error_code& error, size_t size) {
                          reading_ = false;
                          if (error && error != asio::error::eof) return connection_.lost();
                          ended_ = static_cast<bool>(error);
                          arrived(size);
                          connection_.pump();
                        }));
}

void LinkProxy::Pipe::arrived(size_t size) {
  free_ = std::max(free_, now());
  if (const int64_t bandwidth = link_.bandwidth_.load(std::memory_order_relaxed); bandwidth > 0)
    free_ += Nanos(static_cast<int64_t>(static_cast<double>(size) / static_cast<double>(bandwidth) * 1e9));
  Nanos due = free_ + Nanos(link_.delay_.load(std::memory_order_relaxed));
  if (!underWay_.empty()) due = std::max(due, underWay_.back().due);
  underWay_.push_back({{piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(size)}, due});
  bytes_ += size;
}

void LinkProxy::Pipe::write() {
  if (writing_ || waiting_ || underWay_.empty()) return;
  const Piece& next = underWay_.front();
  if (next.due > now()) {
    waiting_ = true;
    timer_.expires_at(asio::steady_timer::time_point(next.due));
    timer_.async_wait(later([this](const error_code&, size_t) {
      waiting_ = false;
      connection_.pump();
    }));
    return;
  }
  if (next.bytes.empty()) {
    underWay_.pop_front();
    error_code ignored;
    to_.shutdown(tcp::socket::shutdown_send, ignored);
    return;
  }
  writing_ = true;
  asio::async_write(to_, asio::buffer(next.bytes), later([this](const error_code& error, size_t size) {
                      writing_ = false;
                      if (error) return connection_.lost();
                      bytes_ -= size;
                      underWay_.pop_front();
                      connection_.pump();
                    }));
}

// ---- one connection ---------------------------------------------------------------------------------------------------------------------

LinkProxy::Connection::Connection(const std::shared_ptr<LinkProxy>& link, const std::shared_ptr<Net>& net, tcp::socket accepted)
    : link_(link), net_(net), near_(std::move(accepted)), far_(near_.get_executor()), there_(*this, *link, near_, far_),
      back_(*this, *link, far_, near_) {
  link_->connections_.fetch_add(1, std::memory_order_relaxed);
}

void LinkProxy::Connection::reset() {
  for (tcp::socket* socket : {&near_, &far_}) {
    error_code ignored;
    socket->set_option(asio::socket_base::linger(true, 0), ignored);
  }
  end();
}

void LinkProxy::Connection::end() {
  open_ = false;
  for (tcp::socket* socket : {&near_, &far_}) {
    error_code ignored;
    socket->close(ignored);
  }
  const auto keep = shared_from_this();
  if (const auto net = net_.lock()) net->connections.erase(keep);
}

// ---- all of them ------------------------------------------------------------------------------------------------------------------------

Result<std::shared_ptr<LinkProxy>> LinkProxy::open(Executor& executor, ActorOptions actor, const std::string& target) {
  WEIR_ASSIGN(const tcp::endpoint endpoint, parse(target));
  std::shared_ptr<LinkProxy> proxy(new LinkProxy);
  const auto net = std::make_shared<Net>(std::make_shared<IoReactor>());
  net->target = endpoint;
  const tcp::endpoint loopback(endpoint.address().is_v6() ? asio::ip::address(asio::ip::address_v6::loopback())
                                                          : asio::ip::address(asio::ip::address_v4::loopback()),
                               0);
  error_code error;
  (void)net->acceptor.open(loopback.protocol(), error);
  if (!error) (void)net->acceptor.bind(loopback, error);
  if (!error) (void)net->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) return Error{ErrorCode::kIo, fmt::format("no port for a link to {}: {}", target, error.message())};
  const auto port = net->acceptor.local_endpoint().port();
  proxy->address_ = (endpoint.address().is_v6() ? "[::1]:" : "127.0.0.1:") + std::to_string(port);
  proxy->net_ = net;
  actor.reactor = net->reactor;
  executor.spawn(std::move(actor), [proxy, net](ExecutionContext& context) {
    proxy->accept(net);
    proxy->loop_.run(context);
    for (const auto& connection : std::set(net->connections)) connection->reset();
    error_code ignored;
    net->acceptor.close(ignored);
  });
  return proxy;
}

void LinkProxy::accept(const std::shared_ptr<Net>& net) {
  net->acceptor.async_accept([self = shared_from_this(), held = std::weak_ptr(net)](const error_code& error, tcp::socket accepted) {
    const auto open = held.lock();
    if (error == asio::error::operation_aborted || !open) return;
    if (error) {  // no descriptor is left for it, as a rule
      const Deadline soon = Deadline::housekeeping(SystemClock::instance().monotonic() + kPauseAfterFailure);
      (void)self->loop_.postAt(soon, {"accept again", [self, open] { self->accept(open); }});
      return;
    }
    const auto connection = std::make_shared<Connection>(self, open, std::move(accepted));
    open->connections.insert(connection);
    self->connect(open, connection);
    self->accept(open);
  });
}

void LinkProxy::connect(const std::shared_ptr<Net>& net, const std::shared_ptr<Connection>& connection) {
  connection->far().async_connect(net->target, [connection](const error_code& error) {
    if (!connection->isOpen()) return;
    if (error) connection->lost();
    else connection->connected();
  });
}

void LinkProxy::cut() {
  (void)loop_.post({"cut", [self = shared_from_this()] {
                      const auto net = self->net_.lock();
                      if (!net) return;
                      for (const auto& connection : std::set(net->connections)) connection->reset();
                    }});
}

void LinkProxy::goSilent() { silent_.store(true, std::memory_order_relaxed); }

void LinkProxy::goOn() {
  silent_.store(false, std::memory_order_relaxed);
  (void)loop_.post({"go on", [self = shared_from_this()] {
                      const auto net = self->net_.lock();
                      if (!net) return;
                      for (const auto& connection : std::set(net->connections)) connection->goOn();
                    }});
}

void LinkProxy::stop() { loop_.stop(); }

}  // namespace weir
