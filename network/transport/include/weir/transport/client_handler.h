#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "weir/transport/remote_receiver.h"

namespace weir {

/// The consuming end of a connection: hands what arrives to its receivers, and sends what they and their tasks have to say.
///
/// Flink: CreditBasedPartitionRequestClientHandler with NettyPartitionRequestClient. A state machine without a socket: messages go out
/// through a MessageSink, whoever owns the connection calls the rest.
///
/// Threads: one, the owner's. Order: credit, resumption, acknowledgement and buffer size leave in the order in which they were asked for,
/// as the connection has room, and credit that gathers meanwhile leaves as one; requests and cancellations do not wait. Errors: what breaks
/// the connection breaks all its receivers.
class CreditBasedPartitionRequestClientHandler {
 public:
  /// `remote` names the other TaskManager in messages.
  CreditBasedPartitionRequestClientHandler(MessageSink& out, std::string remote) : out_(out), remote_(std::move(remote)) {}

  // From tasks. ----------------------------------------------------------------------------------------------------------------------
  void requestSubpartition(const std::shared_ptr<RemoteReceiver>& receiver);
  void notifyCreditAvailable(const InputChannelID& receiver);
  void resumeConsumption(const InputChannelID& receiver);
  void acknowledgeAllRecordsProcessed(const InputChannelID& receiver);
  void notifyNewBufferSize(const InputChannelID& receiver, int32_t size);
  /// Nobody reads it any more.
  void cancelRequest(const InputChannelID& receiver);

  // From the connection. -------------------------------------------------------------------------------------------------------------
  /// As NetworkConnectionHandler.
  Buffer bufferFor(const BufferResponse& head, uint32_t size);
  /// Data lies in the buffer that bufferFor() gave for it.
  void onMessage(NetworkMessage message);
  /// A message as it was sent: data is copied into a buffer of its receiver, as a socket would do.
  void onSentMessage(NetworkMessage message);
  /// Tells the gates of what has come: once for many messages, so that a reader is not woken for each.
  void onRead() { news_.deliver(); }
  void onWritable() { sendQueued(); }
  void onClosed(const ConnectionEnded& ended);

  /// The connection is of no use any more: its owner closes it.
  bool failed() const { return failure_ != nullptr; }
  const std::shared_ptr<const Throwable>& failure() const { return failure_; }
  size_t receivers() const { return receivers_.size(); }

 private:
  struct AnnouncedCredit {
    InputChannelID receiver;
  };
  using Queued = std::variant<AnnouncedCredit, ResumeConsumption, AckAllUserRecordsProcessed, NewBufferSize>;

  void enqueue(Queued message);
  void sendQueued();
  RemoteReceiver* find(const InputChannelID& id) const;
  void cancelOnce(const InputChannelID& id);
  void onErrorResponse(const ErrorResponse& message);
  void failAll(const std::shared_ptr<const Throwable>& cause);

  MessageSink& out_;
  const std::string remote_;
  NotificationBatch news_;  ///< of what has come since the last onRead()
  std::unordered_map<InputChannelID, std::shared_ptr<RemoteReceiver>> receivers_;
  std::set<InputChannelID> cancelled_;  ///< told the producer so; it may not know yet
  std::deque<Queued> queued_;
  std::shared_ptr<const Throwable> failure_;  ///< of the connection
};

}  // namespace weir
