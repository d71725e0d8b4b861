#include "weir/exchange/local_input_channel.h"

namespace weir {
namespace {

[[noreturn]] void throwCancelled(const char* why) {
  throw Throwable("org.apache.flink.runtime.execution.CancelTaskException", why);
}

}  // namespace

bool LocalInputChannel::requestSubpartition(const ReaderSlot& reader) {
  WEIR_CHECK(!released_, "a released local channel is asked to connect");
  if (view_) return true;
  const std::shared_ptr<ResultPartition> partition = partitions_->find(descriptor().partition);
  if (!partition || partition->isReleased()) return false;
  reader_ = reader;
  view_ = partition->createView(descriptor().subpartition, reader);
  Lock lock(gaugeMutex_);
  forGauges_ = partition;
  return true;
}

std::optional<BufferAndBacklog> LocalInputChannel::getNextBuffer() {
  if (released_) throwCancelled("Queried for a buffer after channel has been released.");
  if (!view_) return std::nullopt;
  while (true) {
    std::optional<BufferAndBacklog> next = view_.getNextBuffer();
    if (!next) {
      if (view_.isReleased()) throwIfFailed();
      return next;
    }
    const Buffer& buffer = next->buffer;
    countIn(buffer.size());
    if (buffer.size() == 0) continue;
    if (buffer.isBuffer()) persister_.maybePersist(buffer);
    else persister_.checkForBarrier(buffer);
    return next;
  }
}

void LocalInputChannel::throwIfFailed() const {
  if (const auto cause = view_.failureCause())
    throw Throwable("org.apache.flink.runtime.io.network.partition.PartitionConnectionException", "The producing task has failed.", cause);
  throwCancelled("Consumed partition has been released.");
}

void LocalInputChannel::resumeConsumption() {
  WEIR_CHECK(!released_ && view_, "resumption of a channel that is not connected");
  if (view_.resumeConsumption()) reader_.queue->add(reader_.channel);
}

void LocalInputChannel::acknowledgeAllRecordsProcessed() {
  WEIR_CHECK(!released_ && view_, "acknowledgement on a channel that is not connected");
  view_.acknowledgeAllDataProcessed();
}

void LocalInputChannel::announceBufferSize(int32_t size) {
  if (!released_ && view_) view_.notifyNewBufferSize(size);
}

void LocalInputChannel::releaseAllResources() {
  if (released_) return;
  released_ = true;
  std::shared_ptr<ResultPartition> partition;
  {
    Lock lock(gaugeMutex_);
    partition.swap(forGauges_);
  }
  view_.release();
}

int32_t LocalInputChannel::queueLength() const {
  std::shared_ptr<ResultPartition> partition;
  {
    Lock lock(gaugeMutex_);
    partition = forGauges_;
  }
  return partition ? partition->subpartition(descriptor().subpartition).queueLength() : 0;
}

void LocalInputChannel::convertToPriorityEvent(int32_t) {
  WEIR_CHECK(false, "a local channel announces no barriers: none can be converted");
}

}  // namespace weir
