#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "weir/base/actor_loop.h"
#include "weir/base/executor.h"
#include "weir/base/result.h"

namespace weir {

/// Something that one process says to another. What it is, only both ends know; a carrier that leaves the process makes bytes of it.
class TransportMessage {
 public:
  virtual ~TransportMessage() = default;
  /// About how many bytes it takes on a wire: what a carrier counts against its window.
  virtual size_t wireSize() const = 0;
};

/// One end of a connection. Messages of one direction arrive in the order in which they were sent; the two directions are independent.
///
/// Flink: a Netty Channel. Threads: the loop of this end.
class Connection {
 public:
  virtual ~Connection() = default;
  /// False: what is under way fills the window. Messages may be sent all the same; onWritable tells when there is room again.
  virtual bool isWritable() const = 0;
  /// Dropped once the connection is closed.
  virtual void send(std::unique_ptr<TransportMessage> message) = 0;
  /// What is under way in either direction is dropped, and the other end is told. Idempotent.
  virtual void close() = 0;
  /// Nothing more is sent, and nothing that arrives is told. Once what was sent has left, the peer is told that this was all; when it
  /// closes as well, onClosed is called. What can leave at once has left when this returns.
  virtual void closeWhenSent() = 0;
};

/// Why a connection is no more.
struct ConnectionEnded {
  enum class Why {
    kClosed,       ///< the peer has closed it, or its process has ended
    kLost,         ///< the network reports it lost
    kViolation,    ///< the peer has sent what no peer of this kind may send; it was closed here
    kUnreachable,  ///< it never was
  };
  Why why = Why::kClosed;
  std::string what{};  ///< in words, as far as there is more to say
};

/// What happens at one end, told on its loop, one call at a time.
class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  /// First, unless the peer cannot be reached.
  virtual void onOpen(std::shared_ptr<Connection> connection) = 0;
  virtual void onMessage(std::unique_ptr<TransportMessage> message) = 0;
  virtual void onWritable() = 0;
  /// The last call: the connection has ended. Not after this end's own close().
  virtual void onClosed(const ConnectionEnded& ended) = 0;
};

/// Who runs one end, and what it does.
struct ConnectionEnd {
  std::shared_ptr<ActorLoop> loop;
  std::shared_ptr<ConnectionHandler> handler;
  std::shared_ptr<Reactor> reactor{};  ///< of the loop's actor: what Transport::makeReactor() gave for it
};

/// Connects processes that know each other by name (in a cluster: by host and port).
///
/// Flink: NettyServer and NettyClient. Threads: any. Implementations (network/transport): in memory, also with delays drawn from a seed;
/// over sockets.
class Transport {
 public:
  /// Makes the accepting end of a connection from `peer`. Called by whoever connects, with no lock held: it only starts actors.
  using Acceptor = std::function<ConnectionEnd(const std::string& peer)>;

  virtual ~Transport() = default;
  /// Where the actor of one end has to wait; null where it needs nothing of the kind.
  virtual std::shared_ptr<Reactor> makeReactor() { return nullptr; }
  /// The address by which others reach it too. An error where the name is taken.
  virtual Result<std::string> listen(const std::string& self, Acceptor acceptor) = 0;
  /// Nobody reaches `self` any more; its connections stay.
  virtual void unlisten(const std::string& self) = 0;
  /// `peer`: a name or an address. Returns at once; `end` is told what comes of it.
  virtual void connect(const std::string& self, const std::string& peer, ConnectionEnd end) = 0;
};

}  // namespace weir
