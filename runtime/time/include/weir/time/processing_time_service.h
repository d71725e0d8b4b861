#pragma once

#include <cstdint>
#include <functional>

#include "weir/base/executor.h"

namespace weir {

/// The clock and the alarms of one task. Callbacks run on the task, between two batches of records, never inside a call of registerTimer().
///
/// Flink: ProcessingTimeService. In a task it is driven by the task's loop, in tests by hand. Used by the task alone.
class ProcessingTimeService {
 public:
  using TimerId = uint64_t;  ///< 0: none
  using Callback = std::function<void(int64_t timestamp)>;

  virtual ~ProcessingTimeService() = default;
  /// Epoch milliseconds.
  virtual int64_t currentProcessingTime() const = 0;
  /// A clock that stands still while the task is held up by its consumers; its zero is arbitrary. Flink: PausableRelativeClock.
  virtual Nanos activeTime() const = 0;
  /// Calls back once, with `timestamp`, when the clock has passed it: at once, as soon as the task can, where it lies in the past. After
  /// the end of the input nobody is called any more. `kind`: housekeeping keeps no simulated run going.
  virtual TimerId registerTimer(int64_t timestamp, Callback callback, Deadline::Kind kind = Deadline::Kind::kWork) = 0;
  /// Fine if it has run, or is none.
  virtual void cancelTimer(TimerId id) = 0;
};

}  // namespace weir
