#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "weir/base/log.h"
#include "weir/jobmanager/completed_checkpoint.h"

namespace weir {

/// The completed checkpoints that a restart may use, at most num-retained of them.
///
/// Flink: StandaloneCompletedCheckpointStore. Threads: the JobMaster's actor; deleting is the caller's business.
/// Invariants: ids grow; the newest one never leaves before shutdown.
class CompletedCheckpointStore {
 public:
  using Ptr = std::shared_ptr<const CompletedCheckpoint>;

  CompletedCheckpointStore(LogSink& log, int32_t numRetained);

  /// Adds it and returns those that had to go for it, oldest first. Requires: an id above all others.
  std::vector<Ptr> addAndSubsumeOldest(Ptr checkpoint);
  /// Null: none.
  Ptr latest() const { return checkpoints_.empty() ? nullptr : checkpoints_.back(); }
  /// 0: none.
  int64_t latestId() const { return checkpoints_.empty() ? 0 : checkpoints_.back()->id; }
  /// Of the checkpoints, savepoints aside; 0: none.
  int64_t lowestRetainedId() const;
  bool contains(int64_t id) const;
  const std::deque<Ptr>& all() const { return checkpoints_; }
  /// Empties the store and returns what must be deleted now that the job has ended; says in the log what stays.
  std::vector<Ptr> shutdown(JobEnd end);

 private:
  Logger logger_;
  const int32_t numRetained_;
  std::deque<Ptr> checkpoints_;
};

}  // namespace weir
