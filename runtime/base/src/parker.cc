#include "parker.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string>
#include <thread>

namespace weir {
namespace {

constexpr Nanos kShortestSpin{2'000};

/// Sleeps while `word` is `value`, until an absolute monotonic time. False if that has passed.
bool futexWait(std::atomic<uint32_t>& word, uint32_t value, Nanos until) {
  timespec at{};
  timespec* timeout = nullptr;
  if (until != Nanos::max()) {
    at.tv_sec = std::max<int64_t>(until.count() / 1'000'000'000, 0);
    at.tv_nsec = std::max<int64_t>(until.count() % 1'000'000'000, 0);
    timeout = &at;
  }
  // The bitset form takes an absolute time; steady_clock is CLOCK_MONOTONIC.
  return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, timeout, nullptr, FUTEX_BITSET_MATCH_ANY) == 0 || errno != ETIMEDOUT;
}

void futexWake(std::atomic<uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace

Crowd::Crowd(Nanos longest) : cores(static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u))), longestSpin(longest) {}

bool Parker::takeNotification() {
  return state_.load(std::memory_order_seq_cst) == kNotified && state_.exchange(kEmpty, std::memory_order_seq_cst) == kNotified;
}

bool Parker::park(Nanos until, bool spins) {
  if (takeNotification() || poll()) return true;
  if (spins && spin(until)) return true;
  uint32_t expected = kEmpty;
  if (!state_.compare_exchange_strong(expected, kParked, std::memory_order_seq_cst)) {
    state_.exchange(kEmpty, std::memory_order_seq_cst);
    return true;
  }
  crowd_.awake.fetch_sub(1, std::memory_order_relaxed);
  bool inTime;
  try {
    inTime = sleep(until);
  } catch (...) {  // of what a reactor ran
    (void)endSleep();
    throw;
  }
  return endSleep() || inTime;
}

bool Parker::endSleep() {
  if (state_.exchange(kEmpty, std::memory_order_seq_cst) == kNotified) return true;  // the waker has counted this thread as awake
  crowd_.awake.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Parker::sleep(Nanos until) {
  if (Reactor* const reactor = reactor_.load(std::memory_order_relaxed)) {
    reactor->waitUntil(until);
    return until == Nanos::max() || SystemClock::instance().monotonic() < until;
  }
  while (futexWait(state_, kParked, until)) {
    if (state_.load(std::memory_order_seq_cst) == kNotified) return true;
  }
  return false;
}

void Parker::attach(Reactor* reactor) {
  reactor_.store(reactor, std::memory_order_seq_cst);
  while (reactorWakers_.load(std::memory_order_seq_cst) > 0) std::this_thread::yield();
}

bool Parker::spin(Nanos until) {
  const Clock& clock = SystemClock::instance();
  const Nanos end = std::min(until, clock.monotonic() + spin_);
  while (crowd_.hasFreeCore()) {
    for (int i = 0; i < 16; ++i) {
      if (takeNotification() || poll()) {
        spin_ = std::min(spin_ * 2, crowd_.longestSpin);
        return true;
      }
      __builtin_ia32_pause();
    }
    if (clock.monotonic() >= end) break;
  }
  spin_ = std::max(spin_ / 2, std::min(kShortestSpin, crowd_.longestSpin));
  return false;
}

void Parker::wake() {
  if (state_.load(std::memory_order_seq_cst) == kNotified) return;
  if (state_.exchange(kNotified, std::memory_order_seq_cst) != kParked) return;
  crowd_.awake.fetch_add(1, std::memory_order_relaxed);
  if (!reactor_.load(std::memory_order_seq_cst)) return futexWake(state_);
  // The thread may have gone on meanwhile, for another reason: attach() waits for whoever still uses the reactor.
  reactorWakers_.fetch_add(1, std::memory_order_seq_cst);
  if (Reactor* const reactor = reactor_.load(std::memory_order_seq_cst)) reactor->wake();
  reactorWakers_.fetch_sub(1, std::memory_order_seq_cst);
}

void nameThread(const char* name) { pthread_setname_np(pthread_self(), std::string(name).substr(0, 15).c_str()); }

void prepareThread(const char* name) {
  prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
  nameThread(name);
}

}  // namespace weir
