#pragma once

#include <map>
#include <memory>

#include "weir/transport/server_handler.h"

namespace weir {

/// The producing end of one connection, with the actor that owns it.
///
/// Flink: the server's channel handlers and their event loop. Threads: the actor's; stop() from any. Life: until the peer closes or stop().
class PartitionRequestServer final : public NetworkConnectionHandler,
                                     private MessageSink,
                                     public std::enable_shared_from_this<PartitionRequestServer> {
 public:
  /// `partitionRequestTimeout`: how long a request waits for a partition that is not there yet.
  static std::shared_ptr<PartitionRequestServer> create(std::shared_ptr<ResultPartitionManager> partitions, const Clock& clock,
                                                        Millis partitionRequestTimeout, BrokenConnectionReport report = {});

  const std::shared_ptr<ActorLoop>& loop() const { return loop_; }
  void stop();

  // ConnectionHandler
  void onOpen(std::shared_ptr<Connection> connection) override { connection_ = std::move(connection); }
  void onMessage(std::unique_ptr<TransportMessage> message) override;
  void onWritable() override { handler_->onWritable(); }
  void onClosed(const ConnectionEnded& ended) override;
  Buffer bufferFor(const BufferResponse&, uint32_t) override { return {}; }

 private:
  PartitionRequestServer(const Clock& clock, Millis timeout, BrokenConnectionReport report)
      : clock_(clock), timeout_(timeout), report_(std::move(report)) {}
  PartitionRequestServerHandler::Callbacks callbacks();
  void send(NetworkMessage message) override;
  void send(NetworkMessage message, SocketTrace trace) override;
  bool isWritable() const override { return connection_ && connection_->isWritable(); }
  void waitFor(const InputChannelID& receiver);

  const Clock& clock_;
  const Millis timeout_;
  const BrokenConnectionReport report_;
  const std::shared_ptr<ActorLoop> loop_ = std::make_shared<ActorLoop>();

  // The actor's.
  std::shared_ptr<Connection> connection_;
  bool closing_ = false;
  std::unique_ptr<PartitionRequestServerHandler> handler_;
  std::map<InputChannelID, ActorLoop::TimerId> timers_;  ///< of requests that wait
};

}  // namespace weir
