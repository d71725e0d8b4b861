#pragma once

#include <map>
#include <utility>

#include "weir/time/processing_time_service.h"

namespace weir::testing {

/// Processing time that goes when a test says so; begins at 0. Flink: TestProcessingTimeService.
class ManualProcessingTime final : public ProcessingTimeService {
 public:
  int64_t currentProcessingTime() const override { return now_; }
  Nanos activeTime() const override { return Millis(now_) - paused_; }
  TimerId registerTimer(int64_t timestamp, Callback callback, Deadline::Kind) override {
    timers_.emplace(std::pair(timestamp, ++lastId_), std::move(callback));
    return lastId_;
  }
  void cancelTimer(TimerId id) override {
    std::erase_if(timers_, [&](const auto& timer) { return timer.first.second == id; });
  }

  /// The clock goes to `time`, then whoever is due is called, in the order of time: also those that are registered meanwhile.
  void advanceTo(int64_t time) {
    now_ = time;
    while (!timers_.empty() && timers_.begin()->first.first <= now_) {
      auto due = timers_.extract(timers_.begin());
      due.mapped()(due.key().first);
    }
  }
  /// So much of the time that has passed was spent waiting for consumers.
  void pause(Nanos time) { paused_ += time; }
  size_t numTimers() const { return timers_.size(); }

 private:
  int64_t now_ = 0;
  Nanos paused_{};
  TimerId lastId_ = 0;
  std::map<std::pair<int64_t, TimerId>, Callback> timers_;
};

}  // namespace weir::testing
