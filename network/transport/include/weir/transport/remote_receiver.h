#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "weir/base/mutex.h"
#include "weir/exchange/input_channel.h"
#include "weir/transport/buffer_manager.h"
#include "weir/transport/messages.h"

namespace weir {

/// The half of a remote channel that its connection sees: what has arrived and is not read yet, and the buffers for what will come.
///
/// Flink: RemoteInputChannel, its onBuffer side. Split off because messages may arrive after the task has let go of its channel.
///
/// Threads: on... methods - the actor of the connection; the rest - the consuming task. They meet under mutex_. The gate, the channel-state
///   writer and the connection are told after unlocking.
/// Errors: what the connection reports, and what its peer does wrong, is thrown by the next poll().
/// Invariants: (1) numbers arrive without a gap; (2) priority events are in front of all others; (3) an announcement has the number of the
/// barrier that it announces; (4) while a checkpoint waits for its barrier, data is stored exactly once: what was there by its start, what
/// comes later as it comes.
class RemoteReceiver {
 public:
  struct Options {
    InputChannelInfo info;
    InputChannelID id;
    ResultPartitionID partition;
    uint32_t subpartition = 0;
    Millis partitionRequestTimeout{10'000};  ///< how long the producer's side waits for a partition
    Millis maxBackoff{10'000};
  };
  /// `writer` may be null.
  RemoteReceiver(Options options, std::shared_ptr<ChannelStateWriter> writer, std::shared_ptr<BufferManager> buffers);

  const InputChannelID& id() const { return options_.id; }
  BufferManager& buffers() { return *buffers_; }
  PartitionRequest request() const;

  // From the connection. -----------------------------------------------------------------------------------------------------------
  /// Data of `size` bytes comes: the buffer for it. Empty: nobody reads it any more, or it is an error of this channel now.
  Buffer bufferFor(const BufferResponse& head, uint32_t size);
  /// An event, or data in the buffer of bufferFor(). False: nobody reads it any more.
  bool onBuffer(BufferResponse message, NotificationBatch& news);
  /// False: nobody reads it any more.
  bool onBacklog(int32_t backlog);
  void onError(std::shared_ptr<const Throwable> cause);
  /// The partition is not there. True if it is to be asked for once more; else that is an error now.
  bool onFailedPartitionRequest();

  // From the task. -----------------------------------------------------------------------------------------------------------------
  /// From now on arrivals are reported there.
  void setReader(const ReaderSlot& reader);
  std::optional<BufferAndBacklog> poll();
  void checkpointStarted(const CheckpointBarrier& barrier);
  void checkpointStopped(int64_t checkpointId);
  void convertToPriorityEvent(int32_t sequenceNumber);
  /// The producer was told to go on.
  void onResume();
  void checkError() const;
  void release();
  bool isReleased() const { return released_.load(std::memory_order_acquire); }
  int32_t queueLength() const { return queued_.load(std::memory_order_relaxed); }
  int64_t queuedBytes() const { return queuedBytes_.load(std::memory_order_relaxed); }
  int32_t buffersInUse() const;

 private:
  struct Arrived {
    Buffer buffer;
    int32_t sequenceNumber = 0;
  };
  static constexpr int64_t kNone = -1;

  bool accept(Buffer buffer, int32_t sequenceNumber, int32_t backlog, NotificationBatch& news);
  std::string complaintLocked(const Buffer& buffer, int32_t sequenceNumber, int32_t backlog) const;
  /// Data in front of the last barrier, from position `from` in the queue on; moves `from` behind what it looked at.
  std::vector<Buffer> inFlightLocked(uint32_t& from) const;
  void noteBarrier(const Buffer& event, int32_t sequenceNumber);
  void countLocked(int64_t bytes, int32_t elements);

  const Options options_;
  const std::shared_ptr<ChannelStateWriter> writer_;  ///< shared: the connection may be telling it while the task ends
  const std::shared_ptr<BufferManager> buffers_;
  std::atomic<bool> released_{false};
  std::atomic<int32_t> queued_{0};
  std::atomic<int64_t> queuedBytes_{0};
  std::atomic<bool> failed_{false};

  mutable Mutex mutex_;
  PrioritizedDeque<Arrived> queue_;
  ReaderSlot reader_;
  ChannelStatePersister persister_;  ///< keeps the books of barriers only: data goes to writer_ after unlocking
  bool starting_ = false;            ///< the task hands over what is queued: nobody else stores data meanwhile
  int32_t expected_ = 0;
  int64_t lastBarrier_ = kNone;
  int32_t lastBarrierSequence_ = 0;
  Millis requested_{0};
  std::shared_ptr<const Throwable> error_;
};

}  // namespace weir
