#include "weir/jobmanager/checkpoint_coordinator.h"

#include <algorithm>

#include "checkpoint_coordinator_entry.h"
#include "weir/base/check.h"

namespace weir {

CheckpointCoordinator::CheckpointCoordinator(JobID job, CheckpointCoordinatorConfiguration configuration, Dependencies with)
    : job_(job), jobText_(job.toString()), config_(std::move(configuration)),
      logger_(with.log, "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"), clock_(with.clock), random_(with.random),
      timer_(with.timer), io_(with.io), storage_(std::move(with.storage)), topology_(std::move(with.topology)),
      executions_(with.executions), sharedState_(std::move(with.sharedState)), trace_(std::move(with.trace)),
      stats_(clock_, topology_, config_.historySize), failures_(with.log, job, config_.tolerableFailedCheckpoints, std::move(with.failure)),
      store_(with.log, config_.numRetained), decider_(with.log, clock_, config_.maxConcurrentCheckpoints, config_.cappedMinPause(),
                                                      [this](Nanos delay) {
                                                        if (periodicScheduling_) scheduleTrigger(delay);
                                                      }),
      planner_(job, topology_, executions_, config_.checkpointsAfterTasksFinish) {
  WEIR_CHECK(storage_ != nullptr);
}

CheckpointCoordinator::~CheckpointCoordinator() {
  cancelTrigger();
  for (const PendingPtr& checkpoint : pending_) timer_.cancel(checkpoint->expiry);
}

Millis CheckpointCoordinator::currentInterval() const {
  if (backlogSources_.empty() || !config_.hasIntervalDuringBacklog) return config_.baseInterval();
  return std::max(config_.intervalDuringBacklog, config_.cappedMinPause());
}

void CheckpointCoordinator::startCheckpointScheduler() {
  if (shutdown_ || !isPeriodicCheckpointingConfigured()) return;
  Entry entry(*this);
  stopCheckpointScheduler();
  periodicScheduling_ = true;
  const Millis pause = config_.cappedMinPause();
  Millis delay = pause;
  if (!startedBefore_) {
    const Millis latest = config_.pauseSourcesUntilFirstCheckpoint ? 2 * pause : config_.baseInterval();
    delay = Millis(random_.between(pause.count(), latest.count()));
  }
  startedBefore_ = true;
  scheduleTrigger(delay);
}

void CheckpointCoordinator::stopCheckpointScheduler() {
  Entry entry(*this);
  periodicScheduling_ = false;
  backlogSources_.clear();
  cancelTrigger();
  const auto why = std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointCoordinatorSuspend);
  decider_.abortAll(why->reason());
  abortAll(why, [](const PendingCheckpoint&) { return true; });
}

void CheckpointCoordinator::setIsProcessingBacklog(const OperatorID& source, bool backlog) {
  if (backlog) {
    backlogSources_.insert(source);
  } else {
    backlogSources_.erase(source);
  }
  const Millis interval = currentInterval();
  if (!periodicScheduling_ || interval == CheckpointCoordinatorConfiguration::kDisabled) return;
  if (trigger_ == CheckpointTimer::kNone || clock_.monotonic() + interval < nextTriggerAt_) scheduleTrigger(interval);
}

void CheckpointCoordinator::scheduleTrigger(Nanos delay) { armTrigger(clock_.monotonic() + delay); }

void CheckpointCoordinator::armTrigger(Nanos at) {
  cancelTrigger();
  nextTriggerAt_ = at;
  trigger_ = timer_.schedule(std::max(at, clock_.monotonic()), [this] { onTriggerTimer(); });
}

void CheckpointCoordinator::cancelTrigger() {
  timer_.cancel(trigger_);
  trigger_ = CheckpointTimer::kNone;
}

void CheckpointCoordinator::onTriggerTimer() {
  Entry entry(*this);
  trigger_ = CheckpointTimer::kNone;
  const Millis interval = currentInterval();
  if (interval == CheckpointCoordinatorConfiguration::kDisabled) return;  // a backlog: setIsProcessingBacklog goes on
  // Counted from when it was due, not from now: a late firing is followed by a catch-up, which the decider thins out.
  armTrigger(nextTriggerAt_ + interval);
  CheckpointTriggerRequest request;
  request.periodic = true;
  request.properties = CheckpointProperties::forCheckpoint(SnapshotType::kCheckpoint, config_.retention);
  submit(std::move(request));
}

void CheckpointCoordinator::triggerCheckpoint(SnapshotType type, CheckpointCallback done) {
  WEIR_CHECK(!isSavepoint(type));
  Entry entry(*this);
  CheckpointTriggerRequest request;
  request.properties = CheckpointProperties::forCheckpoint(type, config_.retention);
  request.done = std::move(done);
  submit(std::move(request));
}

void CheckpointCoordinator::triggerSavepoint(const std::string& directory, SavepointFormat format, CheckpointCallback done) {
  startSavepoint(SnapshotType::kSavepoint, directory, format, std::move(done));
}

void CheckpointCoordinator::triggerStopWithSavepoint(const std::string& directory, SavepointFormat format, bool drain,
                                                     CheckpointCallback done) {
  Entry entry(*this);
  const bool wasScheduling = periodicScheduling_;
  stopCheckpointScheduler();
  auto finish = [this, wasScheduling, done = std::move(done)](const CheckpointOutcome& outcome) {
    const bool failed = std::holds_alternative<ExceptionPtr>(outcome);
    if (failed && wasScheduling && !periodicScheduling_) startCheckpointScheduler();
    if (done) done(outcome);
  };
  startSavepoint(drain ? SnapshotType::kSavepointTerminate : SnapshotType::kSavepointSuspend, directory, format, std::move(finish));
}

void CheckpointCoordinator::startSavepoint(SnapshotType type, const std::string& directory, SavepointFormat format,
                                           CheckpointCallback done) {
  Entry entry(*this);
  CheckpointTriggerRequest request;
  request.properties = CheckpointProperties::forSavepoint(type, format);
  request.properties.forced = !config_.unalignedEnabled;
  request.targetDirectory = directory.empty() ? config_.savepointDirectory : directory;
  request.done = std::move(done);
  submit(std::move(request));
}

void CheckpointCoordinator::submit(CheckpointTriggerRequest request) {
  request.requestedAt = clock_.monotonic();
  if (decider_.submit(std::move(request))) pumpWanted_ = true;
}

void CheckpointCoordinator::pump() {
  while (pumpWanted_) {
    pumpWanted_ = false;
    while (auto request = decider_.choose({triggering_, pendingCheckpoints(), cleaning_, lastCompletion_}))
      startTriggering(std::move(*request));
  }
}

void CheckpointCoordinator::shutdown(JobEnd end, std::function<void()> cleaned) {
  if (shutdown_) return;
  Entry entry(*this);
  logger_.info("Stopping checkpoint coordinator for job {}.", jobText_);
  shutdown_ = true;
  periodicScheduling_ = false;
  cancelTrigger();
  const auto why = std::make_shared<CheckpointException>(CheckpointFailureReason::kCheckpointCoordinatorShutdown);
  decider_.abortAll(why->reason());
  abortAll(why, [](const PendingCheckpoint&) { return true; });
  for (const auto& checkpoint : store_.shutdown(end)) discardCompleted(checkpoint);
  cleaned_ = std::move(cleaned);
  maybeCleaned();
}

}  // namespace weir
