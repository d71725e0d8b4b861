#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/api/job_options.h"
#include "weir/metrics/trace_file.h"
#include "weir/taskmanager/task_executor.h"

namespace weir {

/// What a test may set beyond what a configuration allows.
struct MiniClusterOptions {
  uint32_t segmentSize = 0;     ///< bytes of a network buffer; 0: taskmanager.memory.segment-size
  int32_t networkSegments = 0;  ///< of each TaskManager; 0: as the network memory's size says
  /// What JobMasters talk to instead of the TaskManager itself: to lose messages or to delay them.
  std::function<std::shared_ptr<TaskExecutorGateway>(std::shared_ptr<TaskExecutor>)> gatewayTo;
  /// Takes the way of every barrier, instead of the file that weir.trace.path names: without an actor of its own.
  std::shared_ptr<BarrierTrace> trace{};
  /// What connects the TaskManagers; null: memory, with delays drawn from the seed under simulation.
  std::shared_ptr<Transport> transport{};
};

/// A JobMaster per job and its TaskManagers in one process, on one executor.
///
/// Flink: MiniCluster. Threads: used by one actor or outside thread; the parts are actors of their own.
/// Life: start, submit, stop; the world outlives it.
class MiniCluster {
 public:
  /// As many TaskManagers as minicluster.number-of-taskmanagers says. Slots: taskmanager.numberOfTaskSlots where it is set, else as many as
  /// `slotsNeeded` asks for, spread evenly.
  static Result<std::unique_ptr<MiniCluster>> start(World world, const Configuration& configuration, int32_t slotsNeeded,
                                                    MiniClusterOptions options = MiniClusterOptions());
  ~MiniCluster();

  /// Opens the job's checkpoint storage, loads what it starts from, and starts it. Mistakes of the configuration are errors.
  Result<std::shared_ptr<JobMaster>> submit(std::shared_ptr<const JobGraph> graph, const Configuration& configuration);
  /// Makes the current attempt of the task fail that runs subtask `subtask` of an operator, as if its code had thrown `cause`. False if
  /// none runs.
  bool failSubtask(ExecutionContext& context, const std::string& operatorName, int32_t subtask, std::shared_ptr<const Throwable> cause);
  const std::vector<std::shared_ptr<TaskExecutor>>& taskManagers() const { return taskManagers_; }
  /// The tasks that run now.
  std::vector<std::shared_ptr<Task>> runningTasks(ExecutionContext& context);
  /// Ends the TaskManagers and waits for them. Jobs that still run are cancelled.
  void stop(ExecutionContext& context);

 private:
  explicit MiniCluster(World world) : world_(world) {}
  Result<void> openTrace(const Configuration& configuration);

  World world_;
  MiniClusterOptions options_;
  std::shared_ptr<BarrierTrace> trace_;  ///< null without weir.trace.path
  std::unique_ptr<BarrierTraceWriter> traceWriter_;
  std::vector<std::shared_ptr<TaskExecutor>> taskManagers_;
  int32_t slotsPerTaskManager_ = 1;
  std::vector<std::shared_ptr<JobMaster>> jobs_;
};

}  // namespace weir
