#include "checkpoint_fixture.h"

// What counts as a failed checkpoint and when the job fails for it.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;

struct FailureManager : testing::Test {
  std::unique_ptr<CheckpointFailureManager> make(int32_t tolerable) {
    return std::make_unique<CheckpointFailureManager>(log, JobID::of(1, 2), tolerable,
                                                      CheckpointFailureCallback{[this](auto error) { failed.push_back(error->message()); },
                                                                                [this](auto error, const ExecutionAttemptID& task) {
                                                                                  failed.push_back(error->message());
                                                                                  blamed.push_back(task);
                                                                                }});
  }
  void fail(CheckpointFailureManager& manager, int64_t id, Reason reason, std::optional<ExecutionAttemptID> task = std::nullopt,
            SnapshotType type = SnapshotType::kCheckpoint) {
    CheckpointProperties properties;
    properties.type = type;
    manager.handleCheckpointException(id, properties, CheckpointException(reason), task);
  }
  ManualClock clock;
  MemoryLogSink log{clock};
  std::vector<std::string> failed;
  std::vector<ExecutionAttemptID> blamed;
  const ExecutionAttemptID task{ExecutionGraphID::of(1, 1), JobVertexID::of(1, 1), 3, 0};
};

TEST_F(FailureManager, ExactlyFiveReasonsCount) {
  const std::set<Reason> counting{Reason::kIoException, Reason::kCheckpointAsyncException, Reason::kCheckpointExpired,
                                  Reason::kCheckpointDeclined, Reason::kFinalizeCheckpointFailure};
  for (int i = 0; i <= static_cast<int>(Reason::kTriggerCheckpointFailure); ++i) {
    const auto reason = static_cast<Reason>(i);
    for (const auto& by : {std::optional<ExecutionAttemptID>(), std::optional(task)}) {
      auto manager = make(5);
      fail(*manager, 1, reason, by);
      EXPECT_EQ(manager->consecutiveFailures(), counting.contains(reason) ? 1 : 0) << messageOf(reason);
    }
  }
}

TEST_F(FailureManager, MoreThanTolerableFailsTheJobAndStartsAgainAtZero) {
  auto manager = make(2);
  fail(*manager, 1, Reason::kCheckpointExpired);
  fail(*manager, 2, Reason::kCheckpointExpired);
  EXPECT_TRUE(failed.empty());
  fail(*manager, 3, Reason::kCheckpointExpired);
  EXPECT_EQ(failed,
            (std::vector<std::string>{
                "Exceeded checkpoint tolerable failure threshold. The latest checkpoint failed due to Checkpoint expired before "
                "completing., view the Checkpoint History tab or the Job Manager log to find out why continuous checkpoints failed."}));
  EXPECT_EQ(manager->consecutiveFailures(), 0);
  EXPECT_TRUE(blamed.empty());
}

TEST_F(FailureManager, WithNoneTolerableTheFirstOneFailsTheJob) {
  auto manager = make(0);
  fail(*manager, 1, Reason::kCheckpointDeclined, task);
  EXPECT_EQ(failed.size(), 1u);
  EXPECT_EQ(blamed, (std::vector{task}));
}

TEST_F(FailureManager, AnIdCountsOnceAndAnUnknownIdAlways) {
  auto manager = make(100);
  fail(*manager, 7, Reason::kCheckpointExpired);
  fail(*manager, 7, Reason::kCheckpointDeclined, task);
  EXPECT_EQ(manager->consecutiveFailures(), 1);
  fail(*manager, CheckpointFailureManager::kUnknownCheckpointId, Reason::kIoException);
  fail(*manager, CheckpointFailureManager::kUnknownCheckpointId, Reason::kIoException);
  EXPECT_EQ(manager->consecutiveFailures(), 3);
}

TEST_F(FailureManager, SuccessOfANewerIdResetsAndOlderFailuresAreIgnored) {
  auto manager = make(2);
  fail(*manager, 1, Reason::kCheckpointExpired);
  fail(*manager, 2, Reason::kCheckpointExpired);
  manager->handleCheckpointSuccess(5);
  EXPECT_EQ(manager->consecutiveFailures(), 0);
  fail(*manager, 5, Reason::kCheckpointExpired);
  fail(*manager, 4, Reason::kCheckpointExpired);
  EXPECT_EQ(manager->consecutiveFailures(), 0);
  fail(*manager, 6, Reason::kCheckpointExpired);
  manager->handleCheckpointSuccess(3);
  EXPECT_EQ(manager->consecutiveFailures(), 1) << "an older success resets nothing";
}

TEST_F(FailureManager, WorkedExample) {
  // tolerable 2: 4 expired (1), 5 not ready (1), 6 expired (2), 6 declined late (2), 7 IO (3 > 2: fail, 0). Had 6 completed: 7 gives 1.
  auto manager = make(2);
  std::vector<int32_t> counts;
  const auto step = [&](int64_t id, Reason reason) {
    fail(*manager, id, reason, reason == Reason::kCheckpointDeclined ? std::optional(task) : std::nullopt);
    counts.push_back(manager->consecutiveFailures());
  };
  step(4, Reason::kCheckpointExpired);
  step(5, Reason::kCheckpointDeclinedTaskNotReady);
  step(6, Reason::kCheckpointExpired);
  step(6, Reason::kCheckpointDeclined);
  step(7, Reason::kIoException);
  EXPECT_EQ(counts, (std::vector<int32_t>{1, 1, 2, 2, 0}));
  EXPECT_EQ(failed.size(), 1u);
  manager = make(2);
  fail(*manager, 4, Reason::kCheckpointExpired);
  manager->handleCheckpointSuccess(6);
  fail(*manager, 7, Reason::kIoException);
  EXPECT_EQ(manager->consecutiveFailures(), 1);
}

TEST_F(FailureManager, UnlimitedNeverCounts) {
  auto manager = make(CheckpointCoordinatorConfiguration::kUnlimited);
  for (int64_t id = 1; id < 100; ++id) fail(*manager, id, Reason::kCheckpointExpired);
  EXPECT_EQ(manager->consecutiveFailures(), 0);
}

TEST_F(FailureManager, SavepointsCountOnlyWhenATaskFailsThem) {
  auto manager = make(5);
  fail(*manager, 1, Reason::kCheckpointExpired, std::nullopt, SnapshotType::kSavepoint);
  EXPECT_EQ(manager->consecutiveFailures(), 0);
  fail(*manager, 2, Reason::kCheckpointDeclined, task, SnapshotType::kSavepoint);
  EXPECT_EQ(manager->consecutiveFailures(), 1);
  EXPECT_TRUE(failed.empty());
  fail(*manager, 3, Reason::kCheckpointDeclinedTaskNotReady, task, SnapshotType::kSavepointTerminate);
  EXPECT_EQ(failed, (std::vector<std::string>{"Checkpoint was declined (tasks not ready)"})) << "a synchronous one fails the job at once";
  fail(*manager, 4, Reason::kCheckpointExpired, std::nullopt, SnapshotType::kSavepointSuspend);
  EXPECT_EQ(failed.size(), 1u);
}

TEST_F(FailureManager, Lines) {
  auto manager = make(5);
  fail(*manager, 1, Reason::kCheckpointExpired);
  fail(*manager, CheckpointFailureManager::kUnknownCheckpointId, Reason::kIoException);
  fail(*manager, 2, Reason::kNotAllRequiredTasksRunning);
  const std::string job = JobID::of(1, 2).toString();
  const auto lines = log.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].logger, "org.apache.flink.runtime.checkpoint.CheckpointFailureManager");
  EXPECT_EQ(lines[0].level, LogLevel::kWarn);
  EXPECT_TRUE(lines[0].message.starts_with("Failed to trigger or complete checkpoint 1 for job " + job +
                                           ". (0 consecutive failed attempts so far)\n"));
  EXPECT_TRUE(lines[1].message.starts_with("Failed to trigger or complete checkpoint UNKNOWN_CHECKPOINT_ID for job " + job +
                                           ". (1 consecutive failed attempts so far)\n"));
  EXPECT_EQ(lines[2].level, LogLevel::kInfo);
  EXPECT_EQ(lines[2].message, "Failed to trigger checkpoint for job " + job + " since Not all required tasks are currently running..");
}

TEST(FailureModes, ExpiredNotCounted) {
  // FLINK-17351: tolerable 2, a stalled operator: the third expiry in a row fails the job; a success starts again at 0.
  auto config = every(2s);
  config.timeout = 1s;
  config.tolerableFailedCheckpoints = 2;
  Job job(config, pipeline(1));
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(4s);  // 1 and 2 have expired, 3 is pending
  ASSERT_EQ(job.lastTriggered(), 3);
  job.complete(3);
  job.advance(6s);  // 4 and 5 too
  EXPECT_TRUE(job.failures.empty());
  job.advance(1s);
  ASSERT_EQ(job.failures.size(), 1u);
  EXPECT_EQ(job.failures[0]->className(), "org.apache.flink.util.FlinkRuntimeException");
  EXPECT_EQ(job.stats().counts.failed, 5);
  EXPECT_TRUE(job.log.contains("(2 consecutive failed attempts so far)"));
}

TEST(FailureModes, NotReadyDeclineCounts) {
  // FLINK-12364: tolerance 0 and a trigger before the tasks run, or a task that is not ready: the job lives on.
  auto config = every(1s);
  config.tolerableFailedCheckpoints = 0;
  Job job(config);
  job.executions.tasks[1].state = ExecutionState::kInitializing;
  job.coordinator->startCheckpointScheduler();
  job.advance(1s);
  EXPECT_EQ(
      job.logged({"Failed to trigger"}),
      (std::vector<std::string>{"Failed to trigger checkpoint for job " + job.job.toString() +
                                " since Checkpoint triggering task Source: numbers (2/2) of job " + job.job.toString() +
                                " is not being executed at the moment. Aborting checkpoint. Failure reason: Not all required tasks are "
                                "currently running.."}));
  job.setAll(ExecutionState::kRunning);
  job.advance(1s);
  ASSERT_EQ(job.lastTriggered(), 1) << "a failed plan uses up no id";
  job.decline(1, 3, Reason::kCheckpointDeclinedTaskNotReady);
  job.advance(1s);
  EXPECT_EQ(job.lastTriggered(), 2);
  EXPECT_TRUE(job.failures.empty());
}

TEST(FailureModes, SlowNotStuck) {
  // Many pending checkpoints that drain slowly: the completed id advances; in a deadlock it does not, and the age shows it.
  auto config = every(1s);
  config.maxConcurrentCheckpoints = 40;
  config.timeout = 3600s;
  Job job(config, pipeline(1));
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(39s);
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 40);
  job.coordinator->setIsProcessingBacklog(OperatorID::of(1, 1), false);
  const auto& gauges = job.coordinator->stats().gauges();
  for (int64_t id = 1; id <= 10; ++id) {
    job.advance(8s);
    job.complete(id);
    EXPECT_EQ(gauges.lastCompletedCheckpointId, id) << "slow: it advances";
  }
  const auto before = gauges.oldestPendingAge(job.clock.now);
  job.advance(60s);
  EXPECT_EQ(gauges.lastCompletedCheckpointId, 10) << "stuck: it stands still";
  EXPECT_EQ(gauges.oldestPendingAge(job.clock.now), before + 60s);
}

TEST(FailureModes, BarrierStuckMetricGap) {
  // No completion, no sample of the duration; the age of the oldest pending checkpoint rises a second per second.
  Triggered job;
  const auto& gauges = job.coordinator->stats().gauges();
  for (int second = 0; second <= 30; ++second) {
    EXPECT_EQ(gauges.lastCheckpointDuration, -1);
    EXPECT_EQ(gauges.oldestPendingAge(job.clock.now), second * 1s);
    job.advance(1s);
  }
  job.complete(1);
  EXPECT_EQ(gauges.oldestPendingAge(job.clock.now), 0s);
  EXPECT_EQ(gauges.lastCheckpointDuration, 31'000);
}

}  // namespace
}  // namespace weir::checkpointtest
