#include "weir/exchange/pipelined_subpartition.h"

#include <algorithm>

#include "weir/exchange/barrier_bytes.h"

namespace weir {

int32_t PipelinedSubpartition::finishedCount() const {
  const uint32_t size = queue_.size();
  if (size == 1) return queue_.front().isFinished() ? 1 : 0;
  return size == 0 ? 0 : static_cast<int32_t>(size) - 1;
}

int32_t PipelinedSubpartition::backlogLocked() const {
  if (blocked_ || queue_.empty()) return 0;
  if (flushRequested_ || finished_ || !queue_.back().isBuffer()) return buffersInBacklog_;
  return std::max(buffersInBacklog_ - 1, 0);
}

int32_t PipelinedSubpartition::add(BufferConsumer consumer, NotificationBatch& notifications) {
  const DataType type = consumer.dataType();
  if (hasPriority(type)) [[unlikely]] return addPriority(std::move(consumer), notifications);
  if (requiresAnnouncement(type)) [[unlikely]] return addTimeoutable(std::move(consumer), notifications);
  int32_t desired;
  {
    Lock lock(mutex_);
    if (finished_ || released_) return kDropped;
    append(std::move(consumer), notifications);
    desired = desiredBufferSize_;
  }
  notifications.settle();
  return desired;
}

int32_t PipelinedSubpartition::addPriority(BufferConsumer consumer, NotificationBatch& notifications) {
  const std::optional<int64_t> checkpoint = barrierId(consumer.bytes());
  ChannelStateOutput output;
  int32_t desired;
  {
    Lock lock(mutex_);
    if (finished_ || released_) return kDropped;
    if (checkpoint && channelStateWriter_) output = dataBehindPriority(queue_.size(), *checkpoint);
    ++buffersAdded_;
    insertPriority(std::move(consumer), notifications);
    if (reader_.queue && !flushRequested_ && !blocked_ && finishedCount() == 1) notifications.data(reader_);
    desired = desiredBufferSize_;
  }
  notifications.settle();
  if (!output.data.empty()) channelStateWriter_->addOutputData(output.checkpointId, info_, std::move(output.data));
  return desired;
}

int32_t PipelinedSubpartition::addTimeoutable(BufferConsumer consumer, NotificationBatch& notifications) {
  const std::optional<int64_t> checkpoint = barrierId(consumer.bytes());
  WEIR_CHECK(checkpoint.has_value(), "a timeoutable event that is no barrier");
  // First: once it is queued, the reader may take it at any moment and say that nothing follows.
  if (channelStateWriter_) channelStateWriter_->expectOutputData(*checkpoint, info_);
  int64_t older = kNoCheckpoint;
  int32_t desired = kDropped;
  {
    Lock lock(mutex_);
    if (!finished_ && !released_) {
      older = takePendingCheckpoint();
      if (channelStateWriter_) pendingCheckpoint_ = *checkpoint;
      append(std::move(consumer), notifications);
      desired = desiredBufferSize_;
    }
  }
  notifications.settle();
  if (desired == kDropped && channelStateWriter_) channelStateWriter_->completeOutputData(*checkpoint, info_, {});
  if (older != kNoCheckpoint)
    channelStateWriter_->failOutputData(
        older, info_,
        std::make_shared<Throwable>("java.lang.IllegalStateException",
                                    fmt::format("checkpoint {} is still pending while {} starts: concurrent unaligned checkpoints are not "
                                                "supported",
                                                older, *checkpoint)));
  return desired;
}

void PipelinedSubpartition::append(BufferConsumer consumer, NotificationBatch& notifications) {
  if (consumer.isBuffer()) ++buffersInBacklog_;
  ++buffersAdded_;
  queue_.pushBack(std::move(consumer));
  if (reader_.queue && !flushRequested_ && !blocked_ && finishedCount() == 1) notifications.data(reader_);
}

void PipelinedSubpartition::insertPriority(BufferConsumer consumer, NotificationBatch& notifications) {
  queue_.pushPriority(std::move(consumer));
  // Carries the number that it will get when it is polled.
  if (reader_.queue && queue_.prioritySize() == 1) notifications.priority(reader_, sequenceNumber_);
}

PipelinedSubpartition::ChannelStateOutput PipelinedSubpartition::dataBehindPriority(uint32_t end, int64_t checkpointId) const {
  ChannelStateOutput output{checkpointId, {}};
  for (uint32_t i = queue_.prioritySize(); i < end; ++i) {
    const BufferConsumer& consumer = queue_.at(i);
    if (!consumer.isBuffer()) continue;
    if (Buffer data = consumer.peek(); data.size() > 0) output.data.push_back(std::move(data));
  }
  return output;
}

PipelinedSubpartition::Passed PipelinedSubpartition::passedUpTo(uint32_t end) const {
  Passed passed;
  for (uint32_t i = queue_.prioritySize(); i < end; ++i) {
    ++passed.elements;
    if (const BufferConsumer& consumer = queue_.at(i); consumer.isBuffer()) passed.bytes += static_cast<int64_t>(consumer.bytes().size());
  }
  return passed;
}

int32_t PipelinedSubpartition::finish(Buffer endOfPartition, NotificationBatch& notifications) {
  {
    Lock lock(mutex_);
    if (finished_ || released_) return kDropped;
    ++buffersAdded_;
    queue_.pushBack(BufferConsumer(std::move(endOfPartition)));
    finished_ = true;
    if (reader_.queue) notifications.data(reader_);
  }
  notifications.settle();
  return 0;
}

void PipelinedSubpartition::flush(NotificationBatch& notifications) {
  {
    Lock lock(mutex_);
    if (queue_.empty() || flushRequested_) return;
    // With more than one element the reader knows already: the second one told it of the first.
    if (queue_.size() == 1) {
      if (!queue_.front().isDataAvailable()) return;
      if (reader_.queue && !blocked_) notifications.data(reader_);
    }
    flushRequested_ = true;
  }
  notifications.settle();
}

std::optional<BufferAndBacklog> PipelinedSubpartition::poll() {
  std::optional<BufferAndBacklog> result;
  bool retry;
  do {
    Buffer empty;  // lets go of its memory after the lock
    int64_t leftInOrder = kNoCheckpoint;
    retry = false;
    {
      Lock lock(mutex_);
      if (blocked_ && !queue_.hasPriority()) return result;
      if (queue_.empty()) {
        flushRequested_ = false;
        return result;
      }
      BufferConsumer& head = queue_.front();
      const DataType type = head.dataType();
      if (requiresAnnouncement(type) && pendingCheckpoint_ != kNoCheckpoint) [[unlikely]] {
        if (pendingCheckpoint_ == barrierId(head.bytes())) leftInOrder = takePendingCheckpoint();
      }
      BufferConsumer::Slice slice = head.build();
      WEIR_CHECK(slice.finished || queue_.size() == 1, "an unfinished buffer in front of another one");
      if (queue_.size() == 1) flushRequested_ = false;
      if (slice.finished) {
        queue_.forgetFront();
        if (weir::isBuffer(type)) --buffersInBacklog_;
      }
      if (slice.buffer.size() > 0 || (slice.finished && forwardsEmptyBuffers_)) {
        if (isBlockingUpstream(type)) blocked_ = true;
        bytesPolled_ += slice.buffer.size();
        result.emplace(std::move(slice.buffer), backlogLocked(), nextDataType(), sequenceNumber_++);
      } else {
        retry = slice.finished;
        empty.swap(slice.buffer);
      }
    }
    if (leftInOrder != kNoCheckpoint) channelStateWriter_->completeOutputData(leftInOrder, info_, {});
  } while (retry);
  return result;
}

bool PipelinedSubpartition::resumeConsumption() {
  Lock lock(mutex_);
  WEIR_CHECK(blocked_, "resumption of a subpartition that is not blocked");
  blocked_ = false;
  return isDataAvailable();
}

bool PipelinedSubpartition::isAvailable(bool hasCredit) const {
  Lock lock(mutex_);
  if (hasCredit) return isDataAvailable() || queue_.hasPriority();
  return !queue_.empty() && isEvent(queue_.front().dataType());
}

int32_t PipelinedSubpartition::backlog() const {
  Lock lock(mutex_);
  return backlogLocked();
}

void PipelinedSubpartition::attachReader(ReaderSlot reader, NotificationBatch& notifications) {
  {
    Lock lock(mutex_);
    WEIR_CHECK(!reader_.queue, "a subpartition has one reader");
    reader_ = std::move(reader);
    if (!queue_.empty()) notifications.data(reader_);
    if (queue_.hasPriority()) notifications.priority(reader_, sequenceNumber_);
  }
  notifications.settle();
}

void PipelinedSubpartition::detachReader() {
  ReaderSlot reader;
  Lock lock(mutex_);
  std::swap(reader, reader_);
  lock.unlock();
}

std::optional<PipelinedSubpartition::Passed> PipelinedSubpartition::alignedBarrierTimeout(int64_t checkpointId,
                                                                                         NotificationBatch& notifications) {
  ChannelStateOutput output;
  Passed passed;
  {
    Lock lock(mutex_);
    if (pendingCheckpoint_ != checkpointId) return std::nullopt;
    for (uint32_t i = queue_.prioritySize(); i < queue_.size(); ++i) {
      if (!requiresAnnouncement(queue_.at(i).dataType()) || barrierId(queue_.at(i).bytes()) != checkpointId) continue;
      passed = passedUpTo(i);
      output = dataBehindPriority(i, checkpointId);
      const BufferConsumer barrier = queue_.remove(i);
      insertPriority(BufferConsumer(asUnalignedBarrier(barrier.bytes())), notifications);
      break;
    }
    WEIR_CHECK_EQ(output.checkpointId, checkpointId);
    pendingCheckpoint_ = kNoCheckpoint;
  }
  channelStateWriter_->completeOutputData(checkpointId, info_, std::move(output.data));
  notifications.settle();
  return passed;
}

void PipelinedSubpartition::abortCheckpoint(int64_t checkpointId, const std::shared_ptr<const Throwable>& cause) {
  {
    Lock lock(mutex_);
    if (pendingCheckpoint_ != checkpointId) return;
    pendingCheckpoint_ = kNoCheckpoint;
  }
  channelStateWriter_->failOutputData(checkpointId, info_, cause);
}

void PipelinedSubpartition::release() {
  PrioritizedDeque<BufferConsumer> dropped;
  ReaderSlot reader;
  int64_t pending;
  {
    Lock lock(mutex_);
    if (released_) return;
    released_ = true;
    dropped.swap(queue_);
    std::swap(reader, reader_);
    buffersInBacklog_ = 0;
    flushRequested_ = false;
    pending = takePendingCheckpoint();
  }
  if (pending != kNoCheckpoint)
    channelStateWriter_->failOutputData(
        pending, info_, std::make_shared<Throwable>("java.util.concurrent.CancellationException", "the subpartition was released"));
}

void PipelinedSubpartition::setDesiredBufferSize(int32_t size) {
  Lock lock(mutex_);
  desiredBufferSize_ = size;
}
bool PipelinedSubpartition::isReleased() const {
  Lock lock(mutex_);
  return released_;
}
bool PipelinedSubpartition::hasReader() const {
  Lock lock(mutex_);
  return reader_.queue != nullptr;
}
bool PipelinedSubpartition::isFinished() const {
  Lock lock(mutex_);
  return finished_;
}
bool PipelinedSubpartition::isBlocked() const {
  Lock lock(mutex_);
  return blocked_;
}
int32_t PipelinedSubpartition::desiredBufferSize() const {
  Lock lock(mutex_);
  return desiredBufferSize_;
}
int32_t PipelinedSubpartition::queueLength() const {
  Lock lock(mutex_);
  return static_cast<int32_t>(queue_.size());
}
PipelinedSubpartition::Passed PipelinedSubpartition::queued() const {
  Lock lock(mutex_);
  return passedUpTo(queue_.size());
}
int64_t PipelinedSubpartition::buffersAdded() const {
  Lock lock(mutex_);
  return buffersAdded_;
}
int64_t PipelinedSubpartition::bytesPolled() const {
  Lock lock(mutex_);
  return bytesPolled_;
}

}  // namespace weir
