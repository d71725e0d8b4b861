#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <memory>
#include <string>
#include <vector>

#include "weir/transport/socket_transport.h"

namespace weir {

/// Makes a connection: resolves the name of the peer, tries its addresses in turn, and all of them again as often as asked for.
///
/// Flink: PartitionRequestClientFactory with NettyClient. Threads: the actor of the end. Life: held by what it waits for, so by its
/// reactor.
class SocketConnector : public std::enable_shared_from_this<SocketConnector> {
 public:
  static void start(ConnectionEnd end, std::string address, std::shared_ptr<const SocketTransportOptions> options);

 private:
  SocketConnector(std::weak_ptr<Reactor> reactor, boost::asio::io_context& context, std::shared_ptr<ConnectionHandler> handler,
                  std::shared_ptr<const SocketTransportOptions> options)
      : reactor_(std::move(reactor)), handler_(std::move(handler)), options_(std::move(options)), socket_(context), timer_(context) {}
  void attempt();
  void onConnected();
  void onFailed(const std::string& why);

  const std::weak_ptr<Reactor> reactor_;  ///< which owns it
  const std::shared_ptr<ConnectionHandler> handler_;
  const std::shared_ptr<const SocketTransportOptions> options_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::vector<boost::asio::ip::tcp::endpoint> endpoints_;
  size_t attempts_ = 0;
  bool timedOut_ = false;
};

}  // namespace weir
