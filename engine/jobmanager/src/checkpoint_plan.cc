#include "weir/jobmanager/checkpoint_plan.h"

#include <algorithm>

#include "weir/graph/connections.h"

namespace weir {
namespace {

using ExceptionPtr = std::shared_ptr<const CheckpointException>;

bool isFinished(const CheckpointExecution& execution) { return execution.state == ExecutionState::kFinished; }

int32_t finishedSubtasks(const CheckpointPlan& plan, const CheckpointVertex& vertex) {
  const auto first = plan.tasks.begin() + vertex.firstTask;
  return static_cast<int32_t>(std::count_if(first, first + vertex.parallelism, isFinished));
}

/// Every task of the consumer surely has a running predecessor on this edge.
bool hasActiveUpstream(const CheckpointPlan& plan, const CheckpointVertex::Input& input, const std::vector<int32_t>& finishedOfVertex) {
  const CheckpointVertex& producer = plan.topology->vertices[input.vertex];
  const int32_t running = producer.parallelism - finishedOfVertex[input.vertex];
  return input.pattern == DistributionPattern::kAllToAll ? running > 0 : running == producer.parallelism;
}

bool hasRunningPredecessor(const CheckpointPlan& plan, const CheckpointVertex& vertex, int32_t subtask) {
  for (const CheckpointVertex::Input& input : vertex.inputs) {
    if (input.pattern != DistributionPattern::kPointwise) continue;  // none runs there: see hasActiveUpstream
    const CheckpointVertex& producer = plan.topology->vertices[input.vertex];
    const ConsumedSubpartitions consumed = consumedBy(input.pattern, producer.parallelism, vertex.parallelism, subtask);
    const auto first = plan.tasks.begin() + producer.firstTask + consumed.firstProducer;
    if (!std::all_of(first, first + consumed.producers, isFinished)) return true;
  }
  return false;
}

bool usesUnionListState(const OperatorSubtaskState& state) {
  const auto has = [](const std::vector<OperatorStateHandle>& handles) {
    return std::any_of(handles.begin(), handles.end(), [](const OperatorStateHandle& handle) {
      return std::any_of(handle.states.begin(), handle.states.end(),
                         [](const OperatorStateHandle::State& state) { return state.mode == OperatorStateMode::kUnion; });
    });
  };
  return has(state.managedOperator) || has(state.rawOperator);
}

bool usesUnionListState(const std::vector<OperatorState>& operators) {
  return std::any_of(operators.begin(), operators.end(), [](const OperatorState& op) {
    return std::any_of(op.subtasks.begin(), op.subtasks.end(), [](const auto& entry) { return usesUnionListState(entry.second); });
  });
}

ExceptionPtr refuseUnionListState(const CheckpointVertex& vertex, const char* what) {
  auto cause = std::make_shared<Throwable>(
      "org.apache.flink.runtime.checkpoint.PartialFinishingNotSupportedByStateException",
      "The vertex " + vertex.name + " (id = " + vertex.id.toString() + ") has used UnionListState, but part of its tasks " + what + ".");
  return std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointDeclinedTaskClosing, std::move(cause));
}

/// The operators of one vertex, as its tasks acknowledged them.
class VertexAssembly {
 public:
  VertexAssembly(const CheckpointPlan& plan, const CheckpointVertex& vertex) : plan_(plan), vertex_(vertex) {
    for (const ChainedOperator& op : vertex.operators) {
      OperatorState state;
      state.name = op.name;
      state.uid = op.uid;
      state.id = op.id;
      state.parallelism = vertex.parallelism;
      state.maxParallelism = vertex.maxParallelism;
      operators_.push_back(std::move(state));
    }
  }

  void add(int32_t subtask, const TaskStateSnapshot* snapshot) {
    if (isFinished(plan_.tasks[vertex_.firstTask + subtask])) {
      addFinished(subtask);
      return;
    }
    if (snapshot != nullptr && snapshot->finishedOnRestore) {
      finishedOnRestore_ = true;
      return;
    }
    if (snapshot != nullptr && snapshot->finished) ++operatorsFinished_;
    for (OperatorState& op : operators_) {
      OperatorSubtaskState& state = op.subtasks[subtask];
      if (snapshot == nullptr) continue;
      if (const auto found = snapshot->operators.find(op.id); found != snapshot->operators.end()) state = found->second;
    }
  }

  /// Null: fine. Moves the operators out.
  ExceptionPtr finish(std::vector<OperatorState>& all) {
    if (finished_ == vertex_.parallelism || finishedOnRestore_) {
      for (OperatorState& op : operators_) {
        op.subtasks.clear();
        op.finishedSubtasks.clear();
        op.fullyFinished = true;
      }
    } else if (finished_ > 0) {
      if (usesUnionListState(operators_)) return refuseUnionListState(vertex_, "are FINISHED");
    } else if (operatorsFinished_ > 0 && operatorsFinished_ < vertex_.parallelism) {
      if (usesUnionListState(operators_)) return refuseUnionListState(vertex_, "has called operators' finish method");
    }
    std::move(operators_.begin(), operators_.end(), std::back_inserter(all));
    return nullptr;
  }

 private:
  void addFinished(int32_t subtask) {
    ++finished_;
    for (OperatorState& op : operators_) op.finishedSubtasks.push_back(subtask);
  }

  const CheckpointPlan& plan_;
  const CheckpointVertex& vertex_;
  std::vector<OperatorState> operators_;
  int32_t finished_ = 0, operatorsFinished_ = 0;
  bool finishedOnRestore_ = false;
};

}  // namespace

CheckpointPlanCalculator::CheckpointPlanCalculator(JobID job, std::shared_ptr<const CheckpointTopology> topology,
                                                   const CheckpointPlanSource& source, bool checkpointsAfterTasksFinish)
    : job_(job), topology_(std::move(topology)), source_(source), checkpointsAfterTasksFinish_(checkpointsAfterTasksFinish) {}

std::variant<CheckpointPlan, CheckpointPlanCalculator::Failure> CheckpointPlanCalculator::calculate() const {
  const auto refuse = [](const std::string& detail, bool permanent) {
    return Failure{std::make_shared<CheckpointException>(detail, CheckpointFailureReason::kNotAllRequiredTasksRunning), permanent};
  };
  CheckpointPlan plan;
  plan.topology = topology_;
  const int32_t count = topology_->taskCount();
  plan.tasks.reserve(count);
  bool someFinished = false;
  int32_t notRunning = -1;
  for (int32_t task = 0; task < count; ++task) {
    plan.tasks.push_back(source_.execution(task));
    const CheckpointExecution& execution = plan.tasks.back();
    if (isFinished(execution)) {
      someFinished = true;
    } else if (notRunning < 0 && (execution.state != ExecutionState::kRunning || execution.gateway == nullptr)) {
      notRunning = task;
    }
  }
  if (someFinished && !checkpointsAfterTasksFinish_)
    return refuse("Some tasks of the job have already finished and checkpointing with finished tasks is not enabled.", true);
  if (notRunning >= 0) {
    return refuse("Checkpoint triggering task " + topology_->taskName(notRunning) + " of job " + job_.toString() +
                      " is not being executed at the moment. Aborting checkpoint.",
                  false);
  }
  plan.toWaitFor.reserve(count);
  if (someFinished) {
    planAfterTasksFinished(plan);
  } else {
    planAllRunning(plan);
  }
  return plan;
}

void CheckpointPlanCalculator::planAllRunning(CheckpointPlan& plan) const {
  for (const CheckpointVertex& vertex : topology_->vertices) {
    for (int32_t task = vertex.firstTask; task < vertex.firstTask + vertex.parallelism; ++task) {
      if (vertex.isSource()) plan.toTrigger.push_back(task);
      plan.toWaitFor.push_back(task);
    }
  }
}

void CheckpointPlanCalculator::planAfterTasksFinished(CheckpointPlan& plan) const {
  std::vector<int32_t> finishedOfVertex;
  for (const CheckpointVertex& vertex : topology_->vertices) finishedOfVertex.push_back(finishedSubtasks(plan, vertex));
  for (const CheckpointVertex& vertex : topology_->vertices) {
    const bool mayTrigger = std::none_of(vertex.inputs.begin(), vertex.inputs.end(), [&](const CheckpointVertex::Input& input) {
      return hasActiveUpstream(plan, input, finishedOfVertex);
    });
    for (int32_t subtask = 0; subtask < vertex.parallelism; ++subtask) {
      const int32_t task = vertex.firstTask + subtask;
      if (isFinished(plan.tasks[task])) {
        plan.finished.push_back(task);
        continue;
      }
      plan.toWaitFor.push_back(task);
      if (mayTrigger && !hasRunningPredecessor(plan, vertex, subtask)) plan.toTrigger.push_back(task);
    }
  }
}

std::variant<std::vector<OperatorState>, ExceptionPtr> assembleOperatorStates(
    const CheckpointPlan& plan, const std::vector<std::shared_ptr<const TaskStateSnapshot>>& acknowledged) {
  std::vector<OperatorState> all;
  for (const CheckpointVertex& vertex : plan.topology->vertices) {
    VertexAssembly assembly(plan, vertex);
    for (int32_t subtask = 0; subtask < vertex.parallelism; ++subtask) {
      assembly.add(subtask, acknowledged[vertex.firstTask + subtask].get());
    }
    if (ExceptionPtr refused = assembly.finish(all)) return refused;
  }
  return all;
}

}  // namespace weir
