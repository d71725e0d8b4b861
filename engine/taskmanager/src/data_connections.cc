#include "weir/taskmanager/data_connections.h"

#include "weir/config/network_options.h"

namespace weir {

Result<SocketTransportOptions> loopbackConnections(const Configuration& c) {
  SocketTransportOptions options;
  WEIR_ASSIGN(options.retries, c.get(kNetworkRetries));
  WEIR_ASSIGN(const int32_t connectTimeout, c.get(kConnectTimeoutSeconds));
  options.connectTimeout = std::chrono::seconds(connectTimeout);
  WEIR_ASSIGN(options.sendReceiveBufferSize, c.get(kSendReceiveBufferSize));
  WEIR_ASSIGN(options.backlog, c.get(kServerBacklog));
  WEIR_ASSIGN(options.keepIdleSeconds, c.getOptional(kKeepIdleSeconds));
  WEIR_ASSIGN(options.keepIntervalSeconds, c.getOptional(kKeepIntervalSeconds));
  WEIR_ASSIGN(options.keepCount, c.getOptional(kKeepCount));
  WEIR_ASSIGN(const MemorySize segment, c.get(kMemorySegmentSize));
  options.limits.payload = static_cast<uint32_t>(segment.bytes);
  return options;
}

}  // namespace weir
