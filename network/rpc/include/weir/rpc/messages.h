#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/task/execution_state.h"
#include "weir/snapshot/checkpoint_failure.h"
#include "weir/snapshot/checkpoint_metrics.h"
#include "weir/snapshot/checkpoint_options.h"
#include "weir/snapshot/state_handles.h"
#include "weir/time/watermark_alignment.h"

namespace weir {

/// What JobManager and TaskManagers say to each other. Values: inside a process they travel as mails, between processes as flatbuffers.

/// One partition that a task produces. Flink: ResultPartitionDeploymentDescriptor.
struct ResultPartitionDeployment {
  PartitionID partition;
  int32_t subpartitions = 1;
};

/// One gate of a task: which partitions it reads, channel by channel. Flink: InputGateDeploymentDescriptor.
struct InputGateDeployment {
  IntermediateDataSetID dataSet;
  /// Producer of each channel, in channel order. Shared: all consumers of an all-to-all edge read the same partitions.
  std::shared_ptr<const std::vector<ResultPartitionID>> channels;
  int32_t subpartition = 0;                 ///< which subpartition of each of them
  /// The TaskManager of each producer, by id; shared as the channels are. Null: they run where the consumer does. Flink: ShuffleDescriptor.
  std::shared_ptr<const std::vector<std::string>> taskManagers{};
};

/// Everything a TaskManager needs to run one attempt, besides the job graph, which every process rebuilds from the job's entry point and
/// checks by its hash. Flink: TaskDeploymentDescriptor.
struct TaskDeployment {
  JobID job;
  std::string jobName;
  uint64_t graphHash = 0;
  ExecutionAttemptID attempt;
  std::string vertexName;  ///< `enrich`; the task prints as `enrich (2/2)#0`
  int32_t parallelism = 1;
  int32_t maxParallelism = 128;
  AllocationID allocation;
  std::vector<ResultPartitionDeployment> outputs;
  std::vector<InputGateDeployment> inputs;
  int64_t restoreCheckpointId = 0;                   ///< 0: nothing to restore
  std::shared_ptr<const TaskStateSnapshot> restore;  ///< null: nothing to restore
};

/// Flink: TaskExecutionState.
struct TaskStateUpdate {
  ExecutionAttemptID attempt;
  ExecutionState state = ExecutionState::kCreated;
  std::shared_ptr<const Throwable> failure;  ///< with kFailed
};

struct TriggerCheckpoint {
  ExecutionAttemptID attempt;
  CheckpointMetaData checkpoint;
  CheckpointOptions options;
};

struct NotifyCheckpointComplete {
  ExecutionAttemptID attempt;
  CheckpointMetaData checkpoint;
  int64_t subsumedCheckpointId = -1;  ///< -1: none
};

struct NotifyCheckpointAborted {
  ExecutionAttemptID attempt;
  CheckpointMetaData checkpoint;
  int64_t latestCompletedCheckpointId = 0;  ///< 0: none
};

struct AcknowledgeCheckpoint {
  ExecutionAttemptID attempt;
  int64_t checkpointId = 0;
  CheckpointMetrics metrics;
  std::shared_ptr<const TaskStateSnapshot> state;  ///< null: stateless
};

struct DeclineCheckpoint {
  ExecutionAttemptID attempt;
  int64_t checkpointId = 0;
  std::shared_ptr<const CheckpointException> reason;
};

struct ReportCheckpointMetrics {
  ExecutionAttemptID attempt;
  int64_t checkpointId = 0;
  CheckpointMetrics metrics;
};

/// Flink: ReportedWatermarkEvent.
struct ReportWatermark {
  ExecutionAttemptID attempt;
  WatermarkReport report;
};

/// Flink: WatermarkAlignmentEvent.
struct AnnounceAlignment {
  ExecutionAttemptID attempt;
  int64_t maxAllowed = kMaxWatermark;
};

}  // namespace weir
