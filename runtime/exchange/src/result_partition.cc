#include "weir/exchange/result_partition.h"

#include <algorithm>

#include "weir/record/event_serializer.h"

namespace weir {

std::shared_ptr<ResultPartition> ResultPartition::create(ResultPartitionDescriptor descriptor) {
  return std::shared_ptr<ResultPartition>(new ResultPartition(std::move(descriptor)));
}

ResultPartition::ResultPartition(ResultPartitionDescriptor descriptor)
    : descriptor_(std::move(descriptor)),
      subpartitions_(new PipelinedSubpartition[descriptor_.subpartitions]),
      slots_(new Slot[descriptor_.subpartitions + 1]) {
  WEIR_CHECK_GE(descriptor_.subpartitions, 1);
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i)
    subpartitions_[i].init({descriptor_.partitionIndex, i}, descriptor_.forwardsEmptyBuffers);
}

ResultPartition::~ResultPartition() {
  release();
  close();
}

void ResultPartition::setup(ExecutionContext& context, std::shared_ptr<LocalBufferPool> pool) {
  WEIR_CHECK(!pool_, "a partition is set up once");
  context_ = &context;
  pool_ = std::move(pool);
}

void ResultPartition::setChannelStateWriter(std::shared_ptr<ChannelStateWriter> writer) {
  channelStateWriter_ = std::move(writer);
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) subpartitions_[i].setChannelStateWriter(channelStateWriter_.get());
}

void ResultPartition::count(int64_t bytes, int64_t buffers) {
  bytesOut_.store(bytesOut_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  buffersOut_.store(buffersOut_.load(std::memory_order_relaxed) + buffers, std::memory_order_relaxed);
}

BufferBuilder ResultPartition::requestBuilder(uint32_t subpartition) {
  const auto index = static_cast<int32_t>(subpartition);
  BufferBuilder builder = pool_->requestBufferBuilder(index);
  if (builder.isOpen()) return builder;
  return pool_->requestBufferBuilderBlocking(*context_, index);
}

uint32_t ResultPartition::append(Slot& slot, std::span<const uint8_t> record) {
  BufferBuilder& builder = slot.builder;
  // A debloated builder grows rather than to make its writer wait for another buffer; one byte more, so that it does not count as full.
  if (record.size() >= builder.writable() && !pool_->isAvailable()) {
    const uint64_t grown = uint64_t{builder.written()} + record.size() + 1;
    builder.trim(static_cast<uint32_t>(std::min<uint64_t>(std::max<uint64_t>(grown, builder.maxCapacity()), MemorySegment::kFinished)));
  }
  return builder.append(record);
}

// ---- to one subpartition --------------------------------------------------------------------------------------------------------------

void ResultPartition::openUnicast(Slot& slot, uint32_t subpartition, std::span<const uint8_t> record, NotificationBatch& notifications) {
  finishBroadcast();
  slot.builder = requestBuilder(subpartition);
  unicastOpen_ = true;
  // A new record: the reader knows of the buffer before it holds a byte, so that nothing has to be added again later.
  const int32_t desired = subpartitions_[subpartition].add(slot.builder.createConsumer(), notifications);
  if (desired > 0) slot.builder.trim(std::max(static_cast<uint32_t>(desired), static_cast<uint32_t>(record.size())));
}

void ResultPartition::continueUnicast(Slot& slot, uint32_t subpartition, std::span<const uint8_t>& rest, NotificationBatch& notifications) {
  finishUnicast(slot);
  slot.builder = requestBuilder(subpartition);
  unicastOpen_ = true;
  // The middle of a record: its bytes first, so that the reader learns how many of them belong to what came before.
  const uint32_t copied = append(slot, rest);
  const int32_t desired = subpartitions_[subpartition].add(slot.builder.createConsumer(copied), notifications);
  if (desired > 0) slot.builder.trim(std::max(static_cast<uint32_t>(desired), copied));
  slot.wrote(copied);
  rest = rest.subspan(copied);
}

void ResultPartition::emitRecord(std::span<const uint8_t> framed, uint32_t subpartition) {
  WEIR_CHECK_LT(subpartition, static_cast<uint32_t>(descriptor_.subpartitions));
  Slot& slot = slots_[subpartition];
  if (slot.builder.writable() > framed.size()) {
    slot.wrote(slot.builder.append(framed));
    return;
  }
  NotificationBatch notifications;
  std::span<const uint8_t> rest = framed;
  if (!slot.builder.isOpen()) openUnicast(slot, subpartition, rest, notifications);
  const uint32_t copied = append(slot, rest);
  slot.wrote(copied);
  rest = rest.subspan(copied);
  while (!rest.empty()) {
    notifications.deliver();  // the next buffer may be a wait away
    continueUnicast(slot, subpartition, rest, notifications);
  }
  if (slot.builder.isFull()) finishUnicast(slot);
}

void ResultPartition::finishUnicast(Slot& slot) {
  if (slot.builder.isOpen()) count(slot.builder.finish(), 1);
}

void ResultPartition::finishAllUnicast() {
  if (!unicastOpen_) return;
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) finishUnicast(slots_[i]);
  unicastOpen_ = false;
}

// ---- to all ---------------------------------------------------------------------------------------------------------------------------

int32_t ResultPartition::addToAll(uint32_t partialRecordLength, NotificationBatch& notifications) {
  const int32_t n = descriptor_.subpartitions;
  MemorySegment* segment = broadcastSlot().builder.retain(n);
  int32_t desired = std::numeric_limits<int32_t>::max();
  for (int32_t i = 0; i < n; ++i) {
    const int32_t size = subpartitions_[i].add(BufferConsumer(segment, DataType::DATA_BUFFER, partialRecordLength), notifications);
    if (size > 0) desired = std::min(desired, size);
  }
  return desired;
}

void ResultPartition::openBroadcast(std::span<const uint8_t> record, NotificationBatch& notifications) {
  finishAllUnicast();
  Slot& slot = broadcastSlot();
  slot.builder = requestBuilder(0);
  const int32_t desired = addToAll(0, notifications);
  slot.builder.trim(std::max(static_cast<uint32_t>(desired), static_cast<uint32_t>(record.size())));
}

void ResultPartition::continueBroadcast(std::span<const uint8_t>& rest, NotificationBatch& notifications) {
  finishBroadcast();
  Slot& slot = broadcastSlot();
  slot.builder = requestBuilder(0);
  const uint32_t copied = append(slot, rest);
  const int32_t desired = addToAll(copied, notifications);
  slot.builder.trim(std::max(static_cast<uint32_t>(desired), copied));
  slot.wrote(copied);
  rest = rest.subspan(copied);
}

void ResultPartition::broadcastRecord(std::span<const uint8_t> framed) {
  NotificationBatch notifications;
  Slot& slot = broadcastSlot();
  std::span<const uint8_t> rest = framed;
  if (!slot.builder.isOpen()) openBroadcast(rest, notifications);
  const uint32_t copied = append(slot, rest);
  slot.wrote(copied);
  rest = rest.subspan(copied);
  while (!rest.empty()) {
    notifications.deliver();
    continueBroadcast(rest, notifications);
  }
  if (slot.builder.isFull()) finishBroadcast();
}

void ResultPartition::finishBroadcast() {
  BufferBuilder& builder = broadcastSlot().builder;
  if (builder.isOpen()) count(int64_t{builder.finish()} * descriptor_.subpartitions, descriptor_.subpartitions);
}

void ResultPartition::prefetchFirst() const {
  for (int32_t i = 0; i < std::min(PipelinedSubpartition::kPrefetchAhead, descriptor_.subpartitions); ++i) subpartitions_[i].prefetch();
}

void ResultPartition::broadcastEvent(const RuntimeEvent& event, bool priority) {
  prefetchFirst();
  if (const auto* barrier = std::get_if<CheckpointBarrier>(&event); trace_ && barrier)
    traceBarrier(priority ? BarrierStep::kOvertook : BarrierStep::kEnqueued, barrier->id);
  broadcastEvent(Buffer::copyOf(EventSerializer::encodeForSend(event), dataTypeOf(event, priority)));
}

void ResultPartition::traceBarrier(BarrierStep step, int64_t checkpointId) {
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) traceBarrier(step, checkpointId, i, subpartitions_[i].queued());
}

void ResultPartition::traceBarrier(BarrierStep step, int64_t checkpointId, int32_t subpartition,
                                   const PipelinedSubpartition::Passed& passed) {
  trace_->record(step, checkpointId,
                 {.gate = subpartitions_[subpartition].info().partition, .channel = subpartition, .count = passed.elements,
                  .bytes = passed.bytes});
}

void ResultPartition::broadcastEvent(const Buffer& event) {
  finishBroadcast();
  finishAllUnicast();
  const int32_t n = descriptor_.subpartitions;
  event.segment()->retain(n);
  NotificationBatch notifications;
  constexpr int32_t kAhead = PipelinedSubpartition::kPrefetchAhead;
  for (int32_t i = 0; i < n; ++i) {
    if (i + kAhead < n) subpartitions_[i + kAhead].prefetch();
    subpartitions_[i].add(BufferConsumer(Buffer::adopt(event.segment(), event.offset(), event.size(), event.dataType())), notifications);
  }
  eventBytes_.fetch_add(uint64_t{event.size()} * n, std::memory_order_relaxed);
  count(int64_t{event.size()} * n, n);
}

void ResultPartition::emitEvent(const Buffer& event, uint32_t subpartition) {
  finishBroadcast();
  finishUnicast(slots_[subpartition]);
  NotificationBatch notifications;
  subpartitions_[subpartition].add(BufferConsumer(event), notifications);
  eventBytes_.fetch_add(event.size(), std::memory_order_relaxed);
  count(event.size(), 1);
}

void ResultPartition::emitRecoveredBuffer(Buffer buffer, uint32_t subpartition) {
  finishBroadcast();
  finishUnicast(slots_[subpartition]);
  const uint32_t size = buffer.size();
  NotificationBatch notifications;
  subpartitions_[subpartition].add(BufferConsumer(std::move(buffer)), notifications);
  slots_[subpartition].wrote(size);
  count(size, 1);
}

// ---- flushing and the end ---------------------------------------------------------------------------------------------------------------

void ResultPartition::flush(uint32_t subpartition) {
  NotificationBatch notifications;
  subpartitions_[subpartition].flush(notifications);
}

void ResultPartition::flushAll() {
  NotificationBatch notifications;
  const int32_t n = descriptor_.subpartitions;
  const uint64_t toAll = slots_[n].written.load(std::memory_order_acquire);
  for (int32_t i = 0; i < n; ++i) {
    const uint64_t written = toAll + slots_[i].written.load(std::memory_order_acquire);
    if (written == slots_[i].flushed.load(std::memory_order_relaxed)) continue;
    slots_[i].flushed.store(written, std::memory_order_relaxed);
    subpartitions_[i].flush(notifications);
  }
}

void ResultPartition::notifyEndOfData(StopMode mode) {
  if (endOfDataSent_) return;
  endOfDataSent_ = true;
  broadcastEvent(EndOfData{mode});
}

void ResultPartition::finish() {
  WEIR_CHECK(!finished_, "a partition is finished once");
  finishBroadcast();
  finishAllUnicast();
  const Buffer end = Buffer::copyOf(EventSerializer::encode(EndOfPartition{}), DataType::END_OF_PARTITION);
  NotificationBatch notifications;
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) subpartitions_[i].finish(end, notifications);
  const int64_t bytes = int64_t{end.size()} * descriptor_.subpartitions;
  eventBytes_.fetch_add(bytes, std::memory_order_relaxed);
  count(bytes, descriptor_.subpartitions);
  finished_ = true;
}

void ResultPartition::alignedBarrierTimeout(int64_t checkpointId) {
  NotificationBatch notifications;
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) {
    const auto passed = subpartitions_[i].alignedBarrierTimeout(checkpointId, notifications);
    if (passed && trace_) traceBarrier(BarrierStep::kOvertook, checkpointId, i, *passed);
  }
}

void ResultPartition::abortCheckpoint(int64_t checkpointId, const std::shared_ptr<const Throwable>& cause) {
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) subpartitions_[i].abortCheckpoint(checkpointId, cause);
}

PipelinedSubpartitionView ResultPartition::createView(uint32_t subpartition, ReaderSlot reader) {
  WEIR_CHECK_LT(subpartition, static_cast<uint32_t>(descriptor_.subpartitions));
  NotificationBatch notifications;
  subpartitions_[subpartition].attachReader(std::move(reader), notifications);
  return PipelinedSubpartitionView(shared_from_this(), subpartition);
}

void ResultPartition::onSubpartitionAllDataProcessed() {
  if (processed_.fetch_add(1, std::memory_order_seq_cst) + 1 == descriptor_.subpartitions) allDataProcessed_.set();
}

void ResultPartition::onConsumedSubpartition() {
  if (consumed_.fetch_add(1, std::memory_order_seq_cst) + 1 != descriptor_.subpartitions) return;
  if (const auto listener = consumedListener_.lock()) listener->onConsumedPartition(descriptor_.id);
}

void ResultPartition::release(std::shared_ptr<const Throwable> cause) {
  if (cause) {
    Lock lock(causeMutex_);
    if (!cause_) cause_ = std::move(cause);
  }
  if (released_.exchange(true, std::memory_order_acq_rel)) return;
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) subpartitions_[i].release();
}

std::shared_ptr<const Throwable> ResultPartition::failureCause() const {
  Lock lock(causeMutex_);
  return cause_;
}

void ResultPartition::close() {
  if (!pool_ || pool_->isDestroyed()) return;
  for (int32_t i = 0; i <= descriptor_.subpartitions; ++i)
    if (slots_[i].builder.isOpen()) slots_[i].builder.finish();
  unicastOpen_ = false;
  pool_->lazyDestroy();
}

int32_t ResultPartition::queuedBuffers() const {
  int32_t sum = 0;
  for (int32_t i = 0; i < descriptor_.subpartitions; ++i) sum += subpartitions_[i].queueLength();
  return sum;
}

int64_t ResultPartition::queuedBytes() const {
  const int32_t n = descriptor_.subpartitions;
  int64_t bytes = static_cast<int64_t>(eventBytes_.load(std::memory_order_relaxed));
  bytes += static_cast<int64_t>(slots_[n].written.load(std::memory_order_relaxed)) * n;
  for (int32_t i = 0; i < n; ++i)
    bytes += static_cast<int64_t>(slots_[i].written.load(std::memory_order_relaxed)) - subpartitions_[i].bytesPolled();
  return std::max<int64_t>(bytes, 0);
}

void PipelinedSubpartitionView::release() {
  if (!partition_) return;
  const std::shared_ptr<ResultPartition> partition = std::move(partition_);
  partition_.reset();
  subpartition_->detachReader();
  subpartition_->release();
  partition->onConsumedSubpartition();
}

}  // namespace weir
