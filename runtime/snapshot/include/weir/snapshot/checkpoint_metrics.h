#pragma once

#include <cstdint>

namespace weir {

/// Id and trigger time of a checkpoint; the time is the coordinator's epoch milliseconds. Flink: CheckpointMetaData.
struct CheckpointMetaData {
  int64_t checkpointId = 0;
  int64_t timestampMs = 0;
  bool operator==(const CheckpointMetaData&) const = default;
};

/// What one subtask measured of one checkpoint. -1: not known. Flink: CheckpointMetrics.
struct CheckpointMetrics {
  int64_t bytesProcessedDuringAlignment = 0;
  int64_t bytesPersistedDuringAlignment = 0;
  int64_t alignmentDurationNanos = 0;   ///< first to last barrier received; 0 with one channel and at sources
  int64_t checkpointStartDelayNanos = 0;  ///< barrier timestamp to first barrier received; millisecond precision
  int64_t syncDurationMillis = -1;
  int64_t asyncDurationMillis = -1;
  int64_t bytesPersistedOfThisCheckpoint = 0;  ///< checkpointed size: newly written
  int64_t totalBytesPersisted = 0;             ///< full size: all that is referenced
  bool unalignedCheckpoint = false;
};

}  // namespace weir
