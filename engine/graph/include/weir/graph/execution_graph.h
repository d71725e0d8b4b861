#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/log.h"
#include "weir/graph/job_graph.h"
#include "weir/graph/job_status.h"
#include "weir/rpc/messages.h"

namespace weir {

/// One attempt to run one subtask. Flink: Execution.
struct Execution {
  ExecutionAttemptID id;
  ExecutionState state = ExecutionState::kCreated;
  std::array<int64_t, 9> timestampsMs{};       ///< when each state was entered, epoch milliseconds; 0: never
  std::shared_ptr<const Throwable> failure;    ///< with kFailed
  std::string location;                        ///< `tm1 @ localhost (dataPort=43433)`; empty before a slot was assigned
  std::string taskManager;                     ///< `tm1`
  AllocationID allocation;
  int64_t restoreCheckpointId = 0;             ///< 0: nothing was restored
  std::shared_ptr<const TaskStateSnapshot> restore;

  int64_t timestampMs(ExecutionState s) const { return timestampsMs[static_cast<size_t>(s)]; }
};

/// One subtask with its current attempt and the latest of its earlier ones. Flink: ExecutionVertex.
struct ExecutionVertex {
  int32_t vertex = 0;  ///< index in the job graph
  int32_t subtask = 0;
  int32_t region = 0;
  std::string name;  ///< `enrich (2/2)`
  Execution current;
  std::deque<Execution> prior;  ///< oldest first, bounded
};

/// Told of every transition after it was made and logged, on the owner's actor.
class ExecutionGraphListener {
 public:
  virtual void onTaskState(int32_t task, ExecutionState from, ExecutionState to) = 0;
  virtual void onJobStatus(JobStatus from, JobStatus to) = 0;

 protected:
  ~ExecutionGraphListener() = default;
};

/// The job while it runs: every subtask with its attempts, their states and the state of the whole. It keeps the books and writes the log
/// lines; what should happen is decided by the scheduler.
///
/// Flink: DefaultExecutionGraph with Execution and ExecutionVertex. Tasks are numbered 0..taskCount()-1 in topological order of their
/// vertices, subtasks of a vertex in a row; loops in task order go from sources to sinks.
///
/// Threads: one, the JobMaster's. Invariants: (1) countIn(s) is the number of current attempts in s; (2) attempts of one subtask are
/// numbered without a gap; (3) no state follows a terminal one. Errors: none; an illegal job transition is a bug.
class ExecutionGraph {
 public:
  /// Requires: the graph is valid.
  ExecutionGraph(std::shared_ptr<const JobGraph> graph, JobID job, ExecutionGraphID id, LogSink& log, const Clock& clock,
                 size_t maxPriorAttempts = 16);

  const JobGraph& graph() const { return *graph_; }
  const JobID& job() const { return job_; }
  const ExecutionGraphID& id() const { return id_; }
  void setListener(ExecutionGraphListener* listener) { listener_ = listener; }

  int32_t taskCount() const { return static_cast<int32_t>(tasks_.size()); }
  const ExecutionVertex& task(int32_t task) const { return tasks_[task]; }
  int32_t taskOf(int32_t vertex, int32_t subtask) const { return firstTask_[vertex] + subtask; }
  const JobVertex& vertexOf(int32_t task) const { return graph_->vertex(tasks_[task].vertex); }
  /// The task whose current attempt this is; -1 for unknown attempts and stale ones.
  int32_t find(const ExecutionAttemptID& attempt) const;
  int32_t countIn(ExecutionState state) const { return counts_[static_cast<size_t>(state)]; }
  bool allTerminal() const;
  bool allFinished() const { return countIn(ExecutionState::kFinished) == taskCount(); }

  /// Tasks that restart together, in task order: what is connected by pipelined edges. Flink: SchedulingPipelinedRegion.
  std::span<const int32_t> region(int32_t region) const;
  int32_t regionCount() const { return static_cast<int32_t>(regionStart_.size()) - 1; }

  /// Moves the current attempt to `to`, logs and notifies. False, without effect, where the state machine has no such step: a late or
  /// repeated message.
  bool transition(int32_t task, ExecutionState to, std::shared_ptr<const Throwable> failure = nullptr);
  void assignSlot(int32_t task, const AllocationID& allocation, std::string location, std::string taskManager = "");
  void assignRestore(int32_t task, int64_t checkpointId, std::shared_ptr<const TaskStateSnapshot> state);
  /// The next attempt of the task, in CREATED. Requires: the current one is terminal.
  void startNextAttempt(int32_t task);
  /// What the TaskManager needs to run the current attempt. Requires: the producers of its inputs have their slots.
  TaskDeployment deploymentOf(int32_t task);

  JobStatus status() const { return status_; }
  int64_t statusTimestampMs(JobStatus s) const { return statusTimestampsMs_[static_cast<size_t>(s)]; }
  /// Requires: a legal step from the current one.
  void switchJob(JobStatus to, const std::shared_ptr<const Throwable>& failure = nullptr);

 private:
  void buildTasks();
  void buildRegions();
  std::vector<ResultPartitionDeployment> outputsOf(const ExecutionVertex& task) const;
  InputGateDeployment gateOf(const ExecutionVertex& task, int32_t dataSet);
  ResultPartitionID partitionOf(const IntermediateDataSet& set, int32_t producerSubtask) const;
  void logTransition(const ExecutionVertex& task, ExecutionState from, const std::shared_ptr<const Throwable>& failure) const;

  std::shared_ptr<const JobGraph> graph_;
  uint64_t graphHash_;
  JobID job_;
  ExecutionGraphID id_;
  Logger log_;
  const Clock& clock_;
  size_t maxPriorAttempts_;
  ExecutionGraphListener* listener_ = nullptr;

  std::vector<ExecutionVertex> tasks_;
  std::vector<int32_t> firstTask_;                   ///< by vertex
  std::vector<int32_t> regionStart_, regionTasks_;   ///< tasks of region r: regionTasks_[regionStart_[r] .. regionStart_[r + 1])
  std::array<int32_t, 9> counts_{};
  JobStatus status_ = JobStatus::kCreated;
  std::array<int64_t, 9> statusTimestampsMs_{};
  /// Who produces for a gate, channel by channel, and where.
  struct Producers {
    std::shared_ptr<const std::vector<ResultPartitionID>> partitions;
    std::shared_ptr<const std::vector<std::string>> taskManagers;
  };
  Producers producersOf(const IntermediateDataSet& set, int32_t first, int32_t count) const;
  /// By data set: all producers of an all-to-all edge as the consumers' channels, shared by them all. Null after a producer restarted.
  std::vector<Producers> allProducers_;
};

}  // namespace weir
