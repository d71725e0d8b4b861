#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/base/ids.h"
#include "weir/buffer/local_buffer_pool.h"
#include "weir/exchange/pipelined_subpartition.h"
#include "weir/metrics/barrier_trace.h"
#include "weir/record/runtime_event.h"

namespace weir {

class PipelinedSubpartitionView;
class RecordWriter;

/// Told once that all subpartitions of a partition were read to the end or given up. Flink: ResultPartition.onConsumedSubpartition.
class PartitionConsumedListener {
 public:
  virtual void onConsumedPartition(const ResultPartitionID& id) = 0;

 protected:
  ~PartitionConsumedListener() = default;
};

struct ResultPartitionDescriptor {
  ResultPartitionID id;
  std::string owningTask;      ///< "Map -> Filter (1/4)#0": for messages
  int32_t partitionIndex = 0;  ///< among the outputs of its task
  int32_t subpartitions = 1;
  bool forwardsEmptyBuffers = false;  ///< with 0 exclusive buffers per channel
};

/// What one task produces on one of its outputs: a subpartition per consumer, the open builders, and the pool that feeds them.
///
/// Flink: PipelinedResultPartition with BufferWritingResultPartition. At any time either unicast builders or the broadcast builder are
/// open,
///   never both: changing over finishes the other kind.
/// Threads: setup, emitting, events, finish, close - the producing task; flush, flushAll - the task and the flusher; createView - whoever
///   connects; release - any; numbers - any.
/// Life: shared: the task, the partition manager and each view hold it. close() by the task gives the pool up; buffers that are still read
/// keep
///   their pool alive. Errors: a wait for a buffer throws TaskCancelled when the task is cancelled, CancelTaskException after close().
class ResultPartition : public std::enable_shared_from_this<ResultPartition> {
 public:
  static std::shared_ptr<ResultPartition> create(ResultPartitionDescriptor descriptor);
  ~ResultPartition();
  ResultPartition(const ResultPartition&) = delete;
  ResultPartition& operator=(const ResultPartition&) = delete;

  /// Before anything is emitted. `context` is the producing task's: where it waits for buffers.
  void setup(ExecutionContext& context, std::shared_ptr<LocalBufferPool> pool);
  /// May be null: then barriers do not store in-flight data.
  void setChannelStateWriter(std::shared_ptr<ChannelStateWriter> writer);
  /// Once, before anything else. Null: none.
  void setTrace(std::shared_ptr<BarrierTracer> trace) { trace_ = std::move(trace); }
  /// For whoever carries its barriers on, from another actor. Null: none.
  const std::shared_ptr<BarrierTracer>& trace() const { return trace_; }
  void setConsumedListener(std::weak_ptr<PartitionConsumedListener> listener) { consumedListener_ = std::move(listener); }

  // Writing. Records come framed: length, then element. -----------------------------------------------------------------------------
  /// One framed record to one subpartition; waits for buffers where it has to.
  void emitRecord(std::span<const uint8_t> framed, uint32_t subpartition);
  /// One framed record to all, its bytes once in memory.
  void broadcastRecord(std::span<const uint8_t> framed);
  /// An event to all, in index order, behind everything emitted so far (or, with priority, ahead). Open builders are finished first.
  void broadcastEvent(const RuntimeEvent& event, bool priority = false);
  void broadcastEvent(const Buffer& event);
  /// An event to one subpartition: recovery.
  void emitEvent(const Buffer& event, uint32_t subpartition);
  /// Recovered data to one subpartition, as it lies. Its consumer reads it as if it had been emitted.
  void emitRecoveredBuffer(Buffer buffer, uint32_t subpartition);
  void flush(uint32_t subpartition);
  /// Flushes what was written since the last time: for an idle subpartition that is one comparison, without a lock.
  void flushAll();
  /// All records are sent: EndOfData, once.
  void notifyEndOfData(StopMode mode);
  /// Finishes builders and subpartitions: EndOfPartition. Requires: not finished.
  void finish();
  void alignedBarrierTimeout(int64_t checkpointId);
  void abortCheckpoint(int64_t checkpointId, const std::shared_ptr<const Throwable>& cause);

  /// No record would wait now. Look at pool().available() to wait for it, as LocalBufferPool says.
  bool isAvailable() const { return pool_->isAvailable(); }
  Signal& available() { return pool_->available(); }
  /// A batch of records would probably not wait either.
  bool looksRoomy() const { return pool_->looksRoomy(); }
  LocalBufferPool& pool() const { return *pool_; }

  // Reading. -----------------------------------------------------------------------------------------------------------------------
  /// Requires: `subpartition` exists and is not read yet. Reports to `reader` from now on.
  PipelinedSubpartitionView createView(uint32_t subpartition, ReaderSlot reader);
  /// The consumer of one subpartition has processed everything up to EndOfData.
  void onSubpartitionAllDataProcessed();
  /// Set when all have: what a finishing task waits for. One waiter.
  Signal& allDataProcessed() { return allDataProcessed_; }
  bool isAllDataProcessed() const { return processed_.load(std::memory_order_seq_cst) >= subpartitionCount(); }
  void onConsumedSubpartition();

  /// Drops all that is queued; the reason, if any, is what readers are told.
  void release(std::shared_ptr<const Throwable> cause = nullptr);
  bool isReleased() const { return released_.load(std::memory_order_acquire); }
  std::shared_ptr<const Throwable> failureCause() const;
  /// Closes the builders without a flush and gives up the pool. Idempotent.
  void close();
  bool isFinished() const { return finished_; }

  // Numbers. -----------------------------------------------------------------------------------------------------------------------
  const ResultPartitionDescriptor& descriptor() const { return descriptor_; }
  int32_t subpartitionCount() const { return descriptor_.subpartitions; }
  PipelinedSubpartition& subpartition(uint32_t i) { return subpartitions_[i]; }
  /// Bytes and buffers of finished builders, and events; a broadcast counts once per subpartition.
  int64_t numBytesOut() const { return bytesOut_.load(std::memory_order_relaxed); }
  int64_t numBuffersOut() const { return buffersOut_.load(std::memory_order_relaxed); }
  /// outputQueueLength: buffers and events queued in all subpartitions.
  int32_t queuedBuffers() const;
  /// outputQueueSize: bytes written and not polled yet.
  int64_t queuedBytes() const;

 private:
  friend class RecordWriter;
  void traceBarrier(BarrierStep step, int64_t checkpointId);
  void traceBarrier(BarrierStep step, int64_t checkpointId, int32_t subpartition, const PipelinedSubpartition::Passed& passed);
  /// What the writer has open for one subpartition, or for all. `written` is how the flusher sees that something is new: it only grows.
  struct Slot {
    BufferBuilder builder;
    std::atomic<uint64_t> written{0};
    std::atomic<uint64_t> flushed{0};  ///< what `written` was at the last flush

    void wrote(uint64_t bytes) { written.store(written.load(std::memory_order_relaxed) + bytes, std::memory_order_release); }
  };

  explicit ResultPartition(ResultPartitionDescriptor descriptor);
  BufferBuilder requestBuilder(uint32_t subpartition);
  void openUnicast(Slot& slot, uint32_t subpartition, std::span<const uint8_t> record, NotificationBatch& notifications);
  void continueUnicast(Slot& slot, uint32_t subpartition, std::span<const uint8_t>& rest, NotificationBatch& notifications);
  void openBroadcast(std::span<const uint8_t> record, NotificationBatch& notifications);
  void continueBroadcast(std::span<const uint8_t>& rest, NotificationBatch& notifications);
  int32_t addToAll(uint32_t partialRecordLength, NotificationBatch& notifications);
  uint32_t append(Slot& slot, std::span<const uint8_t> record);
  void finishUnicast(Slot& slot);
  void finishAllUnicast();
  void prefetchFirst() const;
  void finishBroadcast();
  void count(int64_t bytes, int64_t buffers);
  Slot& broadcastSlot() { return slots_[descriptor_.subpartitions]; }

  const ResultPartitionDescriptor descriptor_;
  std::unique_ptr<PipelinedSubpartition[]> subpartitions_;
  std::unique_ptr<Slot[]> slots_;  ///< by subpartition; the last one is the broadcast builder's
  bool unicastOpen_ = false;       ///< some unicast builder may be open
  ExecutionContext* context_ = nullptr;
  std::shared_ptr<LocalBufferPool> pool_;
  std::shared_ptr<BarrierTracer> trace_;
  std::shared_ptr<ChannelStateWriter> channelStateWriter_;  ///< a reader may tell it after the task has ended
  bool finished_ = false;
  bool endOfDataSent_ = false;
  std::atomic<int64_t> bytesOut_{0}, buffersOut_{0};
  std::atomic<uint64_t> eventBytes_{0};  ///< added to all subpartitions together

  std::atomic<bool> released_{false};
  std::atomic<int32_t> consumed_{0}, processed_{0};
  Signal allDataProcessed_;
  std::weak_ptr<PartitionConsumedListener> consumedListener_;
  mutable Mutex causeMutex_;
  std::shared_ptr<const Throwable> cause_;
};

/// What a reader holds of one subpartition. Keeps the partition alive. Moved, not copied; one actor.
///
/// Flink: PipelinedSubpartitionView.
class PipelinedSubpartitionView {
 public:
  PipelinedSubpartitionView() = default;
  PipelinedSubpartitionView(std::shared_ptr<ResultPartition> partition, uint32_t subpartition)
      : partition_(std::move(partition)), subpartition_(&partition_->subpartition(subpartition)) {}
  PipelinedSubpartitionView(PipelinedSubpartitionView&& other) noexcept { swap(other); }
  PipelinedSubpartitionView& operator=(PipelinedSubpartitionView&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PipelinedSubpartitionView() { release(); }

  explicit operator bool() const { return partition_ != nullptr; }
  std::optional<BufferAndBacklog> getNextBuffer() { return subpartition_->poll(); }
  /// As PipelinedSubpartition::resumeConsumption.
  bool resumeConsumption() { return subpartition_->resumeConsumption(); }
  void prefetch() const {
    if (subpartition_) subpartition_->prefetch();
  }
  void acknowledgeAllDataProcessed() { partition_->onSubpartitionAllDataProcessed(); }
  bool isAvailable(bool hasCredit) const { return subpartition_->isAvailable(hasCredit); }
  bool isBlocked() const { return subpartition_->isBlocked(); }
  int32_t backlog() const { return subpartition_->backlog(); }
  void notifyNewBufferSize(int32_t size) { subpartition_->setDesiredBufferSize(size); }
  int32_t queueLength() const { return subpartition_->queueLength(); }
  bool isReleased() const { return partition_->isReleased(); }
  std::shared_ptr<const Throwable> failureCause() const { return partition_->failureCause(); }
  const ResultPartition& partition() const { return *partition_; }
  /// The subpartition is done for: what is left in it is dropped. Idempotent.
  void release();

 private:
  void swap(PipelinedSubpartitionView& other) noexcept {
    std::swap(partition_, other.partition_);
    std::swap(subpartition_, other.subpartition_);
  }
  std::shared_ptr<ResultPartition> partition_;
  PipelinedSubpartition* subpartition_ = nullptr;
};

}  // namespace weir
