#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/base/random.h"
#include "weir/jobmanager/checkpoint_coordinator_configuration.h"
#include "weir/jobmanager/checkpoint_environment.h"
#include "weir/jobmanager/checkpoint_failure_manager.h"
#include "weir/jobmanager/checkpoint_plan.h"
#include "weir/jobmanager/checkpoint_request_decider.h"
#include "weir/jobmanager/checkpoint_stats_tracker.h"
#include "weir/jobmanager/completed_checkpoint_store.h"
#include "weir/jobmanager/pending_checkpoint.h"
#include "weir/metrics/barrier_trace.h"
#include "weir/rpc/messages.h"
#include "weir/snapshot/checkpoint_storage.h"

namespace weir {

/// How much a savepoint that a job starts from is ours. Flink: RecoveryClaimMode.
enum class RestoreMode { kClaim, kNoClaim };

/// Triggers checkpoints, collects what tasks acknowledge, writes `_metadata` and tells the tasks; keeps what a restart needs.
///
/// Flink: CheckpointCoordinator. Differs: no locks and no operator coordinators; a checkpoint that is being completed may still be aborted
/// by a stop, a failover or a decline (then its `_metadata` is deleted and no task hears of its completion), while its expiry no longer
/// counts, as in Flink.
///
/// Threads: the JobMaster's actor alone. Blocking calls run through CheckpointIo and come back as mails. Callbacks run inside the calls
/// and may call back. May be destroyed at any time: mails that come back later do nothing.
/// Invariants: (1) tasks are told of a completion only after its `_metadata` is durable and all planned attempts have acknowledged;
///   (2) pending checkpoints <= max-concurrent, forced savepoints aside; (3) ids grow, also over restarts; (4) an aborted checkpoint
///   leaves no file.
class CheckpointCoordinator {
 public:
  struct Dependencies {
    LogSink& log;
    const Clock& clock;
    Random random;
    CheckpointTimer& timer;
    CheckpointIo& io;
    std::shared_ptr<CheckpointCoordinatorStorage> storage;
    std::shared_ptr<const CheckpointTopology> topology;
    const CheckpointPlanSource& executions;
    CheckpointFailureCallback failure;
    std::shared_ptr<CheckpointSharedState> sharedState;  ///< null: nothing is shared
    std::shared_ptr<BarrierTracer> trace{};              ///< null: none
  };

  /// Requires: a valid configuration; the references outlive this.
  CheckpointCoordinator(JobID job, CheckpointCoordinatorConfiguration configuration, Dependencies dependencies);
  ~CheckpointCoordinator();
  CheckpointCoordinator(const CheckpointCoordinator&) = delete;
  CheckpointCoordinator& operator=(const CheckpointCoordinator&) = delete;

  // --- the schedule of periodic checkpoints
  bool isPeriodicCheckpointingConfigured() const { return config_.isPeriodic(); }
  bool isPeriodicCheckpointingStarted() const { return periodicScheduling_; }
  /// A start while on is a stop, then a start: it aborts what is pending.
  void startCheckpointScheduler();
  /// Aborts what is pending and queued with CHECKPOINT_COORDINATOR_SUSPEND.
  void stopCheckpointScheduler();
  /// A source has begun, or ended, to work off a backlog.
  void setIsProcessingBacklog(const OperatorID& source, bool backlog);

  // --- on demand
  /// REST's CONFIGURED or FULL.
  void triggerCheckpoint(SnapshotType type, CheckpointCallback done);
  /// An empty directory: the configured one.
  void triggerSavepoint(const std::string& directory, SavepointFormat format, CheckpointCallback done);
  /// Stops the schedule, then takes a synchronous savepoint whose tasks finish after it; `drain`: with a last watermark. If it fails the
  /// schedule is started again.
  void triggerStopWithSavepoint(const std::string& directory, SavepointFormat format, bool drain, CheckpointCallback done);

  // --- messages of tasks
  void receiveAcknowledgeMessage(const AcknowledgeCheckpoint& message);
  void receiveDeclineMessage(const DeclineCheckpoint& message);
  void reportCheckpointMetrics(const ReportCheckpointMetrics& message);

  // --- failover
  void abortPendingCheckpoints(CheckpointFailureReason reason);
  /// The attempt is gone without having said so itself (lost TaskManager): what waits for it fails with TASK_FAILURE.
  void failUnacknowledgedPendingCheckpointsFor(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>& cause);
  /// What the job restarts from: the newest completed checkpoint; null: none, it starts anew. Pending ones are aborted first with
  /// JOB_FAILOVER_REGION. The result is pinned by being shared.
  std::shared_ptr<const CompletedCheckpoint> restoreLatest();
  /// Starts the job from a checkpoint or savepoint that was loaded from `path`; the next id is its id + 1.
  std::shared_ptr<const CompletedCheckpoint> restoreFrom(const std::string& path, int64_t checkpointId,
                                                         std::vector<OperatorState> operators, RestoreMode mode,
                                                         bool allowNonRestoredState);

  /// The job has ended: aborts all, deletes completed checkpoints as the retention says, then calls `cleaned` (may be null). Nothing is
  /// triggered any more.
  void shutdown(JobEnd end, std::function<void()> cleaned = nullptr);

  const CheckpointCoordinatorConfiguration& configuration() const { return config_; }
  CheckpointStatsTracker& stats() { return stats_; }
  const CompletedCheckpointStore& completedCheckpoints() const { return store_; }
  int32_t pendingCheckpoints() const { return static_cast<int32_t>(pending_.size()); }
  size_t queuedRequests() const { return decider_.queued(); }
  int32_t checkpointsBeingCleaned() const { return cleaning_; }
  int32_t consecutiveFailures() const { return failures_.consecutiveFailures(); }

 private:
  using PendingPtr = std::shared_ptr<PendingCheckpoint>;
  using ExceptionPtr = std::shared_ptr<const CheckpointException>;
  class Entry;  // marks a public call: queued requests are looked at when the outermost one ends

  // checkpoint_coordinator.cc: schedule and requests
  Millis currentInterval() const;
  void scheduleTrigger(Nanos delay);
  void armTrigger(Nanos at);
  void onTriggerTimer();
  void cancelTrigger();
  void submit(CheckpointTriggerRequest request);
  void pump();
  void startSavepoint(SnapshotType type, const std::string& directory, SavepointFormat format, CheckpointCallback done);

  // checkpoint_coordinator_trigger.cc
  void startTriggering(CheckpointTriggerRequest request);
  std::optional<CheckpointFailureReason> preCheck(const CheckpointTriggerRequest& request) const;
  void onTriggerFailure(const CheckpointTriggerRequest& request, const ExceptionPtr& why, bool permanent);
  PendingPtr createPending(CheckpointTriggerRequest request, CheckpointPlan plan);
  void makeLocation(const PendingPtr& checkpoint);
  void onLocation(const PendingPtr& checkpoint, const std::optional<Error>& error);
  void triggerTasks(const PendingPtr& checkpoint);

  // checkpoint_coordinator_complete.cc
  struct Finalization;
  void maybeComplete(const PendingPtr& checkpoint);
  void onFinalized(const PendingPtr& checkpoint, const std::shared_ptr<Finalization>& result);
  void onCompleted(const PendingPtr& checkpoint, const std::shared_ptr<const CompletedCheckpoint>& completed);
  /// Returns the id to be told to the tasks as subsumed; -1: none.
  int64_t retain(const std::shared_ptr<const CompletedCheckpoint>& completed);
  void sendCompleted(const PendingCheckpoint& checkpoint, int64_t subsumedId);

  // checkpoint_coordinator_abort.cc
  PendingPtr findPending(int64_t id) const;
  void removePending(int64_t id);
  void expire(int64_t id);
  void abort(const PendingPtr& checkpoint, const ExceptionPtr& why, const std::optional<ExecutionAttemptID>& task = std::nullopt);
  void abortAll(const ExceptionPtr& why, const std::function<bool(const PendingCheckpoint&)>& which);
  void rememberExpired(int64_t id);
  bool hasExpired(int64_t id) const;
  void discardAborted(const PendingPtr& checkpoint);
  void discardCompleted(const std::shared_ptr<const CompletedCheckpoint>& checkpoint);
  /// The files of an acknowledgement that came in vain; `goneCheckpoint`: its folder is garbage as a whole.
  void discardState(const std::shared_ptr<const TaskStateSnapshot>& state, std::optional<int64_t> goneCheckpoint);
  void discardUnusedSharedState();
  /// Runs `work` on the I/O actor as a cleaning: while too many run no checkpoint is triggered.
  void clean(std::function<Result<void>()> work, int64_t checkpointId, std::function<void()> then = nullptr);
  void maybeCleaned();

  // checkpoint_coordinator_messages.cc, checkpoint_coordinator_restore.cc
  void onLateAcknowledgement(const AcknowledgeCheckpoint& message);
  void announceRestore(const CompletedCheckpoint& checkpoint);
  std::string locationOf(const ExecutionAttemptID& attempt) const;
  /// `done` only if this still exists.
  void runIo(std::function<void()> work, std::function<void()> done);

  const JobID job_;
  const std::string jobText_;
  const CheckpointCoordinatorConfiguration config_;
  Logger logger_;
  const Clock& clock_;
  Random random_;
  CheckpointTimer& timer_;
  CheckpointIo& io_;
  const std::shared_ptr<CheckpointCoordinatorStorage> storage_;
  const std::shared_ptr<const CheckpointTopology> topology_;
  const CheckpointPlanSource& executions_;
  const std::shared_ptr<CheckpointSharedState> sharedState_;
  const std::shared_ptr<BarrierTracer> trace_;

  CheckpointStatsTracker stats_;
  CheckpointFailureManager failures_;
  CompletedCheckpointStore store_;
  CheckpointRequestDecider decider_;
  CheckpointPlanCalculator planner_;

  std::vector<PendingPtr> pending_;    ///< by id; few
  std::deque<int64_t> recentExpired_;  ///< newest last, at most 16
  std::set<int64_t> savepoints_;       ///< completed ones: a repeated acknowledgement must not delete their files
  int64_t firstId_ = 1, nextId_ = 1;   ///< [firstId_, nextId_) were given out here
  std::optional<Nanos> lastCompletion_;
  int32_t cleaning_ = 0;
  int32_t runningIo_ = 0;
  std::function<void()> cleaned_;  ///< after shutdown: called when no I/O runs, which may be making the folder of an aborted checkpoint
  bool triggering_ = false;
  bool shutdown_ = false;
  bool forceFull_ = false;  ///< restored without a claim: full snapshots until one completes

  bool periodicScheduling_ = false;
  bool startedBefore_ = false;  ///< only the very first start has a random delay
  Nanos nextTriggerAt_{};
  CheckpointTimer::Id trigger_ = CheckpointTimer::kNone;
  std::set<OperatorID> backlogSources_;

  int entryDepth_ = 0;
  bool pumpWanted_ = false;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace weir
