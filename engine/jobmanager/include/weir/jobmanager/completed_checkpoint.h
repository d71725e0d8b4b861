#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/checkpoint/checkpoint_properties.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// How a job ended, as far as its checkpoints care. Suspended: the JobMaster goes away, the job does not.
enum class JobEnd { kFinished, kCanceled, kFailed, kSuspended };

/// Sinks commit and older checkpoints go when it completes: all but a plain savepoint.
inline bool notifiesTasks(const CheckpointProperties& properties) {
  return !isSavepoint(properties.type) || isSynchronous(properties.type);
}
bool isDiscardedAt(const CheckpointProperties& properties, JobEnd end);

/// A checkpoint whose `_metadata` is durable. Immutable and shared: a restored job's tasks may still read it. Flink: CompletedCheckpoint.
struct CompletedCheckpoint {
  JobID job;
  int64_t id = 0;
  int64_t timestampMs = 0;            ///< when it was triggered; 0 if it was loaded from a path
  int64_t completionTimestampMs = 0;  ///< taken once `_metadata` is written
  CheckpointProperties properties;
  std::string path;  ///< the folder of its `_metadata`
  std::vector<OperatorState> operators;
  int64_t stateSize = 0;  ///< all that it references
  bool loaded = false;    ///< not taken by this job: it was started from `path`

  /// `file:/checkpoints/<job>/chk-7`
  std::string externalPointer() const;
  /// As logs print it: `Checkpoint 7 @ 1700000000000 for <job> located at file:/...`.
  std::string toString() const;
};

}  // namespace weir
