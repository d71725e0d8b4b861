#pragma once

#include <cstdint>

#include "sim/record.h"
#include "sim/scenario.h"

// Event time of simulated jobs, for the job and for the oracle alike.
namespace weir::sim {

/// More than any difference of times in a job, and small enough to be added to any of them.
constexpr int64_t kEndlessLatenessMs = int64_t{1} << 40;

/// The largest multiple of `step` that is not above `time`.
constexpr int64_t roundedDown(int64_t time, int64_t step) {
  const int64_t rest = time % step;
  return time - (rest < 0 ? rest + step : rest);
}

/// When the record of that index of the source happened.
inline int64_t eventTime(const EventTimes& times, int32_t source, int64_t index) {
  const uint64_t draw = mix(static_cast<uint64_t>(source) + 31, static_cast<uint64_t>(index));
  return times.startMs + index * times.stepMs + static_cast<int64_t>(draw % static_cast<uint64_t>(times.disorderMs + 1));
}
inline int64_t eventTime(const Scenario& scenario, const Rec& rec) {
  return eventTime(scenario.nodes[static_cast<size_t>(rec.source)].event, rec.source, rec.index);
}

/// Until when one that happened at `time` is held back: later than that, and on the grid.
inline int64_t heldUntil(const Timing& timing, int64_t time) {
  return roundedDown(time + timing.delayMs, timing.gridMs) + timing.gridMs;
}

/// The start of the last window that a record of that time is in.
inline int64_t lastWindowStart(const Timing& timing, int64_t time) {
  return roundedDown(time - timing.offsetMs, timing.sizeMs) + timing.offsetMs;
}
inline int64_t windowSize(const Timing& timing) { return timing.sizeMs * timing.slides; }

/// Whether the timestamps of all records that come into the node, or of those that it emits, follow from the records alone. The end of a
/// session does not, where records are late: it depends on who was there when it fired.
bool knowsTimesOf(const Scenario& scenario, int32_t node);
bool knowsTimesInto(const Scenario& scenario, int32_t node);
/// Whether a record may come, or be emitted, behind a watermark that has passed it.
bool mayBeLate(const Scenario& scenario, int32_t node);
bool mayBeLateInto(const Scenario& scenario, int32_t node);

}  // namespace weir::sim
