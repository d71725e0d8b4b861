#include "weir/transport/partition_request_server.h"

namespace weir {
namespace {

constexpr Nanos kPatience = std::chrono::seconds(10);

}  // namespace

std::shared_ptr<PartitionRequestServer> PartitionRequestServer::create(std::shared_ptr<ResultPartitionManager> partitions,
                                                                       const Clock& clock, Millis partitionRequestTimeout,
                                                                       BrokenConnectionReport report) {
  std::shared_ptr<PartitionRequestServer> server(new PartitionRequestServer(clock, partitionRequestTimeout, std::move(report)));
  MessageSink& sink = *server;
  server->handler_ = std::make_unique<PartitionRequestServerHandler>(std::move(partitions), sink, server->callbacks());
  return server;
}

PartitionRequestServerHandler::Callbacks PartitionRequestServer::callbacks() {
  // Producing tasks call these: they must not keep a connection alive that is gone.
  const std::weak_ptr<PartitionRequestServer> weak = weak_from_this();
  const auto post = [loop = loop_, weak](const char* what, std::function<void(PartitionRequestServer&)> run) {
    (void)loop->post({what, [weak, run = std::move(run)] {
                        if (const auto self = weak.lock()) run(*self);
                      }});
  };
  PartitionRequestServerHandler::Callbacks callbacks;
  callbacks.onReady = [post] { post("data available", [](PartitionRequestServer& self) { self.handler_->onReady(); }); };
  callbacks.onRegistered = [post](const InputChannelID& receiver) {
    post("partition registered", [receiver](PartitionRequestServer& self) {
      if (const auto timer = self.timers_.extract(receiver)) (void)self.loop_->cancel(timer.mapped());
      self.handler_->registered(receiver);
    });
  };
  callbacks.onWaiting = [weak](const InputChannelID& receiver) {
    if (const auto self = weak.lock()) self->waitFor(receiver);
  };
  return callbacks;
}

void PartitionRequestServer::waitFor(const InputChannelID& receiver) {
  timers_[receiver] = loop_->postAt(Deadline::work(clock_.monotonic() + timeout_), {"partition request time-out", [this, receiver] {
                                                                                      timers_.erase(receiver);
                                                                                      (void)handler_->expire(receiver);
                                                                                    }});
}

void PartitionRequestServer::onMessage(std::unique_ptr<TransportMessage> message) {
  const NetworkMessage& content = static_cast<NetworkFrame&>(*message).message;
  if (const auto* cancel = std::get_if<CancelPartitionRequest>(&content)) {
    if (const auto timer = timers_.extract(cancel->receiver)) (void)loop_->cancel(timer.mapped());
  }
  handler_->onMessage(content);
  if (std::holds_alternative<CloseRequest>(content)) {
    if (const auto connection = std::move(connection_)) connection->close();
    onClosed({});
  } else if (handler_->failed() && !std::exchange(closing_, true)) {
    if (report_) report_(handler_->failure()->what());
    // The peer is still told why, and closes then. One that does not is left alone.
    connection_->closeWhenSent();
    (void)loop_->postAt(Deadline::housekeeping(clock_.monotonic() + kPatience), {"peer does not close", [this] { loop_->stop(); }});
  }
}

void PartitionRequestServer::onClosed(const ConnectionEnded& ended) {
  if (ended.why == ConnectionEnded::Why::kViolation && report_) report_(ended.what);
  connection_ = nullptr;
  handler_->release();
  loop_->stop();
}

void PartitionRequestServer::stop() {
  (void)loop_->post({"stop", [self = shared_from_this()] {
                       if (const auto connection = std::move(self->connection_)) connection->close();
                       self->onClosed({});
                     }});
}

void PartitionRequestServer::send(NetworkMessage message) {
  if (connection_) connection_->send(std::make_unique<NetworkFrame>(std::move(message)));
}

void PartitionRequestServer::send(NetworkMessage message, SocketTrace trace) {
  if (connection_) connection_->send(std::make_unique<NetworkFrame>(std::move(message), std::move(trace)));
}

}  // namespace weir
