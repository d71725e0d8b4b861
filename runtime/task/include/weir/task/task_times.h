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
  void onWait(WaitReason reason, Nanos from, Nanos to) override {
    std::atomic<int64_t>* account = reason == WaitReason::kInputOrMail    ? &idle_
                                    : reason == WaitReason::kOutput       ? &soft_
                                    : reason == WaitReason::kOutputBuffer ? &hard_
                                                                          : nullptr;  // costs and files are work
    if (account) account->store(account->load(std::memory_order_relaxed) + (to - from).count(), std::memory_order_relaxed);
  }
  /// Until now; a wait under way counts as busy until it ends.
  Reading read() const {
    const int64_t started = started_.load(std::memory_order_acquire);
    if (started == kNotStarted) return {};
    return {clock_->monotonic() - Nanos(started), Nanos(idle_.load(std::memory_order_relaxed)),
            Nanos(soft_.load(std::memory_order_relaxed)), Nanos(hard_.load(std::memory_order_relaxed))};
  }

 private:
  static constexpr int64_t kNotStarted = -1;
  const Clock* clock_ = nullptr;
  std::atomic<int64_t> started_{kNotStarted}, idle_{0}, soft_{0}, hard_{0};
};

}  // namespace weir
