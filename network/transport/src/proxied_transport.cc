#include "weir/transport/proxied_transport.h"

namespace weir {

ProxiedTransport::~ProxiedTransport() {
  for (const auto& [ends, proxy] : links_) proxy->stop();
}

Result<std::string> ProxiedTransport::listen(const std::string& self, Acceptor acceptor) {
  WEIR_ASSIGN(const std::string address, sockets_->listen(self, std::move(acceptor)));
  Lock lock(mutex_);
  return addresses_[self] = address;
}

Result<std::shared_ptr<LinkProxy>> ProxiedTransport::link(const std::string& consumer, const std::string& producer) {
  Lock lock(mutex_);
  if (const auto known = links_.find({consumer, producer}); known != links_.end()) return known->second;
  const auto listening = addresses_.find(producer);
  WEIR_ASSIGN(auto proxy, LinkProxy::open(executor_, {.name = "link " + consumer + " to " + producer},
                                          listening == addresses_.end() ? producer : listening->second));
  return links_[{consumer, producer}] = std::move(proxy);
}

void ProxiedTransport::connect(const std::string& self, const std::string& peer, ConnectionEnd end) {
  const auto proxy = link(self, peer);
  if (proxy.has_value()) return sockets_->connect(self, (*proxy)->address(), std::move(end));
  const auto loop = end.loop;
  (void)loop->post({"no link", [handler = end.handler, why = proxy.error().message] {
                      handler->onClosed({ConnectionEnded::Why::kUnreachable, why});
                    }});
}

}  // namespace weir
