#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "weir/base/actor_loop.h"
#include "weir/base/executor.h"
#include "weir/base/result.h"

namespace weir {

/// A network between one listening address and whoever connects to it through here: with latency and a bandwidth, and it can break.
///
/// It accepts on a port of its own, connects each time to its target, and moves bytes both ways. What it moves is bounded, so that a
/// receiver that does not read is felt by its sender as over a real network. The twin of MemoryTransport's delays, for real sockets.
///
/// Flink: has none; people use toxiproxy or iptables. Threads: every method from any; bytes are moved by an actor of its own. A setting
/// holds for what arrives at the proxy after it. Life: open() to stop(), which resets its connections.
class LinkProxy : public std::enable_shared_from_this<LinkProxy> {
 public:
  /// `target`: `address:port` or `[IPv6 address]:port`. An error where no port can be had.
  static Result<std::shared_ptr<LinkProxy>> open(Executor& executor, ActorOptions actor, const std::string& target);

  /// Where to connect instead of to the target.
  const std::string& address() const { return address_; }
  /// How long each byte is under way, one direction.
  void setDelay(Nanos delay) { delay_.store(delay.count(), std::memory_order_relaxed); }
  /// How many bytes each direction of each connection carries in a second; 0: as many as come.
  void setBandwidth(int64_t bytesPerSecond) { bandwidth_.store(bytesPerSecond, std::memory_order_relaxed); }
  /// All connections are lost: both ends are told, what is under way is dropped. New ones may be made.
  void cut();
  /// Nothing travels any more, not even that a connection has ended, and nobody is told: what a pulled cable looks like from either end.
  void goSilent();
  /// What was held travels on.
  void goOn();
  /// Connections that are open on at least one side.
  size_t connections() const { return connections_.load(std::memory_order_relaxed); }
  void stop();

 private:
  struct Net;
  class Connection;
  class Pipe;
  LinkProxy() = default;
  void accept(const std::shared_ptr<Net>& net);
  void connect(const std::shared_ptr<Net>& net, const std::shared_ptr<Connection>& connection);

  std::string address_;
  std::atomic<int64_t> delay_{0}, bandwidth_{0};
  std::atomic<bool> silent_{false};
  std::atomic<size_t> connections_{0};
  ActorLoop loop_;
  std::weak_ptr<Net> net_;  ///< what its actor alone touches
};

}  // namespace weir
