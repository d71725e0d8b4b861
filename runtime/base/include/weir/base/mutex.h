#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace weir {

namespace detail {
/// In the header, so that locking costs no call. Never crosses a wait: a wait with a held mutex is refused.
inline constinit thread_local int heldMutexCount = 0;  // lint: allow thread-local, mutexes are held by threads
}  // namespace detail

/// Counts the weir::Mutexes that the running thread holds. A wait with a count above zero is a bug and is checked in every wait.
inline int& heldMutexes() { return detail::heldMutexCount; }

/// A mutex for short critical sections that never wait, call listeners or touch files. Lock order: subpartition, local pool, global
/// pool. Lockable with std::lock_guard and std::unique_lock.
///
/// Four bytes and, uncontended, two inlined atomic operations: a std::mutex is 40 bytes of the cache lines that travel between two tasks,
/// and its two calls are half of what handing a barrier to a channel takes. Who finds it held looks again for a few microseconds, longer
/// than what it guards, and sleeps on a futex then. As with std::mutex, an unlocked one may be destroyed at once.
class Mutex {
 public:
  void lock() {
    annotate(Step::kLocking);
    uint32_t free = kFree;
    if (!state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire, std::memory_order_relaxed)) [[unlikely]] lockHeld();
    annotate(Step::kLocked);
    ++heldMutexes();
  }
  void unlock() {
    --heldMutexes();
    annotate(Step::kUnlocking);
    if (state_.exchange(kFree, std::memory_order_release) == kWaitedFor) [[unlikely]] wakeOne();
    annotate(Step::kUnlocked);
  }

 private:
  enum State : uint32_t { kFree, kHeld, kWaitedFor };
  enum class Step { kLocking, kLocked, kUnlocking, kUnlocked };
  void lockHeld();
  void wakeOne();

  /// So that the thread sanitizer knows it for a mutex, and finds cycles in the order of locks.
  void annotate([[maybe_unused]] Step step) {
#ifdef __SANITIZE_THREAD__
    switch (step) {
      case Step::kLocking: __tsan_mutex_pre_lock(this, 0); break;
      case Step::kLocked: __tsan_mutex_post_lock(this, 0, 0); break;
      case Step::kUnlocking: __tsan_mutex_pre_unlock(this, 0); break;
      case Step::kUnlocked: __tsan_mutex_post_unlock(this, 0); break;
    }
#endif
  }

  std::atomic<uint32_t> state_{kFree};
};

using Lock = std::unique_lock<Mutex>;

}  // namespace weir
