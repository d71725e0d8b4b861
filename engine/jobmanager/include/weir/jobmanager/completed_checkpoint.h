#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/snapshot/checkpoint_options.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// What is asked for with one checkpoint. Flink: CheckpointProperties.
struct CheckpointProperties {
  SnapshotType type = SnapshotType::kCheckpoint;
  SavepointFormat format = SavepointFormat::kCanonical;
  bool forced = false;     ///< taken although max-concurrent is reached
  bool unclaimed = false;  ///< restored with NO_CLAIM: never ours to delete

  bool savepoint() const { return isSavepoint(type); }
  bool synchronous() const { return isSynchronous(type); }
  /// Sinks commit and older checkpoints go when it completes: all but a plain savepoint.
  bool notifiesTasks() const { return !savepoint() || synchronous(); }
  bool discardOnSubsumed() const { return !savepoint() && !unclaimed; }
};

/// A checkpoint whose `_metadata` is durable. Immutable and shared: a restored job's tasks may still read it. Flink: CompletedCheckpoint.
struct CompletedCheckpoint {
  JobID job;
  int64_t id = 0;
  int64_t timestampMs = 0;            ///< when it was triggered; 0 if it was loaded from a path
  int64_t completionTimestampMs = 0;  ///< taken once `_metadata` is written
  CheckpointProperties properties;
  std::string path;                   ///< the folder of its `_metadata`
  std::vector<OperatorState> operators;
  int64_t stateSize = 0;              ///< all that it references
  bool loaded = false;                ///< not taken by this job: it was started from `path`

  /// `file:/checkpoints/<job>/chk-7`
  std::string externalPointer() const;
  /// As logs print it: `Checkpoint 7 @ 1700000000000 for <job> located at file:/...`.
  std::string toString() const;
};

}  // namespace weir
