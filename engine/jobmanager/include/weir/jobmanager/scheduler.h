#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/actor_loop.h"
#include "weir/graph/execution_graph.h"
#include "weir/jobmanager/exception_history.h"
#include "weir/jobmanager/lifecycle.h"
#include "weir/jobmanager/restart_strategy.h"
#include "weir/jobmanager/slot_pool.h"

namespace weir {

struct SchedulerOptions {
  RestartStrategyOptions restart;
  SlotSpread spread = SlotSpread::kNone;
  /// How long tasks wait for missing slots before they fail (slot.request.timeout). Zero: slots that are not there now will never be, and
  /// the job fails at once.
  Millis slotRequestTimeout{0};
  size_t exceptionHistorySize = 16;
  size_t attemptsHistorySize = 16;
};

/// Brings the tasks of one job to run and keeps them running: hands out slots, deploys, cancels, and after a failure restarts the pipelined
/// region of the failed task from the latest checkpoint.
///
/// Flink: DefaultScheduler with PipelinedRegionSchedulingStrategy, RestartPipelinedRegionFailoverStrategy and ExecutionFailureHandler.
/// Threads: the JobMaster's; everything it does later (a restart, a time-out) is a mail on `loop`.
/// Life cycle: start() once; onTerminal runs once, as the last thing, when the job has reached a terminal state.
/// Invariants: (1) a task that waits for its restart belongs to exactly one restart, the latest; (2) no attempt starts before the one
/// before
///   it is terminal; (3) a restart begins only when all its tasks are terminal and its pause, counted from the failure, is over.
/// Errors: messages of attempts that are not current, and steps that the state machine does not know, are dropped.
class Scheduler final : private ExecutionGraphListener {
 public:
  struct Environment {
    ActorLoop& loop;
    const Clock& clock;
    LogSink& log;
    uint64_t seed;
  };

  /// Requires: the graph and the options are valid.
  Scheduler(Environment environment, std::shared_ptr<const JobGraph> graph, JobID job, SchedulerOptions options,
            std::function<void()> onTerminal);

  /// Before start(). The lifecycle outlives the scheduler.
  void setCheckpointing(CheckpointLifecycle* lifecycle) { lifecycle_ = lifecycle; }
  /// At any time; tasks that wait for slots are deployed when it brings enough.
  void addTaskManager(TaskManagerSlots taskManager);

  /// Without effect where the job was cancelled before.
  void start();
  /// The user wants the job to end. Ignored where it has ended or is ending this way.
  void cancel();
  /// A TaskManager reports the state of an attempt.
  void updateTaskState(const TaskStateUpdate& update);
  /// A failure that is no task's: all tasks restart, if the strategy lets them. Flink: handleGlobalFailure.
  void failGlobally(const std::shared_ptr<const Throwable>& failure);
  /// The same, if `attempt` still runs: a failure that one task's checkpoint caused.
  void failGloballyIfRunning(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>& failure);
  /// Ends the job without restart.
  void failJob(const std::shared_ptr<const Throwable>& failure);
  /// A TaskManager is gone with everything on it.
  void taskManagerLost(const std::string& id, const std::string& why);

  const ExecutionGraph& graph() const { return graph_; }
  const ExceptionHistory& history() const { return history_; }
  /// Why the job is FAILING or FAILED; else null.
  const std::shared_ptr<const Throwable>& failure() const { return failure_; }
  int64_t restarts() const { return numRestarts_; }
  /// Where the current attempt of a task was sent; null before that and after its TaskManager was lost.
  const std::shared_ptr<TaskExecutorGateway>& gatewayOf(int32_t task) const { return places_[task].gateway; }
  const SlotPool& slots() const { return slots_; }

 private:
  struct Restart {
    std::vector<int32_t> tasks;
    int32_t waiting = 0;  ///< tasks of this restart that are not terminal yet
    bool paused = true;
    ActorLoop::TimerId timer;
  };

  void onTaskState(int32_t task, ExecutionState from, ExecutionState to) override;
  void onJobStatus(JobStatus from, JobStatus to) override;

  void startTasks(const std::vector<int32_t>& tasks);
  void deploy(const std::vector<int32_t>& tasks);
  void waitForSlots(const std::vector<int32_t>& tasks);
  void failForSlots();
  void dropSlotWait();
  bool restore(const std::vector<int32_t>& tasks);

  void cancelTask(int32_t task);
  void cancelAll();
  void handleTaskFailure(int32_t task, const std::shared_ptr<const Throwable>& failure);
  bool mayRestart(const ExecutionVertex* task, const std::shared_ptr<const Throwable>& failure);
  void beginRestart(std::vector<int32_t> tasks);
  void restartIfReady(int64_t id);
  void dropRestarts();
  void checkJobEnd();

  Environment env_;
  Logger log_;
  JobID job_;
  SchedulerOptions options_;
  std::function<void()> onTerminal_;
  std::unique_ptr<RestartStrategy> strategy_;
  ExecutionGraph graph_;
  SlotPool slots_;
  CheckpointLifecycle* lifecycle_ = nullptr;

  std::vector<Slot> places_;          ///< by task: where its current attempt was sent
  std::vector<int64_t> restartOf_;    ///< by task: the restart that it waits for; 0: none
  std::map<int64_t, Restart> restarts_;
  int64_t lastRestart_ = 0;
  std::vector<ExecutionAttemptID> slotless_;  ///< attempts that wait for slots
  ActorLoop::TimerId slotTimer_;
  std::shared_ptr<const Throwable> failure_;
  ExceptionHistory history_;
  int64_t numRestarts_ = 0;
  bool ended_ = false;
};

}  // namespace weir
