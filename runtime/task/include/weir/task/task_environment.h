#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/backend/operator_state_backend.h"
#include "weir/base/world.h"
#include "weir/exchange/result_partition.h"
#include "weir/exchange/union_input_gate.h"
#include "weir/snapshot/checkpoint_responder.h"
#include "weir/snapshot/checkpoint_storage.h"

namespace weir {

/// Actors that run the asynchronous parts of snapshots. Any thread. Flink: the async operations pool of a task.
class SnapshotWorkers {
 public:
  virtual void submit(std::function<void(ExecutionContext&)> work) = 0;

 protected:
  ~SnapshotWorkers() = default;
};

/// The part of a job's configuration that its tasks need.
struct TaskSettings {
  bool checkpointingEnabled = false;
  bool exactlyOnce = true;
  bool checkpointsAfterTasksFinish = true;
  int maxConcurrentCheckpoints = 1;
};

/// Everything one attempt runs with; filled by the TaskExecutor, owned by the Task. Flink: Environment.
struct TaskEnvironment {
  World& world;
  CheckpointResponder& responder;
  SnapshotWorkers& snapshotWorkers;
  std::shared_ptr<CheckpointWorkerStorage> storage;  ///< null where checkpointing is off
  std::function<std::unique_ptr<OperatorStateBackend>()> createOperatorState;
  TaskSettings settings;

  JobID job;
  std::string jobName;
  ExecutionAttemptID attempt;
  std::string vertexName;
  int32_t parallelism = 1;
  int32_t maxParallelism = 128;
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  std::vector<std::unique_ptr<SingleInputGate>> gates;
  int64_t restoreCheckpointId = 0;  ///< 0: nothing to restore
  std::shared_ptr<const TaskStateSnapshot> restore;

  int32_t subtask() const { return attempt.subtask; }
  /// `enrich (2/2)`
  std::string taskNameWithSubtask() const {
    return vertexName + " (" + std::to_string(attempt.subtask + 1) + "/" + std::to_string(parallelism) + ")";
  }
  /// `enrich (2/2)#0`
  std::string taskName() const { return taskNameWithSubtask() + "#" + std::to_string(attempt.attempt); }
};

}  // namespace weir
