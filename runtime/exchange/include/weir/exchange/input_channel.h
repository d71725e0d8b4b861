#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "weir/base/clock.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/exchange/channel_state_persister.h"
#include "weir/exchange/pipelined_subpartition.h"
#include "weir/exchange/ready_queue.h"
#include "weir/record/runtime_event.h"

namespace weir {

/// Where a channel reads from, and how long it asks for a partition that is not there yet.
struct InputChannelDescriptor {
  InputChannelInfo info;
  ResultPartitionID partition;
  uint32_t subpartition = 0;
  Millis initialBackoff{100};  ///< taskmanager.network.request-backoff.initial
  Millis maxBackoff{10'000};   ///< taskmanager.network.request-backoff.max
};

/// One input of a gate: the consuming end of one subpartition.
///
/// Flink: InputChannel. Threads: the consuming task, but for the counters, which anybody may read. Errors: a producer that failed, or a
/// partition that is not found in the end, is thrown as a Throwable out of getNextBuffer and requestSubpartition.
class InputChannel {
 public:
  explicit InputChannel(InputChannelDescriptor descriptor) : descriptor_(std::move(descriptor)) {}
  virtual ~InputChannel() = default;
  InputChannel(const InputChannel&) = delete;
  InputChannel& operator=(const InputChannel&) = delete;

  /// Connects; from then on it reports to `reader`. False if the partition is not there yet: ask again after increaseBackoff().
  virtual bool requestSubpartition(const ReaderSlot& reader) = 0;
  /// What comes next, never an empty data buffer; nothing if there is nothing now.
  virtual std::optional<BufferAndBacklog> getNextBuffer() = 0;
  /// It will be asked for a buffer soon.
  virtual void prefetch() const {}
  /// After a blocking event: the producer may go on. Requires: connected, blocked.
  virtual void resumeConsumption() = 0;
  /// The task has processed everything up to EndOfData of this channel.
  virtual void acknowledgeAllRecordsProcessed() = 0;
  /// From now on buffers should be about this large.
  virtual void announceBufferSize(int32_t size) = 0;
  /// Drops what is queued and disconnects. Idempotent.
  virtual void releaseAllResources() = 0;
  virtual bool isReleased() const = 0;
  /// Queued buffers and events, for inputQueueLength. Any thread.
  virtual int32_t queueLength() const = 0;
  /// Queued bytes, for inputQueueSize: a local channel holds none of its own. Any thread.
  virtual int64_t queuedBytes() const = 0;
  /// Buffers that stand for work in front of the task, for debloating.
  virtual int32_t buffersInUse() const = 0;

  // Unaligned checkpoints. ---------------------------------------------------------------------------------------------------------
  /// The checkpoint has begun here. From now until its barrier comes through, data is stored as it is read. Throws CheckpointException if
  /// a newer barrier has been seen.
  virtual void checkpointStarted(const CheckpointBarrier& barrier) = 0;
  virtual void checkpointStopped(int64_t checkpointId) = 0;
  /// The announced barrier with this number shall overtake what is queued in front of it. Only channels that announce.
  virtual void convertToPriorityEvent(int32_t sequenceNumber) = 0;

  /// The pause before the next request; nothing if it is time to give up: 100 ms, 200 ms, ... 10 s, end.
  std::optional<Millis> increaseBackoff();
  const InputChannelDescriptor& descriptor() const { return descriptor_; }
  InputChannelInfo info() const { return descriptor_.info; }
  /// Data and events received. Any thread.
  int64_t numBytesIn() const { return bytesIn_.load(std::memory_order_relaxed); }
  int64_t numBuffersIn() const { return buffersIn_.load(std::memory_order_relaxed); }
  /// Metrics of local and remote channels have different names.
  virtual bool isLocal() const = 0;

 protected:
  void countIn(int64_t bytes) {
    bytesIn_.store(bytesIn_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    buffersIn_.store(buffersIn_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

 private:
  const InputChannelDescriptor descriptor_;
  Millis backoff_{0};
  std::atomic<int64_t> bytesIn_{0}, buffersIn_{0};
};

}  // namespace weir
