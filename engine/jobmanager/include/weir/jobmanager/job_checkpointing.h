#pragma once

#include <optional>

#include "weir/base/actor_loop.h"
#include "weir/jobmanager/checkpoint_coordinator.h"
#include "weir/jobmanager/checkpoint_coordinator_deactivator.h"
#include "weir/jobmanager/job_master.h"
#include "weir/jobmanager/lifecycle.h"

namespace weir {

/// A checkpoint or savepoint that a job starts from, read before the job master is made.
struct InitialCheckpoint {
  std::string path;
  int64_t checkpointId = 0;
  std::vector<OperatorState> operators;
  RestoreMode mode = RestoreMode::kNoClaim;
  bool allowNonRestoredState = false;
};

struct JobCheckpointingOptions {
  CheckpointCoordinatorConfiguration configuration;
  std::shared_ptr<CheckpointCoordinatorStorage> storage;
  std::shared_ptr<CheckpointSharedState> sharedState;  ///< may be null
  std::optional<InitialCheckpoint> initial;
  std::shared_ptr<BarrierTracer> trace{};  ///< null: none
};

/// The checkpoint coordinator of a running job: its timers are mails of the JobMaster, its I/O runs on an actor of its own, and what it
/// decides about the job comes back to the scheduler as a mail.
///
/// Threads: the JobMaster's actor, but for the I/O. Life cycle: made by the factory below, gone with the JobMaster.
class JobCheckpointing final : public CheckpointLifecycle {
 public:
  JobCheckpointing(JobMaster& master, Scheduler& scheduler, JobCheckpointingOptions options);
  ~JobCheckpointing() override;
  /// For JobMaster::create. Requires: the configuration is valid.
  static JobMaster::CheckpointingFactory factory(JobCheckpointingOptions options);

  void onTaskState(int32_t task, ExecutionState from, ExecutionState to) override;
  void onTaskLost(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>& cause) override;
  void onJobStatus(JobStatus from, JobStatus to) override;
  Result<std::vector<RestoredTask>> restoreFor(std::span<const int32_t> tasks) override;
  void acknowledgeCheckpoint(AcknowledgeCheckpoint message) override { coordinator_.receiveAcknowledgeMessage(message); }
  void declineCheckpoint(DeclineCheckpoint message) override { coordinator_.receiveDeclineMessage(message); }
  void reportCheckpointMetrics(ReportCheckpointMetrics message) override { coordinator_.reportCheckpointMetrics(message); }
  void shutdown(JobStatus status, std::function<void()> done) override;
  CheckpointCoordinator* coordinator() override { return &coordinator_; }

 private:
  class Timer;
  class Io;
  class Executions;
  Result<std::vector<RestoredTask>> assign(const CompletedCheckpoint& checkpoint, std::span<const int32_t> tasks) const;

  Scheduler& scheduler_;
  std::optional<InitialCheckpoint> initial_;
  bool allowNonRestoredState_;
  std::shared_ptr<const CheckpointTopology> topology_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<Io> io_;
  std::unique_ptr<Executions> executions_;
  CheckpointCoordinator coordinator_;
  CheckpointCoordinatorDeActivator deactivator_;
};

}  // namespace weir
