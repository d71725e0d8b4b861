#include "weir/transport/server_handler.h"

namespace weir {

PartitionRequestServerHandler::PartitionRequestServerHandler(std::shared_ptr<ResultPartitionManager> partitions, MessageSink& out,
                                                             Callbacks callbacks)
    : partitions_(std::move(partitions)), out_(out), callbacks_(std::move(callbacks)), queue_(out, callbacks_.onReady) {}

template <class Message, class Action>
void PartitionRequestServerHandler::withReader(const Message& message, Action&& action) {
  if (Reader* reader = queue_.find(message.receiver)) return action(*reader);
  fail(std::make_shared<Throwable>("java.lang.IllegalStateException",
                                   fmt::format("No reader for receiverId = {} exists.", message.receiver.toString())));
}

void PartitionRequestServerHandler::onMessage(const NetworkMessage& message) {
  if (failure_) return;
  if (const auto* asked = std::get_if<PartitionRequest>(&message)) {
    request(*asked);
  } else if (const auto* credit = std::get_if<AddCredit>(&message)) {
    handle(*credit);
  } else if (const auto* resume = std::get_if<ResumeConsumption>(&message)) {
    handle(*resume);
  } else if (const auto* acknowledge = std::get_if<AckAllUserRecordsProcessed>(&message)) {
    withReader(*acknowledge, [](Reader& reader) { reader.acknowledgeAllRecordsProcessed(); });
  } else if (const auto* size = std::get_if<NewBufferSize>(&message)) {
    if (Reader* reader = queue_.find(size->receiver); reader && size->size > 0) reader->notifyNewBufferSize(size->size);
  } else if (const auto* cancel = std::get_if<CancelPartitionRequest>(&message)) {
    if (const auto waiting = waiting_.extract(cancel->receiver))
      partitions_->forget(waiting.mapped().request.partition, waiting.mapped().listener);
    queue_.remove(cancel->receiver);
  } else if (std::holds_alternative<CloseRequest>(message)) {
    release();
  } else {
    fail(std::make_shared<Throwable>("java.lang.IllegalArgumentException",
                                     fmt::format("Received unexpected client request: {}.", nameOf(message))));
  }
  if (!failure_) queue_.write();
}

void PartitionRequestServerHandler::request(const PartitionRequest& message) {
  if (message.furtherSubpartitions > 0)
    return fail(std::make_shared<Throwable>(
        "java.lang.UnsupportedOperationException",
        fmt::format("Receiver {} asks for {} subpartitions at once; a channel reads one.", message.receiver.toString(),
                    uint64_t{message.furtherSubpartitions} + 1)));
  if (message.credit < 0 || queue_.find(message.receiver) || waiting_.contains(message.receiver))
    return fail(std::make_shared<Throwable>(
        "java.lang.IllegalArgumentException",
        fmt::format("Receiver {} asks for a partition with a credit of {}: once, and with none or more.", message.receiver.toString(),
                    message.credit)));
  Waiting waiting{message, 0};
  // The listener is told by the producing task: it only hands on.
  const auto partition = partitions_->findOrListen(
      message.partition, [told = callbacks_.onRegistered, receiver = message.receiver] { told(receiver); }, waiting.listener);
  if (partition) return read(message, partition);
  waiting_[message.receiver] = std::move(waiting);
  callbacks_.onWaiting(message.receiver);
}

void PartitionRequestServerHandler::registered(const InputChannelID& receiver) {
  const auto waiting = waiting_.extract(receiver);
  if (!waiting || failure_) return;
  const PartitionRequest& asked = waiting.mapped().request;
  if (const auto partition = partitions_->find(asked.partition)) read(asked, partition);
  else notFound(asked);  // gone again
  queue_.write();
}

bool PartitionRequestServerHandler::expire(const InputChannelID& receiver) {
  const auto waiting = waiting_.extract(receiver);
  if (!waiting || failure_) return false;
  partitions_->forget(waiting.mapped().request.partition, waiting.mapped().listener);
  notFound(waiting.mapped().request);
  return true;
}

void PartitionRequestServerHandler::read(const PartitionRequest& message, const std::shared_ptr<ResultPartition>& partition) {
  if (partition->isReleased()) return notFound(message);
  if (message.subpartition >= static_cast<uint32_t>(partition->subpartitionCount()) ||
      partition->subpartition(message.subpartition).hasReader())
    return fail(std::make_shared<Throwable>(
        "java.lang.IllegalArgumentException",
        fmt::format("Receiver {} asks for subpartition {} of {}, of which there are {}, each to be read once.",
                    message.receiver.toString(), message.subpartition, message.partition.partition.toString(),
                    partition->subpartitionCount())));
  Reader& reader = queue_.add(std::make_unique<Reader>(message, queue_.newSlot()));
  reader.setView(partition->createView(message.subpartition, queue_.slotOf(reader)));
  queue_.enqueueAvailable(reader);
}

void PartitionRequestServerHandler::notFound(const PartitionRequest& message) {
  out_.send(ErrorResponse{message.receiver,
                          std::make_shared<Throwable>("org.apache.flink.runtime.io.network.partition.PartitionNotFoundException",
                                                      fmt::format("Partition {}@{} not found.", message.partition.partition.toString(),
                                                                  message.partition.producer.toString()))});
}

void PartitionRequestServerHandler::handle(const AddCredit& message) {
  withReader(message, [&](Reader& reader) {
    if (auto added = reader.addCredit(message.credit); added.has_error())
      return fail(std::make_shared<Throwable>("java.lang.IllegalArgumentException", added.error().message));
    queue_.enqueueAvailable(reader);
  });
}

void PartitionRequestServerHandler::handle(const ResumeConsumption& message) {
  withReader(message, [&](Reader& reader) {
    if (auto resumed = reader.resumeConsumption(); resumed.has_error())
      return fail(std::make_shared<Throwable>("java.lang.IllegalStateException", resumed.error().message));
    queue_.enqueueAvailable(reader);
  });
}

void PartitionRequestServerHandler::onReady() {
  if (failure_) return;
  queue_.drainReady();
  queue_.write();
}

void PartitionRequestServerHandler::fail(std::shared_ptr<const Throwable> cause) {
  out_.send(ErrorResponse{std::nullopt, cause});
  release();
  failure_ = std::move(cause);
}

void PartitionRequestServerHandler::release() {
  for (const auto& [receiver, waiting] : waiting_) partitions_->forget(waiting.request.partition, waiting.listener);
  waiting_.clear();
  queue_.removeAll();
}

}  // namespace weir
