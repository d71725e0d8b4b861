#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/actor_loop.h"
#include "weir/base/world.h"
#include "weir/jobmanager/checkpoint_stats_tracker.h"
#include "weir/jobmanager/reply.h"
#include "weir/jobmanager/scheduler.h"
#include "weir/rpc/gateways.h"

namespace weir {

/// A copy of a job's books at one moment: what REST and the command line print. Flink: ArchivedExecutionGraph.
struct JobSnapshot {
  JobID job;
  std::shared_ptr<const JobGraph> graph;
  JobStatus status = JobStatus::kInitializing;
  std::array<int64_t, 9> statusTimestampsMs{};
  int64_t nowMs = 0;
  std::vector<ExecutionVertex> tasks;  ///< in task order: sources first, subtasks of a vertex in a row
  std::shared_ptr<const Throwable> failure;
  std::vector<ExceptionHistoryEntry> exceptions;  ///< oldest first
  int64_t restarts = 0;
  std::optional<CheckpointStatsSnapshot> checkpoints;  ///< none: the job takes no checkpoints
};

/// How a job ended. Flink: JobResult.
struct JobResult {
  JobStatus status = JobStatus::kInitializing;  ///< terminal, unless the JobMaster itself was killed
  std::shared_ptr<const Throwable> failure;     ///< with kFailed
  std::vector<ExceptionHistoryEntry> exceptions;
  int64_t restarts = 0;
  int64_t runtimeMs = 0;  ///< from RUNNING to the end
};

/// The master of one job: an actor that owns the ExecutionGraph, the scheduler and the checkpoint coordinator.
///
/// Flink: JobMaster. Differs: no resource manager between it and the TaskManagers; who assembles the process names them.
///
/// Threads: every public method from any thread; all but the getters only post a mail. State is touched by the actor alone, without a lock.
/// Life cycle: create, addTaskManager..., start; the actor ends by itself when the job has reached a terminal state and checkpointing has
///   shut down, and done() is set. The actor keeps the JobMaster alive.
/// Errors: a failed job is a result, not an exception.
class JobMaster final : public JobMasterGateway, public std::enable_shared_from_this<JobMaster> {
 public:
  struct Options {
    SchedulerOptions scheduler;
    const Clock* clock = nullptr;  ///< the clock of its process; the executor's own where null
  };
  /// Makes the checkpointing of the job; called once, on the actor, before the job starts. `scheduler` and the JobMaster's loop outlive it.
  using CheckpointingFactory = std::function<std::unique_ptr<CheckpointLifecycle>(JobMaster& master, Scheduler& scheduler)>;

  /// Requires: graph and options are valid. `checkpointing` may be null.
  static std::shared_ptr<JobMaster> create(World world, std::shared_ptr<const JobGraph> graph, JobID job, Options options,
                                           CheckpointingFactory checkpointing = nullptr);
  ~JobMaster() override;

  /// Starts the actor and the job. Once.
  void start();
  void cancel();
  /// Fails the job as a whole, with a restart where the strategy allows it.
  void failGlobally(std::shared_ptr<const Throwable> failure);
  void addTaskManager(TaskManagerSlots taskManager);
  void taskManagerLost(std::string id, std::string why);

  /// A copy of the books as of when the actor gets to it; after the end, of the end.
  std::shared_ptr<Reply<JobSnapshot>> requestSnapshot();
  /// Set when the job and the actor have ended. One waiter.
  Signal& done() { return done_; }
  /// Requires: done.
  const JobResult& result() const;

  /// Runs `request` on the actor with the checkpoint coordinator; with null where the job takes no checkpoints. False, and it never runs,
  /// once the actor has ended.
  bool withCoordinator(std::function<void(CheckpointCoordinator*)> request);

  // JobMasterGateway
  void updateTaskExecutionState(TaskStateUpdate update) override;
  void acknowledgeCheckpoint(AcknowledgeCheckpoint message) override;
  void declineCheckpoint(DeclineCheckpoint message) override;
  void reportCheckpointMetrics(ReportCheckpointMetrics message) override;
  void reportWatermark(ReportWatermark message) override;

  /// For the checkpoint coordinator, which lives on this actor.
  ActorLoop& loop() { return loop_; }
  const World& world() const { return world_; }
  const Clock& clock() const { return clock_; }
  const JobID& job() const { return job_; }

 private:
  JobMaster(World world, std::shared_ptr<const JobGraph> graph, JobID job, Options options, CheckpointingFactory checkpointing);
  void run(ExecutionContext& context);
  void initialize();
  void onTerminal();
  void publish();
  void finish();
  JobSnapshot snapshot() const;
  JobSnapshot finalSnapshot() const;
  void post(const char* what, std::function<void()> body) { loop_.post({what, std::move(body)}); }

  World world_;
  const Clock& clock_;
  std::shared_ptr<const JobGraph> graph_;
  JobID job_;
  Options options_;
  CheckpointingFactory checkpointingFactory_;
  Logger log_;
  ActorLoop loop_;

  // The actor's, from initialize() to finish().
  std::vector<std::string> taskManagers_;
  std::unique_ptr<CheckpointLifecycle> checkpointing_;
  std::unique_ptr<Scheduler> scheduler_;
  WatermarkAligner aligner_;

  mutable Mutex mutex_;
  JobSnapshot final_;  ///< guarded by mutex_
  JobResult result_;   ///< written before done_ is set
  Signal done_{"job master"};
};

}  // namespace weir
