#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "weir/buffer/local_buffer_pool.h"

namespace weir {

/// What a remote channel has in hand for data that its producer may send: exclusive buffers, which come back to it, and floating ones,
/// which it borrows from its gate's pool. What it has, the producer is told as credit.
///
/// Flink: BufferManager, with the unannounced credit of RemoteInputChannel.
///
/// Threads: any; under mutex_, which comes before that of a local pool. Announcements are made after unlocking.
/// Life: shared by its channel and the pool in which it waits; it lives on until its last exclusive segment is back.
/// Units: buffers.
/// Invariants: (1) credit is announced only for buffers in hand; (2) exclusive in hand + exclusive in use = initialCredit(); (3) it is in
/// line at its pool at most once, and isWaiting() says so.
class BufferManager final : public BufferListener, public BufferRecycler, public std::enable_shared_from_this<BufferManager> {
 public:
  /// `announce`: there is credit to take where there was none. Called by anybody, with no lock held.
  explicit BufferManager(std::function<void()> announce) : announce_(std::move(announce)) {}
  ~BufferManager();

  /// Once, before anything else. Takes `exclusive` segments out of `source`, a pool that is secured and for whose segments nobody else
  /// asks.
  void setup(std::shared_ptr<LocalBufferPool> source, int32_t exclusive, std::shared_ptr<LocalBufferPool> floating);
  int32_t initialCredit() const { return initialCredit_; }

  /// A buffer for arrived data; empty where there is none: released, or more was sent than credit was given.
  Buffer takeBuffer();
  /// The producer has `backlog` more: asks for as many floating buffers as are missing.
  void onBacklog(int32_t backlog);
  /// The producer is blocked now, and without exclusive buffers it forgets its credit: floating buffers are of no use until it goes on.
  void onBlockingUpstream();
  /// What was added since the last call; the caller sends it.
  int32_t takeUnannouncedCredit() { return unannounced_.exchange(0, std::memory_order_acq_rel); }
  /// Gives everything back. Idempotent.
  void release();

  bool notifyBufferAvailable(Buffer& buffer) override;
  void notifyBufferDestroyed() override {}
  void recycle(MemorySegment& segment) override;

  int32_t available() const;
  int32_t availableExclusive() const;
  int32_t availableFloating() const;
  int32_t required() const;
  bool isWaiting() const;
  int32_t unannouncedCredit() const { return unannounced_.load(std::memory_order_acquire); }

 private:
  int32_t availableLocked() const { return static_cast<int32_t>(exclusive_.size() + floating_.size()); }
  /// Takes floating buffers up to what is required, or gets in line. How many it got.
  int32_t requestFloatingLocked();
  void addCredit(int32_t n);
  void giveBack(MemorySegment& segment);

  const std::function<void()> announce_;
  std::shared_ptr<LocalBufferPool> source_, floatingPool_;
  int32_t initialCredit_ = 0;
  std::atomic<int32_t> unannounced_{0};

  mutable Mutex mutex_;
  std::vector<MemorySegment*> exclusive_;
  std::deque<Buffer> floating_;
  int32_t required_ = 0;
  bool waiting_ = false;
  bool released_ = false;
  int32_t inUse_ = 0;                     ///< exclusive segments that are not in hand
  std::shared_ptr<BufferManager> self_;  ///< released, but segments are still out
};

}  // namespace weir
