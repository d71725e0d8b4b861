#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/base/transport.h"
#include "weir/io/link_proxy.h"

namespace weir {

/// Sockets whose every link from one TaskManager to another goes through a LinkProxy of its own, so that it can be slow or break.
///
/// Flink: has none. Threads: any. Life: the proxies stop with it.
/// Errors: who connects to an address that no proxy can stand in for is told that it cannot be reached.
class ProxiedTransport final : public Transport {
 public:
  ProxiedTransport(Executor& executor, std::shared_ptr<Transport> sockets) : executor_(executor), sockets_(std::move(sockets)) {}
  ~ProxiedTransport() override;

  std::shared_ptr<Reactor> makeReactor() override { return sockets_->makeReactor(); }
  Result<std::string> listen(const std::string& self, Acceptor acceptor) override;
  void unlisten(const std::string& self) override { sockets_->unlisten(self); }
  void connect(const std::string& self, const std::string& peer, ConnectionEnd end) override;

  /// From the TaskManager that consumes to the one that produces, which listens. Made where nobody has connected yet.
  Result<std::shared_ptr<LinkProxy>> link(const std::string& consumer, const std::string& producer);

 private:
  Executor& executor_;
  const std::shared_ptr<Transport> sockets_;
  Mutex mutex_;
  std::map<std::string, std::string> addresses_;  ///< by the name of who listens
  std::map<std::pair<std::string, std::string>, std::shared_ptr<LinkProxy>> links_;
};

}  // namespace weir
