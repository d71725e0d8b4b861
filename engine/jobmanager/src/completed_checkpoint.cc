#include "weir/jobmanager/completed_checkpoint.h"

namespace weir {

bool isDiscardedAt(const CheckpointProperties& properties, JobEnd end) {
  switch (end) {
    case JobEnd::kFinished:
      return properties.discardFinished;
    case JobEnd::kCanceled:
      return properties.discardCancelled;
    case JobEnd::kFailed:
      return properties.discardFailed;
    case JobEnd::kSuspended:
      return properties.discardSuspended;
  }
  return false;
}

std::string CompletedCheckpoint::externalPointer() const { return path.starts_with('/') ? "file:" + path : path; }

std::string CompletedCheckpoint::toString() const {
  return snapshotName(properties.type) + " " + std::to_string(id) + " @ " + std::to_string(timestampMs) + " for " + job.toString() +
         " located at " + externalPointer();
}

}  // namespace weir
