#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/jobmanager/checkpoint_environment.h"
#include "weir/jobmanager/checkpoint_plan.h"
#include "weir/jobmanager/checkpoint_request_decider.h"
#include "weir/jobmanager/checkpoint_stats.h"

namespace weir {

/// A checkpoint that has an id but is not complete.
///
/// Flink: PendingCheckpoint. Threads: the JobMaster's actor. Life cycle: kTriggering while its folder is being made, kPending while it
/// waits for acknowledgements, kCompleting while `_metadata` is being written; kDisposed from an abort or the completion on.
/// Invariant: it is acknowledged in full exactly when every task of plan().toWaitFor has acknowledged once, with the planned attempt.
class PendingCheckpoint {
 public:
  enum class Phase { kTriggering, kPending, kCompleting, kDisposed };
  enum class AckResult { kSuccess, kDuplicate, kUnknown };

  PendingCheckpoint(int64_t id, int64_t timestampMs, CheckpointTriggerRequest request, CheckpointPlan plan,
                    std::shared_ptr<CheckpointStats> stats);

  int64_t id() const { return id_; }
  int64_t timestampMs() const { return timestampMs_; }
  const CheckpointProperties& properties() const { return request_.properties; }
  const CheckpointTriggerRequest& request() const { return request_; }
  const CheckpointPlan& plan() const { return plan_; }
  const std::shared_ptr<CheckpointStats>& stats() const { return stats_; }
  /// Savepoints are never subsumed.
  bool canBeSubsumed() const { return !isSavepoint(properties().type); }

  /// One look-up and O(1) work.
  AckResult acknowledge(const ExecutionAttemptID& attempt, const std::shared_ptr<const TaskStateSnapshot>& state,
                        const CheckpointMetrics& metrics, int64_t nowMs);
  bool isFullyAcknowledged() const { return missing_ == 0; }
  bool isAcknowledgedBy(const ExecutionAttemptID& attempt) const;
  /// The attempt is one that this checkpoint was planned for.
  bool involves(const ExecutionAttemptID& attempt) const;
  /// What was acknowledged, by task number; null: nothing or not yet.
  std::vector<std::shared_ptr<const TaskStateSnapshot>> takeStates() { return std::move(states_); }

  Phase phase = Phase::kTriggering;
  CheckpointTimer::Id expiry = CheckpointTimer::kNone;
  bool ioInFlight = false;   ///< the I/O actor works for it: what it leaves is cleaned once that comes back
  bool hasLocation = false;  ///< something has been made that an abort must delete
  std::string savepointPath;
  std::shared_ptr<const CheckpointException> failure;  ///< why it was aborted

 private:
  enum class Ack : uint8_t { kNotAsked, kMissing, kDone };
  int32_t plannedTask(const ExecutionAttemptID& attempt) const;

  const int64_t id_, timestampMs_;
  const CheckpointTriggerRequest request_;
  const CheckpointPlan plan_;
  const std::shared_ptr<CheckpointStats> stats_;
  std::vector<Ack> acks_;
  std::vector<std::shared_ptr<const TaskStateSnapshot>> states_;
  int32_t missing_ = 0;
};

}  // namespace weir
