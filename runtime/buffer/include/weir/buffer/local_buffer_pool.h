#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "weir/base/executor.h"
#include "weir/base/mutex.h"
#include "weir/base/signal.h"
#include "weir/buffer/buffer.h"
#include "weir/buffer/buffer_builder.h"
#include "weir/buffer/network_buffer_pool.h"

namespace weir {

/// Somebody who waits in line for a buffer of one local pool. Called by whoever recycles, with no lock held.
///
/// Flink: BufferListener.
class BufferListener {
 public:
  /// Takes `buffer` and returns true, or leaves it and returns false: then the next in line is asked.
  virtual bool notifyBufferAvailable(Buffer& buffer) = 0;
  virtual void notifyBufferDestroyed() = 0;

 protected:
  ~BufferListener() = default;
};

/// The segments of one result partition, or the floating ones of one input gate.
///
/// Flink: LocalBufferPool (2.3.0). Available means: a free segment in hand and no subpartition at its cap. So after each request the pool
/// fetches the next segment, as long as it holds fewer than its size.
/// Threads: request - the owning task, or whoever receives; recycle - any; resize - whoever creates or destroys another pool. All under
/// mutex_; signals and listeners are told after it is unlocked. Waiting for it: one waiter.
///
///     while (!pool.isAvailable()) { pool.available().reset(); if (!pool.isAvailable()) context.wait(kOutput, {&pool.available()}); }
///
/// Life: lazyDestroy() by the owner; the object lives on until its last segment is back.
/// Invariants: requested <= size + overdraft, except right after a shrink; available <=> free segment in hand and capped = 0; each segment
/// in use counts once as requested.
class LocalBufferPool final : public BufferRecycler, public GlobalPoolListener, public std::enable_shared_from_this<LocalBufferPool> {
 public:
  ~LocalBufferPool();
  LocalBufferPool(const LocalBufferPool&) = delete;
  LocalBufferPool& operator=(const LocalBufferPool&) = delete;

  /// A builder over a segment, charged to `subpartition` (-1: to none); closed if there is no segment. Throws CancelTaskException once
  /// destroyed.
  BufferBuilder requestBufferBuilder(int32_t subpartition = -1);
  /// The same, waits as kOutputBuffer until there is one.
  BufferBuilder requestBufferBuilderBlocking(ExecutionContext& context, int32_t subpartition);
  /// A whole segment as a data buffer of size 0 that the receiver fills; empty if there is none.
  Buffer requestBuffer();
  /// Returns when the pool is sure to get what it requires; waits for it as kSetupBuffers, up to the request timeout.
  Result<void> awaitSecured(ExecutionContext& context);
  bool isSecured() const;
  /// Returns when the pool holds a segment, in hand or in use; waits for it as kSetupBuffers, up to the request timeout. Done when a gate
  /// is set up, so that its channels cannot starve.
  Result<void> reserveFirstSegment(ExecutionContext& context);

  bool isAvailable() const { return availableNow_.load(std::memory_order_acquire); }
  /// Available, and not about to become unavailable: worth more than a record at a time. A guess, one look without a lock.
  bool looksRoomy() const { return roomyNow_.load(std::memory_order_relaxed); }
  /// Set when the pool becomes available or is destroyed. Never reset here: that is for the waiter, before it looks again.
  Signal& available() { return available_; }

  /// False if a segment is free or the pool is destroyed: then ask again instead.
  bool addBufferListener(std::shared_ptr<BufferListener> listener);

  /// Returns true if that made the pool available: the caller then sets available() once it holds no lock.
  [[nodiscard]] bool setNumBuffers(int32_t size);
  /// Gives back what is free now and the rest as it is recycled. Idempotent.
  void lazyDestroy();
  bool isDestroyed() const;

  uint32_t segmentSize() const { return network_->segmentSize(); }
  int32_t size() const;
  int32_t requested() const;
  int32_t free() const;
  /// Requested and not in hand: what the usage gauges count.
  int32_t used() const;
  int32_t cappedSubpartitions() const;
  const LocalBufferPoolOptions& options() const { return options_; }
  NetworkBufferPool& networkBufferPool() const { return *network_; }

  void recycle(MemorySegment& segment) override;
  void onSegmentAvailable() override;
  /// By the global pool: it has set aside what this one requires. False where this one was destroyed meanwhile.
  bool onSecured();

 private:
  friend class NetworkBufferPool;
  LocalBufferPool(std::shared_ptr<NetworkBufferPool> network, const LocalBufferPoolOptions& options);

  MemorySegment* takeSegment(int32_t subpartition);
  /// Fetches the next segment if none is in hand; true if the pool has just become available.
  bool updateAvailability();
  bool hasExcess() const { return requested_ > size_; }

  const std::shared_ptr<NetworkBufferPool> network_;
  const LocalBufferPoolOptions options_;
  Signal available_;
  static constexpr int32_t kRoomy = 3;     ///< segments in hand or to be had
  std::atomic<bool> availableNow_{false};  ///< changed under mutex_
  std::atomic<bool> roomyNow_{false};

  mutable Mutex mutex_;
  std::vector<MemorySegment*> free_;
  std::deque<std::shared_ptr<BufferListener>> listeners_;
  std::vector<int32_t> perSubpartition_;
  int32_t size_;
  int32_t requested_ = 0;  ///< taken from the global pool and not returned
  int32_t capped_ = 0;     ///< subpartitions at maxBuffersPerChannel
  bool subscribed_ = false;
  bool secured_ = false;
  bool destroyed_ = false;
  std::shared_ptr<LocalBufferPool> self_;  ///< destroyed, but segments are still out
};

}  // namespace weir
