#include "weir/transport/socket_transport.h"

#include "connector.h"
#include "listener.h"
#include "weir/io/io_reactor.h"

namespace weir {

SocketTransport::SocketTransport(Executor& executor, LogSink& log, SocketTransportOptions options)
    : executor_(executor), log_(log, "org.apache.flink.runtime.io.network.netty.NettyServer"),
      options_(std::make_shared<const SocketTransportOptions>(std::move(options))) {}

SocketTransport::~SocketTransport() {
  for (const auto& [name, listener] : listeners_) listener->stop();
}

std::shared_ptr<Reactor> SocketTransport::makeReactor() { return std::make_shared<IoReactor>(); }

Result<std::string> SocketTransport::listen(const std::string& self, Acceptor acceptor) {
  WEIR_ASSIGN(auto listener, SocketListener::open(*options_, std::move(acceptor), log_));
  {
    Lock lock(mutex_);
    if (!listeners_.emplace(self, listener).second)
      return Error{ErrorCode::kAlreadyExists, "somebody listens as " + self + " already: give each TaskManager a name of its own"};
  }
  listener->start(executor_, "data acceptor " + self);
  log_.info("{} listens for data connections on {}", self, listener->address());
  return listener->address();
}

void SocketTransport::unlisten(const std::string& self) {
  std::shared_ptr<SocketListener> listener;
  {
    Lock lock(mutex_);
    if (auto node = listeners_.extract(self)) listener = std::move(node.mapped());
  }
  if (listener) listener->stop();
}

void SocketTransport::connect(const std::string&, const std::string& peer, ConnectionEnd end) {
  std::string address = peer;
  {
    Lock lock(mutex_);
    if (const auto found = listeners_.find(peer); found != listeners_.end()) address = found->second->address();
  }
  SocketConnector::start(std::move(end), address, options_);
}

}  // namespace weir
