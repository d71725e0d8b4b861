#pragma once

#include "weir/config/configuration.h"
#include "weir/transport/socket_transport.h"

namespace weir {

/// How TaskManagers of one process reach each other over sockets: on the loopback, by any free port. Flink: NettyConfig of a MiniCluster.
Result<SocketTransportOptions> loopbackConnections(const Configuration& configuration);

}  // namespace weir
