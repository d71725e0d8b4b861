#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/log.h"
#include "weir/base/mutex.h"
#include "weir/base/transport.h"
#include "weir/io/tls.h"
#include "weir/wire/frame_format.h"

namespace weir {

class SocketListener;

struct SocketTransportOptions {
  std::string host = "127.0.0.1";      ///< taskmanager.host: how others reach it
  std::string bindHost = "127.0.0.1";  ///< taskmanager.bind-host
  std::vector<uint16_t> bindPorts{0};  ///< taskmanager.data.bind-port: the first that is free; 0: any
  uint16_t port = 0;                   ///< taskmanager.data.port, as others see it; 0: the one that is bound
  int retries = 0;                     ///< taskmanager.network.retries: further attempts to connect
  Millis connectTimeout{120'000};      ///< taskmanager.network.netty.client.connectTimeoutSec: of one attempt
  int sendReceiveBufferSize = 0;       ///< taskmanager.network.netty.sendReceiveBufferSize; 0: the system's choice
  int backlog = 0;                     ///< taskmanager.network.netty.server.backlog; 0: the system's choice
  /// taskmanager.network.netty.client.tcp.keepIdleSec, .keepIntervalSec, .keepCount: how a connecting end finds that its peer is gone
  /// though nobody has said so. Without: the system's choice.
  std::optional<int> keepIdleSeconds{}, keepIntervalSeconds{}, keepCount{};
  std::shared_ptr<const TlsContext> tls{};  ///< security.ssl.internal.*; null: in the clear
  FrameLimits limits{};  ///< what a peer may send; payload is the size of a segment here
};

/// Connections over TCP: frames as Flink 2.3 writes them (network/wire), at most one connection for each pair of a consuming and a
/// producing TaskManager.
///
/// Payload is written from the segment in which it lies and read into the segment in which it will be consumed: the kernel copies, nobody
/// else. With TLS it is copied once more on its way out, into the record that is sealed. An end writes at the latest when its actor is
/// about to wait, so that what one turn of it sends leaves together.
///
/// Flink: NettyServer, NettyClient, NettyMessageEncoder and decoders. Threads: any; each end lives on the actor of its ConnectionEnd, whose
/// reactor comes from makeReactor(), a listener on one of its own. Messages are NetworkFrames, handlers NetworkConnectionHandlers.
/// Names: who listens by a name in this process is reached by it; else a peer is `host:port`, or `[IPv6]:port`.
/// Errors: a peer that breaks the protocol is Why::kViolation, said in one sentence.
class SocketTransport final : public Transport {
 public:
  SocketTransport(Executor& executor, LogSink& log, SocketTransportOptions options = {});
  ~SocketTransport() override;

  std::shared_ptr<Reactor> makeReactor() override;
  Result<std::string> listen(const std::string& self, Acceptor acceptor) override;
  void unlisten(const std::string& self) override;
  void connect(const std::string& self, const std::string& peer, ConnectionEnd end) override;

 private:

  Executor& executor_;
  const Logger log_;
  const std::shared_ptr<const SocketTransportOptions> options_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<SocketListener>> listeners_;
};

}  // namespace weir
