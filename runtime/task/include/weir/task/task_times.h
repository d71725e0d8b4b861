#pragma once

#include <atomic>

#include "weir/base/executor.h"

namespace weir {

/// Where the time of one task went since it began to run. Idle, back-pressured and busy add up to the clock, because a task can wait only
/// through its context, which reports every wait here. Written by the task, read by anyone. Flink: the timer gauges of TaskIOMetricGroup.
class TaskTimes final : public WaitObserver {
 public:
  struct Reading {
    Nanos total{}, idle{}, softBackPressured{}, hardBackPressured{};
    Nanos busy() const { return total - idle - softBackPressured - hardBackPressured; }
  };

  void start(const Clock& clock) {
    clock_ = &clock;
    started_.store(clock.monotonic().count(), std::memory_order_release);
  }
  void onWaitBegin(WaitReason reason, Nanos from) override {
    if (accountOf(reason) == kBusy) return;
    change([&] {
      waitingFor_.store(accountOf(reason), std::memory_order_release);
      waitingSince_.store(from.count(), std::memory_order_release);
    });
  }
  void onWait(WaitReason reason, Nanos from, Nanos to) override {
    const int account = accountOf(reason);
    if (account == kBusy) return;
    change([&] {
      waitingFor_.store(kBusy, std::memory_order_release);
      spent_[account].store(spent_[account].load(std::memory_order_relaxed) + (to - from).count(), std::memory_order_release);
    });
  }
  /// Until now, the wait that is under way included.
  Reading read() const {
    const int64_t started = started_.load(std::memory_order_acquire);
    if (started == kNotStarted) return {};
    Nanos spent[kAccounts];
    int waitingFor = kBusy;
    int64_t waitingSince = 0;
    uint64_t before = 0;
    do {
      before = changes_.load(std::memory_order_acquire);
      for (int i = 0; i < kAccounts; ++i) spent[i] = Nanos(spent_[i].load(std::memory_order_acquire));
      waitingFor = waitingFor_.load(std::memory_order_acquire);
      waitingSince = waitingSince_.load(std::memory_order_acquire);
    } while (before % 2 != 0 || changes_.load(std::memory_order_relaxed) != before);
    // The clock is read last: what is accounted for lies before it, so that nothing comes out negative.
    const Nanos now = clock_->monotonic();
    if (waitingFor != kBusy) spent[waitingFor] += now - Nanos(waitingSince);
    return {now - Nanos(started), spent[kIdle], spent[kSoft], spent[kHard]};
  }

 private:
  static constexpr int64_t kNotStarted = -1;
  enum Account : int { kIdle, kSoft, kHard, kAccounts, kBusy = kAccounts };

  static int accountOf(WaitReason reason) {
    switch (reason) {
      case WaitReason::kInputOrMail: return kIdle;
      case WaitReason::kOutput: return kSoft;
      case WaitReason::kOutputBuffer: return kHard;
      default: return kBusy;  // costs and files are work
    }
  }
  /// By the task alone. Readers start again while the number is odd, or has changed.
  template <class F>
  void change(F&& write) {
    const uint64_t changes = changes_.load(std::memory_order_relaxed);
    changes_.store(changes + 1, std::memory_order_relaxed);
    write();
    changes_.store(changes + 2, std::memory_order_release);
  }

  const Clock* clock_ = nullptr;
  std::atomic<int64_t> started_{kNotStarted};
  std::atomic<uint64_t> changes_{0};
  std::atomic<int64_t> spent_[kAccounts] = {};
  std::atomic<int> waitingFor_{kBusy};
  std::atomic<int64_t> waitingSince_{0};
};

}  // namespace weir
