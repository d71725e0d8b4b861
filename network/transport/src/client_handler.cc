#include "weir/transport/client_handler.h"

#include <cstring>
#include <map>

namespace weir {
namespace {

constexpr const char* kRemoteTransportException = "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException";
constexpr const char* kLocalTransportException = "org.apache.flink.runtime.io.network.netty.exception.LocalTransportException";
constexpr const char* kPartitionNotFound = "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException";

}  // namespace

void CreditBasedPartitionRequestClientHandler::requestSubpartition(const std::shared_ptr<RemoteReceiver>& receiver) {
  if (failure_) return receiver->onError(failure_);
  receivers_[receiver->id()] = receiver;
  out_.send(receiver->request());
}

void CreditBasedPartitionRequestClientHandler::notifyCreditAvailable(const InputChannelID& receiver) { enqueue(AnnouncedCredit{receiver}); }
void CreditBasedPartitionRequestClientHandler::resumeConsumption(const InputChannelID& receiver) { enqueue(ResumeConsumption{receiver}); }
void CreditBasedPartitionRequestClientHandler::acknowledgeAllRecordsProcessed(const InputChannelID& receiver) {
  enqueue(AckAllUserRecordsProcessed{receiver});
}
void CreditBasedPartitionRequestClientHandler::notifyNewBufferSize(const InputChannelID& receiver, int32_t size) {
  enqueue(NewBufferSize{receiver, size});
}

void CreditBasedPartitionRequestClientHandler::cancelRequest(const InputChannelID& receiver) {
  if (receivers_.contains(receiver)) cancelOnce(receiver);
}

void CreditBasedPartitionRequestClientHandler::cancelOnce(const InputChannelID& id) {
  // Nothing more is said about it: the producer would not know whom it is about.
  receivers_.erase(id);
  if (cancelled_.insert(id).second) out_.send(CancelPartitionRequest{id});
}

void CreditBasedPartitionRequestClientHandler::enqueue(Queued message) {
  queued_.push_back(std::move(message));
  sendQueued();
}

void CreditBasedPartitionRequestClientHandler::sendQueued() {
  while (!queued_.empty() && out_.isWritable()) {
    const Queued next = std::move(queued_.front());
    queued_.pop_front();
    const InputChannelID id = std::visit([](const auto& message) { return message.receiver; }, next);
    RemoteReceiver* receiver = find(id);
    if (!receiver) continue;  // released meanwhile
    if (std::holds_alternative<AnnouncedCredit>(next)) {
      // All that has gathered, also what came after it was queued; nothing where a resumption has voided it.
      if (const int32_t credit = receiver->buffers().takeUnannouncedCredit(); credit > 0) out_.send(AddCredit{id, credit});
    } else if (const auto* resume = std::get_if<ResumeConsumption>(&next)) {
      out_.send(*resume);
    } else if (const auto* acknowledge = std::get_if<AckAllUserRecordsProcessed>(&next)) {
      out_.send(*acknowledge);
    } else {
      out_.send(std::get<NewBufferSize>(next));
    }
  }
}

RemoteReceiver* CreditBasedPartitionRequestClientHandler::find(const InputChannelID& id) const {
  const auto found = receivers_.find(id);
  return found == receivers_.end() ? nullptr : found->second.get();
}

Buffer CreditBasedPartitionRequestClientHandler::bufferFor(const BufferResponse& head, uint32_t size) {
  RemoteReceiver* receiver = find(head.receiver);
  Buffer buffer = receiver ? receiver->bufferFor(head, size) : Buffer();
  if (!receiver || receiver->isReleased()) cancelOnce(head.receiver);
  return buffer;
}

void CreditBasedPartitionRequestClientHandler::onSentMessage(NetworkMessage message) {
  if (auto* response = std::get_if<BufferResponse>(&message); response && response->buffer.isBuffer()) {
    Buffer own = bufferFor(*response, response->buffer.size());
    if (!own) return;
    const auto sent = response->buffer.bytes();
    if (!sent.empty()) std::memcpy(own.segment()->data(), sent.data(), sent.size());
    response->buffer = Buffer::adopt(own.detach(), 0, response->buffer.size(), response->buffer.dataType());
  }
  onMessage(std::move(message));
}

void CreditBasedPartitionRequestClientHandler::onMessage(NetworkMessage message) {
  if (auto* buffer = std::get_if<BufferResponse>(&message)) {
    const InputChannelID id = buffer->receiver;
    RemoteReceiver* receiver = find(id);
    if (!receiver || !receiver->onBuffer(std::move(*buffer), news_)) cancelOnce(id);
  } else if (const auto* backlog = std::get_if<BacklogAnnouncement>(&message)) {
    RemoteReceiver* receiver = find(backlog->receiver);
    if (!receiver || !receiver->onBacklog(backlog->backlog)) cancelOnce(backlog->receiver);
  } else if (const auto* error = std::get_if<ErrorResponse>(&message)) {
    onErrorResponse(*error);
  } else {
    failAll(std::make_shared<Throwable>("java.lang.IllegalStateException",
                                        fmt::format("Received unknown message from the producer: {}.", nameOf(message))));
  }
}

void CreditBasedPartitionRequestClientHandler::onErrorResponse(const ErrorResponse& error) {
  const auto failure = std::make_shared<Throwable>(
      kRemoteTransportException,
      error.receiver ? fmt::format("Error at remote task manager '{}'.", remote_)
                     : fmt::format("Fatal error at remote task manager '{}'.", remote_),
      error.cause);
  if (!error.receiver) return failAll(failure);
  const auto found = receivers_.find(*error.receiver);
  if (found == receivers_.end()) return;
  if (error.cause->className() != kPartitionNotFound) return found->second->onError(failure);
  if (found->second->onFailedPartitionRequest()) out_.send(found->second->request());
}

void CreditBasedPartitionRequestClientHandler::onClosed(const ConnectionEnded& ended) {
  if (failure_) return;
  const auto io = ended.what.empty() ? nullptr : std::make_shared<Throwable>("java.io.IOException", ended.what);
  const auto remote = [&](const std::string& message) { failAll(std::make_shared<Throwable>(kRemoteTransportException, message, io)); };
  switch (ended.why) {
    case ConnectionEnded::Why::kClosed:
      return remote(fmt::format("Connection unexpectedly closed by remote task manager '{}'. This might indicate that the remote task "
                                "manager was lost.",
                                remote_));
    case ConnectionEnded::Why::kLost:
      return remote(fmt::format("Lost connection to task manager '{}'. This indicates that the remote task manager was lost.", remote_));
    case ConnectionEnded::Why::kUnreachable:
      return remote(fmt::format("Connecting to remote task manager '{}' has failed. This might indicate that the remote task manager has "
                                "been lost.",
                                remote_));
    case ConnectionEnded::Why::kViolation:
      return failAll(std::make_shared<Throwable>(kLocalTransportException, fmt::format("{} (connection to '{}')", ended.what, remote_)));
  }
}

void CreditBasedPartitionRequestClientHandler::failAll(const std::shared_ptr<const Throwable>& cause) {
  if (failure_) return;
  failure_ = cause;
  queued_.clear();
  // In an order that does not depend on the table: a simulated run repeats.
  const auto all = std::exchange(receivers_, {});
  for (const auto& [id, receiver] : std::map(all.begin(), all.end())) receiver->onError(cause);
}

}  // namespace weir
