#include "weir/jobmanager/pending_checkpoint.h"

namespace weir {

PendingCheckpoint::PendingCheckpoint(int64_t id, int64_t timestampMs, CheckpointTriggerRequest request, CheckpointPlan plan,
                                     std::shared_ptr<CheckpointStats> stats)
    : id_(id), timestampMs_(timestampMs), request_(std::move(request)), plan_(std::move(plan)), stats_(std::move(stats)),
      acks_(plan_.tasks.size(), Ack::kNotAsked), states_(plan_.tasks.size()), missing_(static_cast<int32_t>(plan_.toWaitFor.size())) {
  for (const int32_t task : plan_.toWaitFor) acks_[task] = Ack::kMissing;
  for (const int32_t task : plan_.finished) {
    const int32_t vertex = plan_.topology->vertexOfTask[task];
    stats_->report(vertex, task - plan_.topology->vertices[vertex].firstTask, SubtaskCheckpointStats::finished(timestampMs));
  }
}

int32_t PendingCheckpoint::plannedTask(const ExecutionAttemptID& attempt) const {
  const int32_t task = plan_.topology->taskOf(attempt);
  return task >= 0 && plan_.tasks[task].attempt == attempt && acks_[task] != Ack::kNotAsked ? task : -1;
}

PendingCheckpoint::AckResult PendingCheckpoint::acknowledge(const ExecutionAttemptID& attempt,
                                                            const std::shared_ptr<const TaskStateSnapshot>& state,
                                                            const CheckpointMetrics& metrics, int64_t nowMs) {
  const int32_t task = plannedTask(attempt);
  if (task < 0) return AckResult::kUnknown;
  if (acks_[task] == Ack::kDone) return AckResult::kDuplicate;
  acks_[task] = Ack::kDone;
  --missing_;
  states_[task] = state;
  stats_->report(plan_.topology->vertexOfTask[task], attempt.subtask, SubtaskCheckpointStats::of(metrics, nowMs, true));
  return AckResult::kSuccess;
}

bool PendingCheckpoint::isAcknowledgedBy(const ExecutionAttemptID& attempt) const {
  const int32_t task = plannedTask(attempt);
  return task >= 0 && acks_[task] == Ack::kDone;
}

bool PendingCheckpoint::involves(const ExecutionAttemptID& attempt) const { return plannedTask(attempt) >= 0; }

}  // namespace weir
