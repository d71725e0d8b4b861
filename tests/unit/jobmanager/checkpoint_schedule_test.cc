#include "checkpoint_fixture.h"

// When checkpoints are triggered: starters, delays, fixed rate, min-pause, the queue.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;

constexpr const char* kTracker = "org.apache.flink.runtime.checkpoint.ExecutionTrackingCheckpointCoordinatorDeActivator";

std::vector<std::string> trackerLines(const MemoryLogSink& log) {
  std::vector<std::string> lines;
  for (const auto& line : log.lines())
    if (line.logger == kTracker) lines.push_back(line.message);
  return lines;
}

TEST(CheckpointSchedule, FirstStartTriggersAtARandomTimeBetweenMinPauseAndInterval) {
  Nanos least = Nanos::max(), most = Nanos::zero();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    auto config = every(100ms);
    config.minPause = 40ms;
    Job job(config, pipeline(1), seed);
    job.coordinator->startCheckpointScheduler();
    const Nanos at = job.timer.next().value();
    EXPECT_GE(at, 40ms);
    EXPECT_LE(at, 100ms);
    least = std::min(least, at);
    most = std::max(most, at);
  }
  EXPECT_LT(least, 45ms);
  EXPECT_GT(most, 95ms);
}

TEST(CheckpointSchedule, FirstDelayOfPausedSourcesEndsAtTwiceTheMinPause) {
  Nanos most = Nanos::zero();
  for (uint64_t seed = 0; seed < 100; ++seed) {
    auto config = every(1000ms);
    config.minPause = 20ms;
    config.pauseSourcesUntilFirstCheckpoint = true;
    Job job(config, pipeline(1), seed);
    job.coordinator->startCheckpointScheduler();
    most = std::max(most, job.timer.next().value());
  }
  EXPECT_GT(most, 30ms);
  EXPECT_LE(most, 40ms);
}

TEST(CheckpointSchedule, LaterStartsTriggerAfterExactlyTheMinPause) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    auto config = every(1000ms);
    config.minPause = 30ms;
    Job job(config, pipeline(1), seed);
    job.coordinator->startCheckpointScheduler();
    job.coordinator->startCheckpointScheduler();
    EXPECT_EQ(job.timer.next().value(), 30ms);
  }
}

TEST(CheckpointSchedule, ThenFixedRateFromTheStart) {
  Job job(every(100ms));
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  for (int64_t id = 1; id <= 5; ++id) {
    job.advance(id == 1 ? 0ms : 100ms);
    EXPECT_EQ(job.lastTriggered(), id);
    EXPECT_EQ(job.gateway->triggered.back().checkpoint.timestampMs, ManualClock::kStartMs + (id - 1) * 100);
    job.complete(id);
  }
}

TEST(CheckpointSchedule, ALateTimerIsFollowedByACatchUp) {
  auto config = every(100ms);
  config.maxConcurrentCheckpoints = 10;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(0ms);
  job.clock.now = 350ms;  // the actor was busy: 100, 200 and 300 are due
  job.advance(0ms);
  EXPECT_EQ(job.lastTriggered(), 4);
  EXPECT_EQ(job.timer.next().value(), 400ms);
}

TEST(CheckpointSchedule, BaseIntervalIsAtLeastTheMinPause) {
  auto config = every(100ms);
  config.minPause = 250ms;
  EXPECT_EQ(config.baseInterval(), 250ms);
  config.minPause = std::chrono::hours(24 * 400);
  EXPECT_EQ(config.baseInterval(), std::chrono::hours(24 * 365)) << "min-pause is capped at a year";
}

TEST(CheckpointSchedule, StartWhileOnAbortsWhatIsPending) {
  Job job(every(100ms));
  job.coordinator->startCheckpointScheduler();
  job.advance(100ms);
  ASSERT_EQ(job.coordinator->pendingCheckpoints(), 1);
  job.coordinator->startCheckpointScheduler();
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 0);
  EXPECT_TRUE(job.log.contains("Checkpoint Coordinator is suspending."));
}

TEST(CheckpointSchedule, StopAbortsPendingAndQueuedAndTriggersNothingMore) {
  Job job(every(100ms));
  job.coordinator->startCheckpointScheduler();
  job.advance(300ms);
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
  EXPECT_GE(job.coordinator->queuedRequests(), 1u);
  job.coordinator->stopCheckpointScheduler();
  job.advance(1000ms);
  EXPECT_EQ(job.lastTriggered(), 1);
  EXPECT_EQ(job.coordinator->queuedRequests(), 0u);
  EXPECT_EQ(job.gateway->aborted.size(), 6u);
  EXPECT_TRUE(job.storage->folders.empty());
}

TEST(CheckpointSchedule, BacklogUsesItsOwnIntervalAndTheEndOfItFiresEarlier) {
  auto config = every(100ms);
  config.hasIntervalDuringBacklog = true;
  config.intervalDuringBacklog = 1000ms;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.coordinator->setIsProcessingBacklog(OperatorID::of(1, 1), true);
  job.advance(0ms);
  job.complete(1);
  EXPECT_EQ(job.timer.next().value(), 1000ms);
  job.advance(300ms);
  job.coordinator->setIsProcessingBacklog(OperatorID::of(1, 1), false);
  EXPECT_EQ(job.timer.next().value(), 400ms);
  job.coordinator->setIsProcessingBacklog(OperatorID::of(1, 1), true);
  EXPECT_EQ(job.timer.next().value(), 400ms) << "re-armed only for an earlier time";
}

TEST(CheckpointSchedule, ABacklogMayTurnPeriodicCheckpointsOff) {
  auto config = every(100ms);
  config.hasIntervalDuringBacklog = true;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.coordinator->setIsProcessingBacklog(OperatorID::of(1, 1), true);
  job.advance(5000ms);
  EXPECT_EQ(job.lastTriggered(), 0);
  job.coordinator->setIsProcessingBacklog(OperatorID::of(1, 1), false);
  job.advance(100ms);
  EXPECT_EQ(job.lastTriggered(), 1);
}

TEST(CheckpointSchedule, TrackerStartsAtRunningStopsAtScheduledAndStartsAgainWithTheLastTask) {
  Job job(every(15'000ms), pipeline(1));
  CheckpointCoordinatorDeActivator tracker(job.log, *job.coordinator);
  job.setAll(ExecutionState::kCreated);
  const auto report = [&](int32_t task, ExecutionState state) {
    job.executions.tasks[task].state = state;
    tracker.onTaskState(job.executions.tasks[task].attempt, state);
  };
  tracker.onJobStatus("RUNNING");
  EXPECT_TRUE(job.coordinator->isPeriodicCheckpointingStarted());
  for (int32_t task = 0; task < 3; ++task) report(task, ExecutionState::kScheduled);
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
  EXPECT_EQ(trackerLines(job.log),
            (std::vector<std::string>{"Starting checkpoint scheduler", "Stopping checkpoint scheduler, current job status: RUNNING"}));
  report(1, ExecutionState::kRunning);
  EXPECT_TRUE(job.coordinator->isPeriodicCheckpointingStarted()) << "the first running task, silently";
  EXPECT_EQ(trackerLines(job.log).size(), 2u);
  job.advance(50ms);  // the delay of this start is min-pause 0: it meets tasks that initialise
  EXPECT_TRUE(job.log.contains("Failed to trigger checkpoint for job"));
  report(2, ExecutionState::kRunning);
  report(0, ExecutionState::kRunning);
  EXPECT_EQ(trackerLines(job.log).back(), "Starting checkpoint scheduler");
  job.advance(1ms);
  EXPECT_EQ(job.lastTriggered(), 1) << "at once when all tasks run";
  report(0, ExecutionState::kFinished);
  EXPECT_EQ(trackerLines(job.log).back(), "Checkpoint scheduler is already started, ignoring status change (some task has finished?)");
  tracker.onJobStatus("CANCELLING");
  EXPECT_EQ(trackerLines(job.log).back(), "Stopping checkpoint scheduler, current job status: CANCELLING");
}

TEST(CheckpointSchedule, AfterAFailoverTheFirstRunningTaskStartsItAndTheFirstCheckpointComesAnIntervalLater) {
  Job job(every(15'000ms), pipeline(1));
  CheckpointCoordinatorDeActivator tracker(job.log, *job.coordinator);
  tracker.onJobStatus("RUNNING");
  tracker.onTaskState(job.executions.tasks[0].attempt, ExecutionState::kFailed);
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
  tracker.onJobStatus("RESTARTING");
  tracker.onJobStatus("RUNNING");
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted()) << "the tracker never forgets the failed attempt";
  job.restart();
  job.advance(30'000ms);
  job.executions.tasks[0].state = job.executions.tasks[2].state = ExecutionState::kInitializing;
  const Nanos firstRunning = job.clock.now;
  tracker.onTaskState(job.executions.tasks[1].attempt, ExecutionState::kRunning);
  job.advance(10ms);
  EXPECT_EQ(job.lastTriggered(), 0);
  job.setAll(ExecutionState::kRunning);
  tracker.onTaskState(job.executions.tasks[0].attempt, ExecutionState::kRunning);
  tracker.onTaskState(job.executions.tasks[2].attempt, ExecutionState::kRunning);
  job.advance(14'000ms);
  EXPECT_EQ(job.lastTriggered(), 0);
  job.advance(1'000ms);
  ASSERT_EQ(job.lastTriggered(), 1);
  EXPECT_EQ(job.gateway->triggered.back().checkpoint.timestampMs,
            ManualClock::kStartMs + std::chrono::duration_cast<Millis>(firstRunning + 15s).count());
}

TEST(CheckpointSchedule, WithoutAnIntervalNothingStarts) {
  Job job(CheckpointCoordinatorConfiguration{});
  CheckpointCoordinatorDeActivator tracker(job.log, *job.coordinator);
  tracker.onJobStatus("RUNNING");
  tracker.onTaskState(job.executions.tasks[0].attempt, ExecutionState::kRunning);
  job.coordinator->startCheckpointScheduler();
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
  EXPECT_EQ(job.timer.size(), 0u);
}

// --- min-pause

TEST(CheckpointMinPause, AnEarlyPeriodicRequestShiftsTheCadence) {
  // Triggers due at 0, 10, 20; the one at 0 completes at 6: due 10 is 4 s early, so the next are at 14, 24, 34.
  auto config = every(10s);
  config.minPause = 8s;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.clock.now = 8s;  // that start's delay is the min-pause: call this moment 0
  job.advance(0s);
  ASSERT_EQ(job.lastTriggered(), 1);
  job.advance(6s);
  job.complete(1);
  job.advance(4s);
  EXPECT_EQ(job.lastTriggered(), 1);
  EXPECT_EQ(job.timer.next().value(), 8s + 14s);
  job.advance(4s);
  ASSERT_EQ(job.lastTriggered(), 2);
  job.advance(100ms);
  job.complete(2);
  EXPECT_EQ(job.timer.next().value(), 8s + 24s);
  EXPECT_EQ(job.stats().counts.failed, 0) << "a request that is too early is no failed checkpoint";
}

TEST(CheckpointMinPause, ACompletionLongAgoDoesNotDelay) {
  auto config = every(10s);
  config.minPause = 8s;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(8s);
  job.advance(1s);
  job.complete(1);
  job.advance(9s);
  EXPECT_EQ(job.lastTriggered(), 2);
}

TEST(CheckpointMinPause, OnDemandCheckpointsDoNotWait) {
  auto config = every(3600s);
  config.minPause = 3600s;
  Job job(config);
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.complete(1);
  job.coordinator->triggerCheckpoint(SnapshotType::kFullCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.lastTriggered(), 2);
  EXPECT_EQ(job.gateway->triggered.back().options.type, SnapshotType::kFullCheckpoint);
}

TEST(CheckpointMinPause, ACompletedSavepointCountsAsCompletion) {
  auto config = every(100ms);
  config.minPause = 80ms;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(70ms);
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, nullptr);
  job.complete(1);
  job.advance(20ms);  // due at 80
  EXPECT_EQ(job.lastTriggered(), 1);
  job.advance(60ms);
  EXPECT_EQ(job.lastTriggered(), 2);
}

TEST(FailureModes, MinPauseIgnored) {
  // FLINK-18856: the gap between an end and the next start is never below the min-pause, whatever the order of timers and acks.
  auto config = every(100ms);
  config.minPause = 500ms;
  Job job(config, pipeline(1));
  Random random(3);
  job.coordinator->startCheckpointScheduler();
  std::optional<Nanos> end;
  int64_t seen = 0;
  for (int round = 0; round < 10'000 && !HasFailure();) {
    job.advance(Nanos(random.between(0, 40'000'000)));
    if (job.lastTriggered() == seen) continue;
    seen = job.lastTriggered();
    ++round;
    const Nanos started{(job.gateway->triggered.back().checkpoint.timestampMs - ManualClock::kStartMs) * 1'000'000};
    if (end) {
      EXPECT_GE(started + 1ms, *end + 500ms) << "checkpoint " << seen;
    }
    job.advance(Nanos(random.between(0, 300'000'000)));
    job.complete(seen);
    end = job.clock.now;
  }
}

TEST(FailureModes, MinPauseAfterFailure) {
  // FLINK-9598: the pause counts from the last completion, so after an expiry the next one starts at once.
  auto config = every(1s);
  config.minPause = 5s;
  config.timeout = 7s;
  Job job(config);
  job.coordinator->startCheckpointScheduler();
  job.advance(5s);
  ASSERT_EQ(job.lastTriggered(), 1);
  job.advance(7s);  // expires; requests queued meanwhile
  EXPECT_EQ(job.lastTriggered(), 2);
  EXPECT_EQ(job.gateway->triggered.back().checkpoint.timestampMs, ManualClock::kStartMs + 12'000);
  EXPECT_EQ(job.stats().latestFailed->endToEndMs(), 7000);
}

TEST(FailureModes, CheckpointQueueUp) {
  // FLINK-3051: interval 100 ms, duration 1 s.
  struct Outcome {
    int64_t triggered;
    int32_t mostPending;
  };
  const auto run = [](int32_t maxConcurrent, Nanos time) {
    auto config = every(100ms);
    config.maxConcurrentCheckpoints = maxConcurrent;
    Job job(config, pipeline(1));
    job.coordinator->startCheckpointScheduler();
    job.coordinator->startCheckpointScheduler();
    std::map<int64_t, Nanos> running;
    Outcome outcome{0, 0};
    while (job.clock.now < time) {
      job.advance(10ms);
      for (int64_t id = outcome.triggered + 1; id <= job.lastTriggered(); ++id) running[id] = job.clock.now;
      outcome.triggered = job.lastTriggered();
      outcome.mostPending = std::max(outcome.mostPending, job.coordinator->pendingCheckpoints());
      if (!running.empty() && job.clock.now >= running.begin()->second + 1s) {
        job.complete(running.begin()->first);
        running.erase(running.begin());
      }
    }
    return outcome;
  };
  const Outcome one = run(1, 20s), unlimited = run(1000, 20s);
  EXPECT_EQ(one.mostPending, 1);
  EXPECT_GE(one.triggered, 18);
  EXPECT_LE(one.triggered, 21);
  EXPECT_GE(unlimited.mostPending, 10);
  EXPECT_GE(unlimited.triggered, 180);
}

}  // namespace
}  // namespace weir::checkpointtest
