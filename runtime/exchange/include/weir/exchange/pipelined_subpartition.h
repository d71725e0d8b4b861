#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/mutex.h"
#include "weir/buffer/buffer_builder.h"
#include "weir/exchange/prioritized_deque.h"
#include "weir/exchange/ready_queue.h"
#include "weir/snapshot/channel_state_writer.h"

namespace weir {

/// One buffer out of a subpartition. Flink: ResultSubpartition.BufferAndBacklog.
struct BufferAndBacklog {
  Buffer buffer;
  int32_t buffersInBacklog = 0;              ///< data buffers still queued behind it
  DataType nextDataType = DataType::NONE;    ///< of what could be polled next; NONE if nothing can
  int32_t sequenceNumber = 0;
};

/// Ordered queue of buffers from one producing task to one consuming subtask.
///
/// Flink: PipelinedSubpartition (2.3.0). Differs: notifications are collected in a NotificationBatch and delivered by the caller; the
/// channel-state future of a timeoutable barrier is a pair of messages to the ChannelStateWriter.
/// Threads: add, finish, alignedBarrierTimeout, abortCheckpoint - the producing task; flush - the task and the flusher; poll,
///   resumeConsumption, createReadView, releaseReader - the reader; release - any; numbers - any. All under mutex_. Buffers are let go, and
///   the channel-state writer is told, after unlocking.
/// Life: owned by its ResultPartition, which every view keeps alive.
/// Units: backlog counts data buffers, not events. Sizes in bytes.
/// Errors: add after finish or release drops the buffer and returns kDropped. Nothing here throws but for protocol bugs.
/// Invariants: (1) at most the last element is unfinished; (2) nothing follows EndOfPartition; (3) the backlog is the number of data
/// buffers queued;
///   (4) sequence numbers are given at poll, without gaps; (5) once a blocking event was polled only priority events leave until resumed.
class alignas(64) PipelinedSubpartition {
 public:
  static constexpr int32_t kDropped = -1;

  PipelinedSubpartition() = default;
  /// Once, by its partition, before anything else. `forwardsEmptyBuffers`: with 0 exclusive buffers per channel an empty finished buffer
  /// has to travel, so that the receiver gets the credit back.
  void init(ResultSubpartitionInfo info, bool forwardsEmptyBuffers) {
    info_ = info;
    forwardsEmptyBuffers_ = forwardsEmptyBuffers;
  }
  void setChannelStateWriter(ChannelStateWriter* writer) { channelStateWriter_ = writer; }

  /// Queues a buffer or an event; a priority event in front, and all data behind it goes to the channel-state writer. Returns the buffer
  /// size that the reader would like, or kDropped.
  int32_t add(BufferConsumer consumer, NotificationBatch& notifications);
  /// Makes what is written so far visible to the reader.
  void flush(NotificationBatch& notifications);
  /// Appends EndOfPartition; the reader is told in any case. Returns kDropped if finished or released before.
  int32_t finish(Buffer endOfPartition, NotificationBatch& notifications);
  /// What a barrier passes in the queue.
  struct Passed {
    int32_t elements = 0;
    int64_t bytes = 0;  ///< of data
  };
  /// The barrier of this checkpoint, if it is still queued and timeoutable, overtakes what is in front of it. None if it did not.
  std::optional<Passed> alignedBarrierTimeout(int64_t checkpointId, NotificationBatch& notifications);
  /// Its output data is not needed any more. The barrier stays.
  void abortCheckpoint(int64_t checkpointId, const std::shared_ptr<const Throwable>& cause);

  // The reader's side. -------------------------------------------------------------------------------------------------------------
  /// Requires: not read and not released. Tells the reader at once if something is queued.
  void attachReader(ReaderSlot reader, NotificationBatch& notifications);
  void detachReader();
  std::optional<BufferAndBacklog> poll();
  /// Requires: blocked. True if something can be polled now: later arrivals are notified, this is not.
  bool resumeConsumption();
  /// With credit: something can be polled. Without: the first element is an event, which costs none.
  bool isAvailable(bool hasCredit) const;
  /// Data buffers that a reader may expect: not the unfinished last one, unless it will be flushed; 0 while blocked.
  int32_t backlog() const;
  void setDesiredBufferSize(int32_t size);

  /// Drops everything; later adds are dropped. Idempotent.
  void release();
  /// Fetches what add and poll touch into this core's cache, for whoever is about to go over many: the other side has used it last.
  void prefetch() const {
    constexpr int kToWrite = 1;
    __builtin_prefetch(&mutex_, kToWrite);
    __builtin_prefetch(&queue_, kToWrite);
  }
  static constexpr int32_t kPrefetchAhead = 6;

  bool isReleased() const;
  bool hasReader() const;
  bool isFinished() const;
  bool isBlocked() const;
  int32_t desiredBufferSize() const;
  /// Buffers and events queued.
  int32_t queueLength() const;
  Passed queued() const;
  int64_t buffersAdded() const;
  int64_t bytesPolled() const;
  ResultSubpartitionInfo info() const { return info_; }

 private:
  /// Buffers for the channel-state writer, handed over after unlocking.
  struct ChannelStateOutput {
    int64_t checkpointId = kNoCheckpoint;
    std::vector<Buffer> data;
  };
  static constexpr int64_t kNoCheckpoint = -1;

  int32_t finishedCount() const;
  bool isDataAvailable() const { return !blocked_ && (flushRequested_ || finishedCount() > 0); }
  DataType nextDataType() const { return isDataAvailable() ? queue_.front().dataType() : DataType::NONE; }
  int32_t backlogLocked() const;
  int32_t addPriority(BufferConsumer consumer, NotificationBatch& notifications);
  int32_t addTimeoutable(BufferConsumer consumer, NotificationBatch& notifications);
  void append(BufferConsumer consumer, NotificationBatch& notifications);
  void insertPriority(BufferConsumer consumer, NotificationBatch& notifications);
  ChannelStateOutput dataBehindPriority(uint32_t end, int64_t checkpointId) const;
  Passed passedUpTo(uint32_t end) const;
  int64_t takePendingCheckpoint() { return std::exchange(pendingCheckpoint_, kNoCheckpoint); }

  // Two cache lines for what each buffer and each barrier touches, because they travel between two cores; the rest behind them.
  mutable Mutex mutex_;
  bool forwardsEmptyBuffers_ = false;
  bool flushRequested_ = false;
  bool blocked_ = false;
  bool finished_ = false;
  bool released_ = false;
  int32_t buffersInBacklog_ = 0;
  int32_t sequenceNumber_ = 0;  ///< of the next poll
  int32_t desiredBufferSize_ = std::numeric_limits<int32_t>::max();
  ReaderSlot reader_;
  int64_t buffersAdded_ = 0;
  int64_t bytesPolled_ = 0;
  alignas(64) PrioritizedDeque<BufferConsumer> queue_;

  ChannelStateWriter* channelStateWriter_ = nullptr;
  int64_t pendingCheckpoint_ = kNoCheckpoint;  ///< whose timeoutable barrier is queued and whose output data is expected
  ResultSubpartitionInfo info_;
};

}  // namespace weir
