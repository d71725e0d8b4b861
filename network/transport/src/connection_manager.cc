#include "weir/transport/connection_manager.h"

namespace weir {

ConnectionManager::ConnectionManager(Executor& executor, std::shared_ptr<Transport> transport,
                                     std::shared_ptr<ResultPartitionManager> partitions, ConnectionManagerOptions options)
    : executor_(executor), transport_(std::move(transport)), partitions_(std::move(partitions)), options_(std::move(options)) {}

Result<void> ConnectionManager::start() {
  const auto acceptor = [weak = weak_from_this()](const std::string& peer) -> ConnectionEnd {
    const auto self = weak.lock();
    const Clock* clock = self && self->options_.clock ? self->options_.clock : nullptr;
    if (!self) {
      // Nobody serves it: the connection finds a loop that has stopped, and closes.
      auto loop = std::make_shared<ActorLoop>();
      loop->stop();
      return {std::move(loop), nullptr};
    }
    auto server = PartitionRequestServer::create(self->partitions_, clock ? *clock : self->executor_.clock(),
                                                 self->options_.partitionRequestTimeout, self->reporter("from " + peer));
    const ConnectionEnd end{server->loop(), server, self->transport_->makeReactor()};
    self->spawn("data server " + self->options_.self + " for " + peer, end, [server] { server->stop(); });
    return end;
  };
  WEIR_ASSIGN(address_, transport_->listen(options_.self, acceptor));
  return {};
}

std::shared_ptr<PartitionRequestClient> ConnectionManager::clientTo(const std::string& peer) {
  const BrokenConnectionReport report = reporter("to " + peer);
  std::shared_ptr<PartitionRequestClient> client, broken;
  {
    Lock lock(mutex_);
    std::shared_ptr<PartitionRequestClient>& known = clients_[peer];
    if (known && !known->isClosed()) return known;
    broken = std::exchange(known, std::make_shared<PartitionRequestClient>(peer, report));
    client = known;
  }
  if (broken) broken->stop();
  const ConnectionEnd end{client->loop(), client, transport_->makeReactor()};
  spawn("data client " + options_.self + " to " + peer, end, [client] { client->stop(); });
  transport_->connect(options_.self, peer, end);
  return client;
}

BrokenConnectionReport ConnectionManager::reporter(std::string connection) const {
  if (!options_.log) return [](const std::string&) {};
  return [log = Logger(*options_.log, "org.apache.flink.runtime.io.network.netty.NettyConnectionManager"), self = options_.self,
          connection = std::move(connection)](const std::string& what) {
    log.error("{} closes its connection {}: {}", self, connection, what);
  };
}

void ConnectionManager::spawn(const std::string& name, const ConnectionEnd& end, std::function<void()> stopEnd) {
  uint64_t number;
  bool late;
  {
    Lock lock(mutex_);
    number = ++made_;
    late = stopping_;
    ends_[number] = stopEnd;
  }
  ActorOptions options{
      .name = fmt::format("{} ({})", name, number), .clock = options_.clock, .process = options_.process, .reactor = end.reactor};
  executor_.spawn(std::move(options),
                  [self = shared_from_this(), loop = end.loop, handler = end.handler, number](ExecutionContext& context) {
                    struct Gone {
                      ConnectionManager& manager;
                      ConnectionHandler& handler;
                      uint64_t number;
                      ~Gone() {
                        // An end whose process was killed has not heard of it: what it holds would hold it for ever.
                        handler.onClosed({ConnectionEnded::Why::kClosed});
                        manager.onEndGone(number);
                      }
                    } gone{*self, *handler, number};
                    loop->run(context);
                  });
  if (late) stopEnd();
}

void ConnectionManager::stop(std::function<void()> onStopped) {
  transport_->unlisten(options_.self);
  std::map<uint64_t, std::function<void()>> ends;
  std::map<std::string, std::shared_ptr<PartitionRequestClient>> clients;
  {
    Lock lock(mutex_);
    stopping_ = true;
    ends = ends_;
    clients.swap(clients_);
    if (!ends.empty()) onStopped_ = std::move(onStopped);
  }
  if (ends.empty()) return onStopped();
  for (const auto& [number, stopEnd] : ends) stopEnd();
}

size_t ConnectionManager::openEnds() const {
  Lock lock(mutex_);
  return ends_.size();
}

void ConnectionManager::onEndGone(uint64_t number) {
  std::function<void()> dropped, onStopped;
  {
    Lock lock(mutex_);
    if (auto end = ends_.extract(number)) dropped = std::move(end.mapped());
    if (stopping_ && ends_.empty()) onStopped = std::exchange(onStopped_, nullptr);
  }
  dropped = nullptr;
  if (onStopped) onStopped();
}

}  // namespace weir
