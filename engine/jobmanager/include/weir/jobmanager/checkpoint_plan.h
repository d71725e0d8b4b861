#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "weir/jobmanager/checkpoint_environment.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

/// Who takes part in one checkpoint; fixed when it is triggered. Flink: CheckpointPlan.
struct CheckpointPlan {
  std::shared_ptr<const CheckpointTopology> topology;
  std::vector<CheckpointExecution> tasks;  ///< all, by task number; the attempts that this checkpoint is fenced to
  std::vector<int32_t> toTrigger;          ///< are triggered by a message: the running ones without a running predecessor
  std::vector<int32_t> toWaitFor;          ///< acknowledge it, and are told of its end: the running ones
  std::vector<int32_t> finished;           ///< had finished before
};

/// Flink: DefaultCheckpointPlanCalculator.
class CheckpointPlanCalculator {
 public:
  CheckpointPlanCalculator(JobID job, std::shared_ptr<const CheckpointTopology> topology, const CheckpointPlanSource& source,
                           bool checkpointsAfterTasksFinish);

  struct Failure {
    std::shared_ptr<const CheckpointException> why;
    bool permanent = false;  ///< a task has finished and that is not allowed: no later attempt can succeed
  };
  /// Or why there is none: a task that is needed does not run.
  std::variant<CheckpointPlan, Failure> calculate() const;

 private:
  void planAllRunning(CheckpointPlan& plan) const;
  void planAfterTasksFinished(CheckpointPlan& plan) const;

  const JobID job_;
  const std::shared_ptr<const CheckpointTopology> topology_;
  const CheckpointPlanSource& source_;
  const bool checkpointsAfterTasksFinish_;
};

/// The operators' states of a finished checkpoint from what its tasks acknowledged (by task number; null: none). Finished tasks get their
/// markers. Refuses union list state of a vertex that is finished in part, with CHECKPOINT_DECLINED_TASK_CLOSING. Any thread.
std::variant<std::vector<OperatorState>, std::shared_ptr<const CheckpointException>> assembleOperatorStates(
    const CheckpointPlan& plan, const std::vector<std::shared_ptr<const TaskStateSnapshot>>& acknowledged);

}  // namespace weir
