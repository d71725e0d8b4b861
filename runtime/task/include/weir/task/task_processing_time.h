#pragma once

#include <algorithm>

#include "weir/task/task_timers.h"
#include "weir/task/task_times.h"
#include "weir/time/processing_time_service.h"

namespace weir {

/// The alarms of a task's operators, run by its loop. Lives on its task. Flink: ProcessingTimeServiceImpl, SystemProcessingTimeService.
class TaskProcessingTime final : public ProcessingTimeService {
 public:
  TaskProcessingTime(const Clock& clock, const TaskTimes& times) : clock_(clock), times_(times), timers_(clock) {}

  int64_t currentProcessingTime() const override { return clock_.epochMillis(); }
  Nanos activeTime() const override {
    const TaskTimes::Reading spent = times_.read();
    return clock_.monotonic() - spent.softBackPressured - spent.hardBackPressured;
  }
  TimerId registerTimer(int64_t timestamp, Callback callback, Deadline::Kind kind) override {
    if (quiesced_) return 0;
    // A millisecond more than asked for: the timer says that no record of this time comes any more.
    const int64_t now = currentProcessingTime();
    const int64_t delay = timestamp <= now ? 0 : timestamp - now < 0 ? kFarAway : std::min(timestamp - now, kFarAway);
    return timers_.schedule(Millis(delay + 1), [callback = std::move(callback), timestamp] { callback(timestamp); }, kind);
  }
  void cancelTimer(TimerId id) override {
    if (id != 0) timers_.cancel(id);
  }

  /// Of the next one.
  Deadline deadline() const { return timers_.deadline(); }
  bool isDue() const { return timers_.isDue(); }
  void runDue() { timers_.runDue(); }
  /// The input has ended: drops all timers, also later ones.
  void quiesce() {
    quiesced_ = true;
    timers_.clear();
  }

 private:
  static constexpr int64_t kFarAway = int64_t{1000} * 86400 * 365 * 100;  ///< milliseconds; the clock's nanoseconds must hold it

  const Clock& clock_;
  const TaskTimes& times_;
  TaskTimers timers_;
  bool quiesced_ = false;
};

}  // namespace weir
