#include "weir/jobmanager/completed_checkpoint_store.h"

#include "weir/base/check.h"

namespace weir {

CompletedCheckpointStore::CompletedCheckpointStore(LogSink& log, int32_t numRetained)
    : logger_(log, "org.apache.flink.runtime.checkpoint.StandaloneCompletedCheckpointStore"), numRetained_(numRetained) {
  WEIR_CHECK_GE(numRetained, 1);
}

std::vector<CompletedCheckpointStore::Ptr> CompletedCheckpointStore::addAndSubsumeOldest(Ptr checkpoint) {
  WEIR_CHECK_GT(checkpoint->id, latestId());
  checkpoints_.push_back(std::move(checkpoint));
  std::vector<Ptr> subsumed;
  while (static_cast<int32_t>(checkpoints_.size()) > numRetained_) {
    subsumed.push_back(std::move(checkpoints_.front()));
    checkpoints_.pop_front();
  }
  return subsumed;
}

int64_t CompletedCheckpointStore::lowestRetainedId() const {
  for (const Ptr& checkpoint : checkpoints_)
    if (!isSavepoint(checkpoint->properties.type)) return checkpoint->id;
  return 0;
}

bool CompletedCheckpointStore::contains(int64_t id) const {
  for (const Ptr& checkpoint : checkpoints_)
    if (checkpoint->id == id) return true;
  return false;
}

std::vector<CompletedCheckpointStore::Ptr> CompletedCheckpointStore::shutdown(JobEnd end) {
  std::vector<Ptr> discarded;
  for (Ptr& checkpoint : checkpoints_) {
    if (isDiscardedAt(checkpoint->properties, end)) {
      discarded.push_back(std::move(checkpoint));
    } else {
      logger_.info("Checkpoint with ID {} at '{}' not discarded.", checkpoint->id, checkpoint->externalPointer());
    }
  }
  checkpoints_.clear();
  return discarded;
}

}  // namespace weir
