#include "weir/jobmanager/completed_checkpoint.h"

namespace weir {

std::string CompletedCheckpoint::externalPointer() const { return path.starts_with('/') ? "file:" + path : path; }

std::string CompletedCheckpoint::toString() const {
  return snapshotName(properties.type) + " " + std::to_string(id) + " @ " + std::to_string(timestampMs) + " for " + job.toString() +
         " located at " + externalPointer();
}

}  // namespace weir
