#pragma once

#include <mutex>

namespace weir {

namespace detail {
/// In the header, so that locking costs no call. Never crosses a wait: a wait with a held mutex is refused.
inline constinit thread_local int heldMutexCount = 0;  // lint: allow thread-local, mutexes are held by threads
}  // namespace detail

/// Counts the weir::Mutexes that the running thread holds. A wait with a count above zero is a bug and is checked in every wait.
inline int& heldMutexes() { return detail::heldMutexCount; }

/// A mutex for short critical sections that never wait, call listeners or touch files. Lock order: subpartition, local pool, global
/// pool. Lockable with std::lock_guard and std::unique_lock.
class Mutex {
 public:
  void lock() {
    mutex_.lock();
    ++heldMutexes();
  }
  bool try_lock() {
    if (!mutex_.try_lock()) return false;
    ++heldMutexes();
    return true;
  }
  void unlock() {
    --heldMutexes();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

using Lock = std::unique_lock<Mutex>;

}  // namespace weir
