#include "weir/transport/remote_input_channel.h"

namespace weir {

RemoteInputChannel::RemoteInputChannel(InputChannelDescriptor descriptor, Remote remote, std::shared_ptr<ConnectionManager> connections,
                                       std::shared_ptr<ChannelStateWriter> writer)
    : InputChannel(std::move(descriptor)), remote_(std::move(remote)), connections_(std::move(connections)),
      announcer_(std::make_shared<Announcer>(Announcer{remote_.id, nullptr})),
      receiver_(std::make_shared<RemoteReceiver>(
          RemoteReceiver::Options{info(), remote_.id, this->descriptor().partition, this->descriptor().subpartition,
                                  remote_.partitionRequestTimeout, this->descriptor().maxBackoff},
          std::move(writer),
          // There is no credit to announce before the partition is requested: by then the client is set.
          std::make_shared<BufferManager>([announcer = announcer_] { announcer->client->notifyCreditAvailable(announcer->id); }))) {}

void RemoteInputChannel::setup(std::shared_ptr<LocalBufferPool> exclusiveSource, int32_t exclusive,
                               std::shared_ptr<LocalBufferPool> floating) {
  receiver_->buffers().setup(std::move(exclusiveSource), exclusive, std::move(floating));
}

bool RemoteInputChannel::requestSubpartition(const ReaderSlot& reader) {
  WEIR_CHECK(!isReleased(), "a released remote channel is asked to connect");
  if (announcer_->client) return true;
  receiver_->setReader(reader);
  announcer_->client = connections_->clientTo(remote_.taskManager);
  announcer_->client->requestSubpartition(receiver_);
  return true;
}

std::optional<BufferAndBacklog> RemoteInputChannel::getNextBuffer() {
  std::optional<BufferAndBacklog> next = receiver_->poll();
  if (next) {
    countIn(next->buffer.size());
  } else if (isReleased()) {
    throw Throwable("org.apache.flink.runtime.execution.CancelTaskException", "Queried for a buffer after channel has been released.");
  }
  return next;
}

void RemoteInputChannel::resumeConsumption() {
  WEIR_CHECK(!isReleased() && announcer_->client, "resumption of a channel that is not connected");
  receiver_->checkError();
  receiver_->onResume();
  announcer_->client->resumeConsumption(remote_.id);
}

void RemoteInputChannel::acknowledgeAllRecordsProcessed() {
  WEIR_CHECK(!isReleased() && announcer_->client, "acknowledgement on a channel that is not connected");
  receiver_->checkError();
  announcer_->client->acknowledgeAllRecordsProcessed(remote_.id);
}

void RemoteInputChannel::announceBufferSize(int32_t size) {
  if (!isReleased() && announcer_->client) announcer_->client->notifyNewBufferSize(remote_.id, size);
}

void RemoteInputChannel::releaseAllResources() {
  if (isReleased()) return;
  receiver_->release();
  if (announcer_->client) announcer_->client->cancelRequest(remote_.id);
}

}  // namespace weir
