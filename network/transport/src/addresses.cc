#include "addresses.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <memory>

namespace weir {

using boost::asio::ip::tcp;

Result<HostAndPort> parseAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  HostAndPort parsed;
  if (colon != std::string::npos && colon > 0) {
    const char* const end = address.data() + address.size();
    const auto [stop, error] = std::from_chars(address.data() + colon + 1, end, parsed.port);
    parsed.host = address.substr(0, colon);
    const bool bracketed = parsed.host.size() > 2 && parsed.host.front() == '[' && parsed.host.back() == ']';
    if (bracketed) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
    if (error == std::errc() && stop == end && parsed.port > 0 && (bracketed || parsed.host.find(':') == std::string::npos)) return parsed;
  }
  return Error{ErrorCode::kInvalidArgument, fmt::format("'{}' is no address of a TaskManager, which is host:port", address)};
}

std::string join(const std::string& host, uint16_t port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string nameOf(const sockaddr_storage& address) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "unknown";
  return join(host, static_cast<uint16_t>(std::strtoul(port, nullptr, 10)));
}

Result<std::vector<tcp::endpoint>> resolve(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error != 0) return Error{ErrorCode::kNotFound, fmt::format("the host '{}' is unknown: {}", host, ::gai_strerror(error))};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  std::vector<tcp::endpoint> endpoints;
  for (const addrinfo* at = found; at; at = at->ai_next) {
    tcp::endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), at->ai_addr, at->ai_addrlen);
    endpoint.resize(at->ai_addrlen);
    endpoint.port(port);
    endpoints.push_back(endpoint);
  }
  if (endpoints.empty()) return Error{ErrorCode::kNotFound, fmt::format("the host '{}' has no address for TCP", host)};
  return endpoints;
}

void setUp(tcp::socket& socket, const SocketTransportOptions& options) {
  // A socket that refuses an option works all the same.
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  if (options.sendReceiveBufferSize > 0) {
    socket.set_option(tcp::socket::send_buffer_size(options.sendReceiveBufferSize), ignored);
    socket.set_option(tcp::socket::receive_buffer_size(options.sendReceiveBufferSize), ignored);
  }
}

}  // namespace weir
