#include "checkpoint_coordinator_entry.h"
#include "weir/base/check.h"

namespace weir {

std::shared_ptr<const CompletedCheckpoint> CheckpointCoordinator::restoreLatest() {
  Entry entry(*this);
  abortPendingCheckpoints(CheckpointFailureReason::kJobFailoverRegion);
  auto latest = store_.latest();
  if (!latest) {
    logger_.info("No checkpoint found during restore.");
    return nullptr;
  }
  announceRestore(*latest);
  return latest;
}

std::shared_ptr<const CompletedCheckpoint> CheckpointCoordinator::restoreFrom(const std::string& path, int64_t checkpointId,
                                                                              std::vector<OperatorState> operators, RestoreMode mode,
                                                                              bool allowNonRestoredState) {
  Entry entry(*this);
  WEIR_CHECK(store_.latest() == nullptr && pending_.empty(), "the job has checkpoints of its own already");
  auto loaded = std::make_shared<CompletedCheckpoint>();
  loaded->job = job_;
  loaded->id = checkpointId;
  // As Flink sees them: claimed, it is a checkpoint of ours; unclaimed, a savepoint that is never deleted.
  if (mode == RestoreMode::kClaim) {
    loaded->properties = CheckpointProperties::forCheckpoint(SnapshotType::kCheckpoint, config_.retention);
  } else {
    loaded->properties = CheckpointProperties::forSavepoint(SnapshotType::kSavepoint, SavepointFormat::kCanonical);
    loaded->properties.unclaimed = true;
  }
  loaded->path = path;
  loaded->loaded = true;
  loaded->operators = std::move(operators);
  for (const OperatorState& op : loaded->operators)
    for (const auto& [subtask, state] : op.subtasks) loaded->stateSize += state.stateSize();
  logger_.info("Starting job {} from savepoint {} ({})", jobText_, loaded->externalPointer(),
               allowNonRestoredState ? "allowing non restored state" : "");
  store_.addAndSubsumeOldest(loaded);
  forceFull_ = mode == RestoreMode::kNoClaim;
  firstId_ = nextId_ = checkpointId + 1;
  logger_.info("Reset the checkpoint ID of job {} to {}.", jobText_, nextId_);
  announceRestore(*loaded);
  return loaded;
}

void CheckpointCoordinator::announceRestore(const CompletedCheckpoint& checkpoint) {
  logger_.info("Restoring job {} from {}.", jobText_, checkpoint.toString());
  logger_.info("No master state to restore");
  stats_.reportRestored(checkpoint);
}

}  // namespace weir
