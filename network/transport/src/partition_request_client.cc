#include "weir/transport/partition_request_client.h"

namespace weir {

void PartitionRequestClient::requestSubpartition(std::shared_ptr<RemoteReceiver> receiver) {
  (void)loop_->post({"request subpartition", [self = shared_from_this(), receiver = std::move(receiver)] {
                       self->handler_.requestSubpartition(receiver);
                     }});
}

void PartitionRequestClient::notifyCreditAvailable(const InputChannelID& receiver) {
  (void)loop_->post({"credit", [self = shared_from_this(), receiver] { self->handler_.notifyCreditAvailable(receiver); }});
}

void PartitionRequestClient::resumeConsumption(const InputChannelID& receiver) {
  (void)loop_->post({"resume consumption", [self = shared_from_this(), receiver] { self->handler_.resumeConsumption(receiver); }});
}

void PartitionRequestClient::acknowledgeAllRecordsProcessed(const InputChannelID& receiver) {
  (void)loop_->post(
      {"all records processed", [self = shared_from_this(), receiver] { self->handler_.acknowledgeAllRecordsProcessed(receiver); }});
}

void PartitionRequestClient::notifyNewBufferSize(const InputChannelID& receiver, int32_t size) {
  (void)loop_->post(
      {"new buffer size", [self = shared_from_this(), receiver, size] { self->handler_.notifyNewBufferSize(receiver, size); }});
}

void PartitionRequestClient::cancelRequest(const InputChannelID& receiver) {
  (void)loop_->post({"cancel request", [self = shared_from_this(), receiver] { self->handler_.cancelRequest(receiver); }});
}

void PartitionRequestClient::stop() {
  (void)loop_->post({"stop", [self = shared_from_this()] {
                       if (const auto connection = std::move(self->connection_)) {
                         connection->send(std::make_unique<NetworkFrame>(CloseRequest{}));
                         connection->closeWhenSent();
                       }
                       self->onClosed({});
                       self->loop_->stop();
                     }});
}

void PartitionRequestClient::onOpen(std::shared_ptr<Connection> connection) {
  if (isClosed()) return connection->close();
  connection_ = std::move(connection);
  for (NetworkMessage& message : std::exchange(early_, {})) send(std::move(message));
  handler_.onWritable();
}

void PartitionRequestClient::onMessage(std::unique_ptr<TransportMessage> message) {
  auto& frame = static_cast<NetworkFrame&>(*message);
  if (frame.payload == NetworkFrame::Payload::kInPlace) handler_.onMessage(std::move(frame.message));
  else handler_.onSentMessage(std::move(frame.message)), handler_.onRead();
  if (!handler_.failed()) return;
  if (report_) report_(handler_.failure()->what());
  if (const auto connection = std::move(connection_)) connection->close();
  onClosed({});
}

void PartitionRequestClient::onClosed(const ConnectionEnded& ended) {
  closed_.store(true, std::memory_order_release);
  connection_ = nullptr;
  early_.clear();
  if (ended.why == ConnectionEnded::Why::kViolation && report_) report_(ended.what);
  handler_.onClosed(ended);
}

void PartitionRequestClient::send(NetworkMessage message) {
  if (connection_) connection_->send(std::make_unique<NetworkFrame>(std::move(message)));
  else if (!isClosed()) early_.push_back(std::move(message));
}

}  // namespace weir
