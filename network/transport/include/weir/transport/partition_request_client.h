#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/transport/client_handler.h"

namespace weir {

/// The consuming end of the connection to one TaskManager, with the actor that owns it. All channels of this TaskManager that read from
/// that one share it.
///
/// Flink: NettyPartitionRequestClient and the event loop of its channel. Threads: any; every call only posts. A channel that asks after the
/// connection broke is told so as if it had been there before.
class PartitionRequestClient final : public NetworkConnectionHandler,
                                     private MessageSink,
                                     public std::enable_shared_from_this<PartitionRequestClient> {
 public:
  explicit PartitionRequestClient(std::string remote, BrokenConnectionReport report = {})
      : report_(std::move(report)), handler_(*this, std::move(remote)) {}

  void requestSubpartition(std::shared_ptr<RemoteReceiver> receiver);
  void notifyCreditAvailable(const InputChannelID& receiver);
  void resumeConsumption(const InputChannelID& receiver);
  void acknowledgeAllRecordsProcessed(const InputChannelID& receiver);
  void notifyNewBufferSize(const InputChannelID& receiver, int32_t size);
  void cancelRequest(const InputChannelID& receiver);

  /// It will not carry anything any more: take a new one.
  bool isClosed() const { return closed_.load(std::memory_order_acquire); }
  const std::shared_ptr<ActorLoop>& loop() const { return loop_; }
  /// Closes the connection and ends the actor.
  void stop();

  // ConnectionHandler
  void onOpen(std::shared_ptr<Connection> connection) override;
  void onMessage(std::unique_ptr<TransportMessage> message) override;
  void onWritable() override { handler_.onWritable(); }
  void onRead() override { handler_.onRead(); }
  void onClosed(const ConnectionEnded& ended) override;
  Buffer bufferFor(const BufferResponse& head, uint32_t size) override { return handler_.bufferFor(head, size); }

 private:
  void send(NetworkMessage message) override;
  bool isWritable() const override { return connection_ && connection_->isWritable(); }

  const BrokenConnectionReport report_;
  const std::shared_ptr<ActorLoop> loop_ = std::make_shared<ActorLoop>();
  std::atomic<bool> closed_{false};

  // The actor's.
  std::shared_ptr<Connection> connection_;  ///< null before it is open, and after it is closed
  std::vector<NetworkMessage> early_;       ///< sent before it was open
  CreditBasedPartitionRequestClientHandler handler_;
};

}  // namespace weir
