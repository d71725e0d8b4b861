#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "weir/base/clock.h"
#include "weir/base/ids.h"
#include "weir/exchange/partitioner.h"
#include "weir/graph/job_graph.h"
#include "weir/task/execution_state.h"
#include "weir/rpc/gateways.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// What the checkpoint coordinator needs from whoever runs it. All of it is used on the JobMaster's actor alone, so that tests drive it by
/// hand, step by step.

/// One-shot timers whose actions run on the JobMaster's actor, never inside schedule().
class CheckpointTimer {
 public:
  using Id = uint64_t;
  static constexpr Id kNone = 0;
  virtual ~CheckpointTimer() = default;
  /// Runs `action` once the monotonic clock has reached `at`. Never returns kNone.
  virtual Id schedule(Nanos at, std::function<void()> action) = 0;
  /// The action will not run. Fine for ids that have run and for kNone.
  virtual void cancel(Id id) = 0;
};

/// The I/O actor: blocking calls on directories and `_metadata`.
class CheckpointIo {
 public:
  virtual ~CheckpointIo() = default;
  /// Runs `work` on the I/O actor, then `done` as a mail of the JobMaster; in the order of the calls or not. Neither runs inside run().
  virtual void run(std::function<void()> work, std::function<void()> done) = 0;
};

/// One vertex as checkpoints see it.
struct CheckpointVertex {
  JobVertexID id;
  std::string name;
  int32_t parallelism = 1;
  int32_t maxParallelism = 128;
  std::vector<ChainedOperator> operators;
  struct Input {
    int32_t vertex = 0;  ///< the producer: index in CheckpointTopology::vertices
    DistributionPattern pattern = DistributionPattern::kAllToAll;
    int32_t output = 0;  ///< which one of the producer
    PartitionerKind partitioner = PartitionerKind::kForward;
  };
  std::vector<Input> inputs;
  int32_t firstTask = 0;  ///< number of its subtask 0; filled by CheckpointTopology::build

  bool isSource() const { return inputs.empty(); }
  /// `enrich (2/2)`
  std::string taskName(int32_t subtask) const;
};

/// What stays the same over all checkpoints of a job. Vertices stand in topological order; tasks are numbered 0..taskCount-1 in that
/// order, subtasks of a vertex in a row: the numbering of ExecutionGraph. Immutable once built.
struct CheckpointTopology {
  std::vector<CheckpointVertex> vertices;
  std::vector<int32_t> vertexOfTask;
  std::unordered_map<JobVertexID, int32_t> indexOf;  ///< look-ups only, never iterated

  static std::shared_ptr<const CheckpointTopology> build(std::vector<CheckpointVertex> vertices);
  static std::shared_ptr<const CheckpointTopology> of(const JobGraph& graph);
  int32_t taskCount() const { return static_cast<int32_t>(vertexOfTask.size()); }
  /// The number of the attempt's subtask; -1 if there is no such vertex or subtask.
  int32_t taskOf(const ExecutionAttemptID& attempt) const;
  const CheckpointVertex& vertexOf(int32_t task) const { return vertices[vertexOfTask[task]]; }
  std::string taskName(int32_t task) const { return vertexOf(task).taskName(task - vertexOf(task).firstTask); }
};

/// The current attempt of one subtask.
struct CheckpointExecution {
  ExecutionAttemptID attempt;
  ExecutionState state = ExecutionState::kCreated;
  std::shared_ptr<TaskExecutorGateway> gateway;  ///< null before a slot was assigned
};

/// The view of the executions that checkpoints are planned from.
class CheckpointPlanSource {
 public:
  virtual ~CheckpointPlanSource() = default;
  virtual CheckpointExecution execution(int32_t task) const = 0;
};

/// The registry of state that several checkpoints share (RocksDB's files). Flink: SharedStateRegistry.
class CheckpointSharedState {
 public:
  virtual ~CheckpointSharedState() = default;
  /// `state` names shared state on behalf of checkpoint `id`. For every acknowledgement with state, also a late one; not for savepoints.
  virtual void registerAll(int64_t checkpointId, const TaskStateSnapshot& state) = 0;
  /// Nothing below `lowestRetainedId` is needed any more. Returns what deletes the files, to be run on the I/O actor; may be null.
  virtual std::function<void()> unregisterUnused(int64_t lowestRetainedId) = 0;
};

/// What the coordinator decides about the job. May call back into the coordinator.
struct CheckpointFailureCallback {
  /// The job fails as a whole. Flink: FailJobCallback.failJob.
  std::function<void(std::shared_ptr<const Throwable>)> failJob;
  /// The job fails because of this attempt, if it is still the current one. Flink: failJobDueToTaskFailure.
  std::function<void(std::shared_ptr<const Throwable>, const ExecutionAttemptID&)> failJobDueToTask;
};

}  // namespace weir
