#include "weir/transport/remote_receiver.h"

#include "weir/exchange/barrier_bytes.h"
#include "weir/record/event_serializer.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {
namespace {

/// Numbers wrap around.
bool isBefore(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b)) < 0; }

std::shared_ptr<const Throwable> ioException(std::string message) {
  return std::make_shared<Throwable>("java.io.IOException", std::move(message));
}

}  // namespace

RemoteReceiver::RemoteReceiver(Options options, std::shared_ptr<ChannelStateWriter> writer, std::shared_ptr<BufferManager> buffers)
    : options_(std::move(options)), writer_(std::move(writer)), buffers_(std::move(buffers)), persister_(nullptr, options_.info) {}

PartitionRequest RemoteReceiver::request() const {
  return {options_.partition, options_.subpartition, options_.id, buffers_->initialCredit()};
}

// ---- from the connection ----------------------------------------------------------------------------------------------------------------

Buffer RemoteReceiver::bufferFor(const BufferResponse& head, uint32_t size) {
  if (isReleased()) return {};
  Buffer taken = buffers_->takeBuffer();
  if (taken && size <= taken.segment()->capacity()) return taken;
  if (!isReleased())
    onError(
        std::make_shared<Throwable>("java.lang.IllegalStateException",
                                    fmt::format("No buffer is left for buffer {} of {} bytes on channel {} of gate {}: its sender had no "
                                                "credit for it.",
                                                head.sequenceNumber, size, options_.info.channel, options_.info.gate)));
  return {};
}

bool RemoteReceiver::onBuffer(BufferResponse message, NotificationBatch& news) {
  if (!message.compressed && message.partialSizes.empty())
    return accept(std::move(message.buffer), message.sequenceNumber, message.backlog, news);
  onError(
      ioException(fmt::format("Buffer {} on channel {} of gate {} is {}, which only partitions of batch jobs are.", message.sequenceNumber,
                              options_.info.channel, options_.info.gate, message.compressed ? "compressed" : "put together from several")));
  return true;
}

bool RemoteReceiver::accept(Buffer buffer, int32_t sequenceNumber, int32_t backlog, NotificationBatch& news) {
  const DataType type = buffer.dataType();
  Buffer toStore, empty;
  int64_t checkpoint = kNone;
  bool firstPriority = false, wasEmpty = false;
  ReaderSlot reader;
  {
    Lock lock(mutex_);
    if (isReleased()) {
      lock.unlock();
      return false;  // lets go of the buffer without the lock
    }
    if (std::string complaint = complaintLocked(buffer, sequenceNumber, backlog); !complaint.empty()) {
      lock.unlock();
      onError(ioException(std::move(complaint)));
      return true;
    }
    ++expected_;
    if (weir::isBuffer(type) && buffer.size() == 0) {
      empty = std::move(buffer);  // it only carried the credit back
    } else {
      wasEmpty = queue_.empty();
      countLocked(buffer.size(), 1);
      if (weir::isBuffer(type)) {
        if (writer_ && !starting_ && (checkpoint = persister_.pendingCheckpoint().value_or(kNone)) != kNone) toStore = buffer;
      } else {
        noteBarrier(buffer, sequenceNumber);
      }
      if (hasPriority(type)) {
        queue_.pushPriority({std::move(buffer), sequenceNumber});
        firstPriority = queue_.prioritySize() == 1;
      } else {
        if (requiresAnnouncement(type)) {
          // It cannot fail: a barrier was found in these bytes, or there is nothing to announce.
          const auto event = EventSerializer::decode(buffer.bytes());
          const auto* barrier = event.has_value() ? std::get_if<CheckpointBarrier>(&*event) : nullptr;
          if (barrier) {
            queue_.pushPriority({Buffer::copyOf(EventSerializer::encode(EventAnnouncement{*barrier, sequenceNumber}),
                                                DataType::PRIORITIZED_EVENT_BUFFER),
                                 sequenceNumber});
            countLocked(queue_.at(queue_.prioritySize() - 1).buffer.size(), 1);
            firstPriority = queue_.prioritySize() == 1;
          }
        }
        queue_.pushBack({std::move(buffer), sequenceNumber});
      }
    }
    reader = reader_;
  }
  if (toStore) writer_->addInputData(checkpoint, options_.info, {std::move(toStore)});
  if (firstPriority) reader.queue->addPriority(reader.channel, sequenceNumber);
  if (wasEmpty) {
    news.data(reader);
    news.settle();
  }
  empty.reset();
  if (isBlockingUpstream(type)) buffers_->onBlockingUpstream();
  if (backlog >= 0 && !(isBlockingUpstream(type) && buffers_->initialCredit() == 0)) buffers_->onBacklog(backlog);
  return true;
}

std::string RemoteReceiver::complaintLocked(const Buffer& buffer, int32_t sequenceNumber, int32_t backlog) const {
  if (sequenceNumber != expected_)
    return fmt::format("Buffer re-ordering: expected buffer with sequence number {}, but received {}.", expected_, sequenceNumber);
  if (isBlockingUpstream(buffer.dataType()) && backlog != 0)
    return fmt::format("An event that blocks its sender came with a backlog of {}, but 0 was expected.", backlog);
  if (requiresAnnouncement(buffer.dataType()) && !barrierId(buffer.bytes()))
    return fmt::format("Event {} has the type of a barrier that can time out, but is none.", sequenceNumber);
  return {};
}

void RemoteReceiver::noteBarrier(const Buffer& event, int32_t sequenceNumber) {
  const std::optional<int64_t> id = persister_.checkForBarrier(event);
  if (!id || *id <= lastBarrier_) return;
  lastBarrier_ = *id;
  lastBarrierSequence_ = sequenceNumber;
}

bool RemoteReceiver::onBacklog(int32_t backlog) {
  if (isReleased()) return false;
  buffers_->onBacklog(backlog);
  return true;
}

void RemoteReceiver::onError(std::shared_ptr<const Throwable> cause) {
  ReaderSlot reader;
  {
    Lock lock(mutex_);
    if (error_ || isReleased()) return;
    error_ = std::move(cause);
    failed_.store(true, std::memory_order_release);
    reader = reader_;
  }
  if (reader.queue) reader.queue->add(reader.channel);
}

bool RemoteReceiver::onFailedPartitionRequest() {
  bool again;
  {
    Lock lock(mutex_);
    if (isReleased()) return false;
    requested_ += options_.partitionRequestTimeout;
    again = requested_ < options_.maxBackoff * 2;
  }
  if (!again)
    onError(std::make_shared<Throwable>(
        "org.apache.flink.runtime.io.network.partition.PartitionNotFoundException",
        fmt::format("Partition {}@{} not found.", options_.partition.partition.toString(), options_.partition.producer.toString())));
  return again;
}

// ---- from the task ----------------------------------------------------------------------------------------------------------------------

void RemoteReceiver::setReader(const ReaderSlot& reader) {
  Lock lock(mutex_);
  reader_ = reader;
}

std::optional<BufferAndBacklog> RemoteReceiver::poll() {
  if (failed_.load(std::memory_order_acquire)) checkError();
  std::optional<BufferAndBacklog> result;
  Lock lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  Arrived next = queue_.popFront();
  countLocked(-static_cast<int64_t>(next.buffer.size()), -1);
  const DataType following = queue_.empty() ? DataType::NONE : queue_.front().buffer.dataType();
  result.emplace(std::move(next.buffer), 0, following, next.sequenceNumber);
  return result;
}

void RemoteReceiver::checkError() const {
  std::shared_ptr<const Throwable> error;
  {
    Lock lock(mutex_);
    error = error_;
  }
  if (error) throw Throwable(*error);
}

std::vector<Buffer> RemoteReceiver::inFlightLocked(uint32_t& from) const {
  std::vector<Buffer> data;
  for (from = std::max(from, queue_.prioritySize()); from < queue_.size(); ++from) {
    const Arrived& arrived = queue_.at(from);
    if (!arrived.buffer.isBuffer()) continue;
    if (lastBarrier_ != kNone && !isBefore(arrived.sequenceNumber, lastBarrierSequence_)) break;
    data.push_back(arrived.buffer);
  }
  return data;
}

void RemoteReceiver::checkpointStarted(const CheckpointBarrier& barrier) {
  // The writer is told without the lock, and in the order of the channel: until it has all that was queued, arrivals are only queued.
  uint32_t looked = 0, priority;
  std::vector<Buffer> known;
  {
    Lock lock(mutex_);
    if (barrier.id < lastBarrier_)
      throw CheckpointException(fmt::format("Sequence number for checkpoint {} is not known (it was likely been overwritten by a newer "
                                            "checkpoint {})",
                                            barrier.id, lastBarrier_),
                                CheckpointFailureReason::kCheckpointSubsumed);
    if (barrier.id > lastBarrier_) lastBarrier_ = kNone;
    persister_.startPersisting(barrier.id, {});
    known = inFlightLocked(looked);
    priority = queue_.prioritySize();
    starting_ = writer_ != nullptr && !known.empty();
  }
  while (!known.empty() && writer_) {
    writer_->addInputData(barrier.id, options_.info, std::move(known));
    Lock lock(mutex_);
    looked += queue_.prioritySize() - priority;  // priority events may have come in front
    priority = queue_.prioritySize();
    known = inFlightLocked(looked);
    starting_ = !known.empty();
  }
}

void RemoteReceiver::checkpointStopped(int64_t checkpointId) {
  Lock lock(mutex_);
  if (lastBarrier_ == checkpointId) lastBarrier_ = kNone;
  persister_.stopPersisting(checkpointId);
}

void RemoteReceiver::convertToPriorityEvent(int32_t sequenceNumber) {
  bool first;
  ReaderSlot reader;
  {
    Lock lock(mutex_);
    // A newer barrier has come since, which the task has not heard of yet: its announcement ends the checkpoint of this one.
    if (lastBarrierSequence_ != sequenceNumber) return;
    WEIR_CHECK(persister_.hasBarrierReceived(), "event {} is no barrier that waits", sequenceNumber);
    uint32_t at = queue_.prioritySize();
    while (at < queue_.size() && queue_.at(at).sequenceNumber != sequenceNumber) ++at;
    WEIR_CHECK_LT(at, queue_.size());
    Arrived barrier = queue_.remove(at);
    barrier.buffer = barrier.buffer.as(DataType::PRIORITIZED_EVENT_BUFFER);
    queue_.pushPriority(std::move(barrier));
    first = queue_.prioritySize() == 1;
    reader = reader_;
  }
  // Its number is not newer than that of its announcement, which was polled: forced, or it would pass for stale.
  if (first) reader.queue->addPriority(reader.channel, sequenceNumber, true);
}

void RemoteReceiver::onResume() {
  if (buffers_->initialCredit() == 0) (void)buffers_->takeUnannouncedCredit();
}

void RemoteReceiver::release() {
  PrioritizedDeque<Arrived> dropped;
  ReaderSlot reader;
  {
    Lock lock(mutex_);
    if (isReleased()) return;
    released_.store(true, std::memory_order_release);
    dropped.swap(queue_);
    std::swap(reader, reader_);
    queued_.store(0, std::memory_order_relaxed);
    queuedBytes_.store(0, std::memory_order_relaxed);
  }
  dropped.clear();
  buffers_->release();
}

void RemoteReceiver::countLocked(int64_t bytes, int32_t elements) {
  queued_.store(queued_.load(std::memory_order_relaxed) + elements, std::memory_order_relaxed);
  queuedBytes_.store(queuedBytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
}

int32_t RemoteReceiver::buffersInUse() const {
  return queueLength() + std::max(0, buffers_->required() - buffers_->initialCredit());
}

}  // namespace weir
