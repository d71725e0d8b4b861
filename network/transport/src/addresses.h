#pragma once

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "weir/transport/socket_transport.h"

namespace weir {

struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};

/// `host:port`, or `[host]:port` where the host has colons.
Result<HostAndPort> parseAddress(const std::string& address);
std::string join(const std::string& host, uint16_t port);
std::string nameOf(const sockaddr_storage& address);
/// At least one endpoint, in the order in which they are to be tried. May ask a name server, and waits for it.
Result<std::vector<boost::asio::ip::tcp::endpoint>> resolve(const std::string& host, uint16_t port);
/// What holds for a socket of either end.
void setUp(boost::asio::ip::tcp::socket& socket, const SocketTransportOptions& options);

}  // namespace weir
