#pragma once

#include <algorithm>
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

  Id schedule(Nanos delay, std::function<void()> run, Deadline::Kind kind = Deadline::Kind::kWork) {
    const Id id = ++lastId_;
    timers_.emplace(std::pair(clock_.monotonic() + delay, id), Timer{std::move(run), kind});
    return id;
  }
  /// Fine if it has run, or is none.
  void cancel(Id id) {
    std::erase_if(timers_, [&](const auto& timer) { return timer.first.second == id; });
  }
  /// Until when to wait at the longest.
  Deadline deadline() const {
    if (timers_.empty()) return Deadline::never();
    // Work behind a housekeeping timer makes the whole wait one for work.
    const bool work = std::any_of(timers_.begin(), timers_.end(), [](const auto& t) { return t.second.kind == Deadline::Kind::kWork; });
    return {timers_.begin()->first.first, work ? Deadline::Kind::kWork : Deadline::Kind::kHousekeeping};
  }
  /// Runs what is due, in order. Costs nothing but a look while there is no timer.
  void runDue() {
    while (!timers_.empty() && timers_.begin()->first.first <= clock_.monotonic()) timers_.extract(timers_.begin()).mapped().run();
  }

 private:
  struct Timer {
    std::function<void()> run;
    Deadline::Kind kind;
  };
  const Clock& clock_;
  std::map<std::pair<Nanos, Id>, Timer> timers_;
  Id lastId_ = 0;
};

}  // namespace weir
