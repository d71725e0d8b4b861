#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/base/random.h"
#include "weir/base/transport.h"

namespace weir {

struct MemoryTransportOptions {
  /// A direction is writable while fewer bytes than this are under way in it. 1: one message at a time.
  size_t windowBytes = 64 * 1024;
  /// How long a message takes, drawn evenly; both zero: it arrives as soon as the other end gets its turn.
  Nanos shortestDelay{0}, longestDelay{0};
  uint64_t seed = 1;  ///< of the delays: each direction of each connection has a stream of its own

  /// Delays and a window drawn from the seed of a run, from a fast network to a slow one with one message at a time.
  static MemoryTransportOptions simulated(uint64_t seed);
};

/// Connections between the TaskManagers of one process. Messages are handed over as they are, order kept per connection and direction.
///
/// Under simulation this is the twin of the sockets: with delays, what goes over different connections, and both ways of one, arrives in
/// any order.
/// Threads: any. Locks: one per transport, for its books, and one per connection; loops are told with none held.
/// Errors: a peer that nobody listens as, or whose actors are gone, is a closed connection.
class MemoryTransport final : public Transport {
 public:
  explicit MemoryTransport(const Clock& clock, MemoryTransportOptions options = {}) : clock_(clock), options_(options) {}

  Result<std::string> listen(const std::string& self, Acceptor acceptor) override;
  void unlisten(const std::string& self) override;
  void connect(const std::string& self, const std::string& peer, ConnectionEnd end) override;

  /// Breaks all connections that `name` is an end of, as a lost machine does: what is under way is dropped and both ends are told.
  void cut(const std::string& name);
  /// Connections of which no end has closed.
  size_t openConnections() const;

 private:
  class Link;
  class End;
  std::vector<std::shared_ptr<Link>> liveLinks() const;

  const Clock& clock_;
  const MemoryTransportOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, Acceptor> acceptors_;
  std::vector<std::weak_ptr<Link>> links_;  ///< in order of their making
  uint64_t made_ = 0;
};

}  // namespace weir
