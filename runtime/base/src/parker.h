#pragma once

#include <atomic>
#include <cstdint>

#include "weir/base/clock.h"
#include "weir/base/executor.h"

namespace weir {

/// How many threads of an executor are awake, against the cores of the machine: whether one may spin without taking a core from another.
struct Crowd {
  explicit Crowd(Nanos longestSpin);
  bool hasFreeCore() const { return awake.load(std::memory_order_relaxed) <= cores; }
  const int cores;
  const Nanos longestSpin;
  std::atomic<int> awake{0};
};

/// Parks one thread. wake() from any thread: one atomic exchange unless the thread really sleeps, a futex call then. A wake-up that
/// comes before park() is kept (one of them).
///
/// A sleeping receiver costs its sender a system call and itself some 20 us, a spinning one less than 100 ns. So park() spins first where
/// a core is free; the time it spins for doubles with each success and halves with each failure.
///
/// With a reactor it sleeps there, and looks there while it spins. What is ready at once runs while the thread still counts as awake.
class Parker final : public Waker {
 public:
  explicit Parker(Crowd& crowd) : crowd_(crowd), spin_(crowd.longestSpin) {}
  Parker(const Parker&) = delete;
  Parker& operator=(const Parker&) = delete;

  /// True if woken, false once `until` has passed.
  bool park(Nanos until, bool spins);
  void wake() override;

  /// By the thread, for the actor that it runs: where it sleeps from now on; null: on its own futex again. A late wake-up does not reach
  /// the reactor once it is detached.
  void attach(Reactor* reactor);
  bool poll() {
    Reactor* const reactor = reactor_.load(std::memory_order_relaxed);
    return reactor && reactor->poll();
  }

 private:
  enum State : uint32_t { kEmpty, kNotified, kParked };
  bool spin(Nanos until);
  bool takeNotification();
  /// Until woken or `until`; false if that has passed.
  bool sleep(Nanos until);
  /// Whether somebody woke it.
  bool endSleep();

  std::atomic<uint32_t> state_{kEmpty};
  std::atomic<Reactor*> reactor_{nullptr};
  std::atomic<int> reactorWakers_{0};  ///< who is about to wake it
  Crowd& crowd_;
  Nanos spin_;  ///< for how long next time; the thread's own
};

/// To be called first on each thread of an executor: timers fire when they are due (slack 1 ns instead of 50 us).
void prepareThread(const char* name);
/// What the debugger and top show: the first 15 characters.
void nameThread(const char* name);

}  // namespace weir
