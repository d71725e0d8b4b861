#include "weir/jobmanager/checkpoint_coordinator_configuration.h"

#include <algorithm>

namespace weir {
namespace {

constexpr Millis kYear = std::chrono::hours(24 * 365);
constexpr Millis kShortest{10};

Error outOfRange(const std::string& key, int64_t value, const std::string& rule) {
  return {ErrorCode::kInvalidArgument, "execution.checkpointing." + key + " is " + std::to_string(value) + ", but it must be " + rule};
}

}  // namespace

Millis CheckpointCoordinatorConfiguration::cappedMinPause() const { return std::min(minPause, kYear); }

Millis CheckpointCoordinatorConfiguration::baseInterval() const { return std::max(interval, cappedMinPause()); }

Result<void> CheckpointCoordinatorConfiguration::validate() const {
  if (isPeriodic() && interval < kShortest) return outOfRange("interval", interval.count(), "at least 10 ms");
  if (timeout < kShortest) return outOfRange("timeout", timeout.count(), "at least 10 ms");
  if (minPause.count() < 0) return outOfRange("min-pause", minPause.count(), "0 or more");
  if (alignedCheckpointTimeout.count() < 0) return outOfRange("aligned-checkpoint-timeout", alignedCheckpointTimeout.count(), "0 or more");
  if (maxConcurrentCheckpoints < 1) return outOfRange("max-concurrent-checkpoints", maxConcurrentCheckpoints, "at least 1");
  if (tolerableFailedCheckpoints < 0) return outOfRange("tolerable-failed-checkpoints", tolerableFailedCheckpoints, "0 or more");
  if (numRetained < 1) return outOfRange("num-retained", numRetained, "at least 1");
  if (hasIntervalDuringBacklog && intervalDuringBacklog < interval)
    return outOfRange("interval-during-backlog", intervalDuringBacklog.count(), "at least the interval");
  if (unalignedEnabled && !exactlyOnce)
    return Error{ErrorCode::kInvalidArgument, "execution.checkpointing.unaligned.enabled needs execution.checkpointing.mode EXACTLY_ONCE"};
  if (unalignedEnabled && maxConcurrentCheckpoints > 1)
    return Error{ErrorCode::kInvalidArgument, "maxConcurrentCheckpoints can't be > 1 if UnalignedCheckpoints enabled"};
  return {};
}

}  // namespace weir
