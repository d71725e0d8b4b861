#pragma once

#include <atomic>

namespace weir {

/// Wakes one parked actor. Owned by the executor and alive as long as it, so that a late wake-up never dangles. Takes no lock.
class Waker {
 public:
  virtual void wake() = 0;

 protected:
  ~Waker() = default;
};

/// A flag and at most one waiter to wake: what Flink's availability futures are here. Completing it runs no code of others.
///
/// set() may be called by any thread, also while it holds no lock of its own (never under a lock: see base/mutex.h). The waiting side
/// resets the flag first and looks at the guarded state after that, so that no change is missed:
///
///     signal.reset(); if (!somethingToDo()) context.wait(reason, {&signal});
///
/// Sequentially consistent throughout: set() stores the flag and then reads the waiter, wait() stores the waiter and then reads the flag.
///
/// Under simulation set() may let the waiter, or anybody, run before it returns.
///
/// Whoever sets a signal keeps it alive until set() has returned: the waiter may see the flag, and be gone, before that. So a signal on the
/// stack of its waiter is wrong; it lives in something that both sides share.
class Signal {
 public:
  Signal() = default;
  /// `name` (static text) is what a deadlock report of the simulation calls it.
  explicit Signal(const char* name) : name_(name) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void set() {
    flag_.store(true, std::memory_order_seq_cst);
    if (Waker* waiter = waiter_.load(std::memory_order_seq_cst)) waiter->wake();
  }
  void reset() { flag_.store(false, std::memory_order_seq_cst); }
  bool isSet() const { return flag_.load(std::memory_order_seq_cst); }
  /// A cheap look for hot loops: may be late, never wrong for long.
  bool looksSet() const { return flag_.load(std::memory_order_relaxed); }
  const char* name() const { return name_; }

 private:
  friend class ExecutionContext;
  std::atomic<bool> flag_{false};
  std::atomic<Waker*> waiter_{nullptr};
  const char* name_ = "unnamed";
};

}  // namespace weir
