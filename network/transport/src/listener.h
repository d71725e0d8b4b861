#pragma once

#include <memory>
#include <string>

#include "weir/transport/socket_transport.h"

namespace weir {

/// A listening socket and the actor that accepts on it. What is accepted goes on as an actor of its own.
///
/// Threads: any; open() binds at once. Life: start() to stop().
class SocketListener : public std::enable_shared_from_this<SocketListener> {
 public:
  static Result<std::shared_ptr<SocketListener>> open(const SocketTransportOptions& options, Transport::Acceptor acceptor, Logger log);
  void start(Executor& executor, std::string actor);
  void stop() { loop_.stop(); }
  /// Where others reach it.
  const std::string& address() const { return address_; }

 private:
  /// What its actor alone touches once it runs.
  struct Socket;
  SocketListener(Transport::Acceptor acceptor, const SocketTransportOptions& options, Logger log)
      : acceptor_(std::move(acceptor)), options_(options), log_(std::move(log)) {}
  Result<void> bind();
  void waitForPeers(const std::shared_ptr<Socket>& socket);
  void accept(const std::shared_ptr<Socket>& socket);
  void adopt(int descriptor);

  const Transport::Acceptor acceptor_;
  const SocketTransportOptions options_;
  const Logger log_;
  std::string address_;
  ActorLoop loop_;
  std::shared_ptr<Socket> bound_;  ///< until start()
};

}  // namespace weir
