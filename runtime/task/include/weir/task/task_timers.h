#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "weir/base/executor.h"

namespace weir {

/// Timers of one task: run by its loop between two batches of records, never inside one, and not while it waits in the middle of a record.
///
/// Flink: the part of ProcessingTimeService that a task itself uses; there a timer thread posts a mail. Lives on its task.
class TaskTimers {
 public:
  using Id = uint64_t;  ///< 0: none

  explicit TaskTimers(const Clock& clock) : clock_(clock) {}

  Id schedule(Nanos delay, std::function<void()> run) {
    const Id id = ++lastId_;
    timers_.emplace(std::pair(clock_.monotonic() + delay, id), std::move(run));
    return id;
  }
  /// Fine if it has run, or is none.
  void cancel(Id id) {
    std::erase_if(timers_, [&](const auto& timer) { return timer.first.second == id; });
  }
  /// Until when to wait at the longest.
  Deadline deadline() const { return timers_.empty() ? Deadline::never() : Deadline::work(timers_.begin()->first.first); }
  /// Runs what is due, in order. Costs nothing but a look while there is no timer.
  void runDue() {
    while (!timers_.empty() && timers_.begin()->first.first <= clock_.monotonic()) timers_.extract(timers_.begin()).mapped()();
  }

 private:
  const Clock& clock_;
  std::map<std::pair<Nanos, Id>, std::function<void()>> timers_;
  Id lastId_ = 0;
};

}  // namespace weir
