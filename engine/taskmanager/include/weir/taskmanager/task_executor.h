#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/actor_loop.h"
#include "weir/base/world.h"
#include "weir/graph/job_graph.h"
#include "weir/jobmanager/reply.h"
#include "weir/rpc/gateways.h"
#include "weir/task/task.h"
#include "weir/taskmanager/shuffle_task_network.h"
#include "weir/taskmanager/output_flusher.h"
#include "weir/taskmanager/snapshot_worker_pool.h"

namespace weir {

struct TaskExecutorOptions {
  std::string id = "tm1";
  std::string location = "tm1 @ localhost (dataPort=0)";  ///< as logs print it
  int32_t networkSegments = 2048;
  uint32_t segmentSize = NetworkBufferPool::kDefaultSegmentSize;
  TaskNetworkOptions network;
  int snapshotWorkers = 4;
  Millis cancellationInterval{30'000};  ///< task.cancellation.interval: how often a task that does not react is logged
  Millis cancellationTimeout{180'000};  ///< task.cancellation.timeout: after that the TaskManager ends; zero: never
  const Clock* clock = nullptr;         ///< the clock of its process; the executor's own where null
  std::string process;                  ///< of its actors, for Executor::kill
  std::shared_ptr<BarrierTrace> trace;  ///< of all its tasks; null: none
  /// The process cannot go on. Where there is none, it says why and ends with exit code 3.
  std::function<void(const std::string& why)> onFatalError;
};

/// What a TaskManager knows of a job whose tasks it runs. Flink: JobTable's connection, JobInformation.
struct JobConnection {
  JobID job;
  std::shared_ptr<const JobGraph> graph;  ///< rebuilt here, or shared inside a process
  std::shared_ptr<JobMasterGateway> jobMaster;
  TaskSettings settings;
  std::shared_ptr<CheckpointWorkerStorage> storage;  ///< null where checkpointing is off
  std::function<std::unique_ptr<OperatorStateBackend>()> createOperatorState;
  /// Makes what stores the in-flight data of one task; empty where no checkpoint can be unaligned.
  std::function<std::shared_ptr<ChannelStateWriter>(const TaskEnvironment&)> createChannelStateWriter{};
  ChannelStateOpener openChannelState{};
};

/// A TaskManager: runs the tasks that JobMasters deploy, hands them their messages, and reports what becomes of them.
///
/// Flink: TaskExecutor. Differs: slots are counted by the JobMaster alone.
///
/// Threads: every public method from any thread; all but the getters only post a mail. Its books are touched by its actor alone. Tasks are
/// actors of their own and report through mails.
/// Life cycle: create, start, connectJob before the first deployment of a job, stop. The actor and every task keep it alive.
/// Errors: a deployment that cannot be carried out is reported as FAILED. A task that does not end after it was cancelled ends the process.
class TaskExecutor final : public TaskExecutorGateway, private TaskStateListener, public std::enable_shared_from_this<TaskExecutor> {
 public:
  /// `transport` connects it with the others by their ids. An error where there is no network memory.
  static Result<std::shared_ptr<TaskExecutor>> create(World world, TaskExecutorOptions options, std::shared_ptr<Transport> transport);
  ~TaskExecutor() override;

  /// An error where another TaskManager has its id.
  Result<void> start();
  /// Cancels what still runs, closes its connections and ends; done() is set then.
  void stop();
  Signal& done() { return done_; }
  void connectJob(JobConnection job);
  void disconnectJob(const JobID& job);

  // TaskExecutorGateway
  void submitTask(TaskDeployment deployment) override;
  void cancelTask(const ExecutionAttemptID& attempt) override;
  /// The attempt fails for a reason from outside its code, as if it had thrown `cause`. Without effect if it does not run here.
  void failTask(const ExecutionAttemptID& attempt, std::shared_ptr<const Throwable> cause);
  void triggerCheckpoint(TriggerCheckpoint message) override;
  void confirmCheckpoint(NotifyCheckpointComplete message) override;
  void abortCheckpoint(NotifyCheckpointAborted message) override;
  void announceAlignment(AnnounceAlignment message) override;
  const std::string& location() const override { return options_.location; }

  /// The tasks that run now, by attempt: for gauges. After the end: none.
  std::shared_ptr<Reply<std::vector<std::shared_ptr<Task>>>> requestTasks();
  /// Of the TaskManager itself, by Flink's names.
  const MetricGroup& metrics() const { return metrics_; }
  const std::string& id() const { return options_.id; }
  const std::shared_ptr<NetworkBufferPool>& networkBuffers() const { return buffers_; }
  const std::shared_ptr<PartitionBoard>& partitions() const { return board_; }

 private:
  class Responder;
  struct Job {
    JobConnection connection;
    uint64_t graphHash = 0;
    std::shared_ptr<Responder> responder;
  };
  struct Running {
    std::shared_ptr<Task> task;
    std::shared_ptr<Actor> actor;
    JobID job;
    Nanos cancelledAt{-1};
    ActorLoop::TimerId watch;
  };

  TaskExecutor(World world, TaskExecutorOptions options, std::shared_ptr<Transport> transport, std::shared_ptr<NetworkBufferPool> buffers);
  void run(ExecutionContext& context);
  bool post(const char* what, std::function<void()> body) { return loop_.post({what, std::move(body)}); }
  ActorOptions actorOptions(std::string name) const;

  void onTaskState(const ExecutionAttemptID& attempt, ExecutionState state, std::shared_ptr<const Throwable> failure) override;
  void reportState(const ExecutionAttemptID& attempt, ExecutionState state, std::shared_ptr<const Throwable> failure);
  void unregister(std::map<ExecutionAttemptID, Running>::iterator running);


  void deploy(TaskDeployment deployment);
  std::string refusal(const Job& job, const TaskDeployment& deployment) const;
  std::shared_ptr<Task> makeTask(const Job& job, TaskDeployment deployment);
  void cancel(const ExecutionAttemptID& attempt);
  void cancelRunning(Running& running);
  void watchCancellation(const ExecutionAttemptID& attempt);
  void fatal(const std::string& why);
  /// Moves the meters of all tasks on, and comes again. Flink: ViewUpdater.
  void updateMeters();
  void stopWhenIdle();

  World world_;
  const TaskExecutorOptions options_;
  const Clock& clock_;
  Logger log_, taskLog_;
  const std::shared_ptr<PartitionBoard> board_;
  const std::shared_ptr<NetworkBufferPool> buffers_;
  const std::shared_ptr<ConnectionManager> connections_;
  const std::shared_ptr<OutputFlusher> flusher_;
  const std::shared_ptr<SnapshotWorkerPool> snapshots_;
  MetricGroup metrics_;
  ActorLoop loop_;

  // The actor's.
  std::map<JobID, Job> jobs_;
  std::map<ExecutionAttemptID, Running> tasks_;
  /// Snapshots may be written after their job was disconnected: who they answer to stays.
  std::vector<std::shared_ptr<Responder>> responders_;
  bool stopping_ = false, disconnecting_ = false;
  Signal done_{"task executor"};
};

}  // namespace weir
