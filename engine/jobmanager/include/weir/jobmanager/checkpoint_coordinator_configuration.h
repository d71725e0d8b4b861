#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "weir/base/clock.h"
#include "weir/base/result.h"
#include "weir/checkpoint/checkpoint_properties.h"

namespace weir {

/// The options `execution.checkpointing.*` of one job, checked. Flink: CheckpointCoordinatorConfiguration.
struct CheckpointCoordinatorConfiguration {
  static constexpr Millis kDisabled{std::numeric_limits<int64_t>::max()};

  Millis interval = kDisabled;               ///< kDisabled: no periodic checkpoints
  Millis intervalDuringBacklog = kDisabled;  ///< while a source works off a backlog; used only when hasIntervalDuringBacklog
  bool hasIntervalDuringBacklog = false;     ///< kDisabled above then means: none during a backlog
  Millis timeout{600'000};
  Millis minPause{0};
  int32_t maxConcurrentCheckpoints = 1;
  int32_t tolerableFailedCheckpoints = 0;  ///< kUnlimited: never fail the job
  bool exactlyOnce = true;
  bool unalignedEnabled = false;
  Millis alignedCheckpointTimeout{0};
  bool checkpointsAfterTasksFinish = true;
  bool pauseSourcesUntilFirstCheckpoint = false;
  CheckpointProperties::Retention retention = CheckpointProperties::Retention::kNone;
  int32_t numRetained = 1;
  int32_t historySize = 10;        ///< web.checkpoints.history
  std::string savepointDirectory;  ///< execution.checkpointing.savepoint-dir; empty: a savepoint must name one

  static constexpr int32_t kUnlimited = std::numeric_limits<int32_t>::max();

  bool isPeriodic() const { return interval != kDisabled; }
  /// max(interval, min-pause), with min-pause capped at one year.
  Millis baseInterval() const;
  Millis cappedMinPause() const;
  /// The first option that is out of its range, named with its key.
  Result<void> validate() const;
};

}  // namespace weir
