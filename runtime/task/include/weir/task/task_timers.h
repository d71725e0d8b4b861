#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "weir/base/executor.h"

namespace weir {

/// The end of a wait for either.
inline Deadline earlierOf(Deadline a, Deadline b) {
  const bool never = a.at == Nanos::max() || b.at == Nanos::max();
  if (never) return a.at == Nanos::max() ? b : a;
  const bool work = a.kind == Deadline::Kind::kWork || b.kind == Deadline::Kind::kWork;
  return {std::min(a.at, b.at), work ? Deadline::Kind::kWork : Deadline::Kind::kHousekeeping};
}

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
  void clear() { timers_.clear(); }
  /// Until when to wait at the longest.
  Deadline deadline() const {
    if (timers_.empty()) return Deadline::never();
    // Work behind a housekeeping timer makes the whole wait one for work.
    const bool work = std::any_of(timers_.begin(), timers_.end(), [](const auto& t) { return t.second.kind == Deadline::Kind::kWork; });
    return {timers_.begin()->first.first, work ? Deadline::Kind::kWork : Deadline::Kind::kHousekeeping};
  }
  /// Costs nothing but a look while there is no timer.
  bool isDue() const { return !timers_.empty() && timers_.begin()->first.first <= clock_.monotonic(); }
  /// Runs what is due, in order.
  void runDue() {
    while (isDue()) timers_.extract(timers_.begin()).mapped().run();
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
