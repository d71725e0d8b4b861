#include "checkpoint_fixture.h"

// Answers that come too late, or from tasks that are gone.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;

TEST(FailureModes, LateAcksAfterExpiry) {
  // 8 subtasks; the last four acknowledge at 1.5 x timeout; the next trigger is 3 s after the expiry.
  auto config = every(5s);
  config.timeout = 2s;
  Job job(config, {{"Source: orders", 8, {}}, {"agg", 8, {{0, DistributionPattern::kAllToAll}}}});
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(0s);
  for (int32_t task = 0; task < 12; ++task) job.ack(1, task);
  job.advance(2s);
  job.advance(1s);
  for (int32_t task = 12; task < 16; ++task) job.ack(1, task, stateIn("/late" + std::to_string(task)));
  job.advance(2s);
  std::vector<std::string> expected{"Checkpoint 1 of job " + job.job.toString() + " expired before completing."};
  for (int32_t task = 12; task < 16; ++task)
    expected.push_back("Received late message for now expired checkpoint attempt 1 from task " + job.attemptOf(task, 0).toString() +
                       " of job " + job.job.toString() + " at tm1 @ localhost (dataPort=43433).");
  expected.push_back(
      "Triggering checkpoint 2 (type=CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}) @ "
      "1700000005000 for job " +
      job.job.toString() + ".");
  auto lines = job.logged({"expired before completing.", "late message", "Triggering checkpoint 2"});
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("Failed"); });
  EXPECT_EQ(lines, expected);
  EXPECT_EQ(job.storage->discardedFiles.size(), 4u);
  EXPECT_EQ(job.storage->folders, (std::map<int64_t, bool>{{2, false}})) << "state written by late tasks is deleted";
  const auto failed = job.stats().latestFailed;
  ASSERT_EQ(failed->lateAnswers.size(), 4u);
  EXPECT_EQ(failed->lateAnswers[0].task, job.attemptOf(12, 0)) << "the earliest is the suspect";
  EXPECT_EQ(failed->lateAnswers[0].timestampMs, ManualClock::kStartMs + 3000);
}

TEST(FailureModes, UndecidedRowsMislead) {
  auto config = every(3600s);
  config.timeout = 2s;
  Job job(config, {{"Source: orders", 8, {}}, {"agg", 8, {{0, DistributionPattern::kAllToAll}}}});
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.advance(0s);
  for (int32_t task = 0; task < 16; ++task)
    if (task != 11 && task != 15) job.ack(1, task);
  job.advance(2s);
  const auto notAcknowledged = [](const CheckpointStats& stats) {
    std::vector<std::string> rows;
    for (const TaskCheckpointStats& vertex : stats.tasks)
      for (size_t i = 0; i < vertex.subtasks.size(); ++i)
        if (!vertex.subtasks[i].completed)
          rows.push_back(fmt::format("{}[{}]", vertex.vertex == stats.tasks[1].vertex ? "agg" : "orders", i));
    return rows;
  };
  const auto failed = job.stats().latestFailed;
  ASSERT_TRUE(failed);
  EXPECT_EQ(notAcknowledged(*failed), (std::vector<std::string>{"agg[3]", "agg[7]"})) << "by vertex and subtask, not by position in a list";
  const SubtaskCheckpointStats silent = failed->tasks[1].subtasks[3];
  EXPECT_FALSE(silent.reported);
  EXPECT_EQ(silent.ackTimestampMs, -1) << "nothing is known of it, and nothing is told";
  const int64_t endToEnd = failed->endToEndMs(), ofVertex = failed->tasks[1].endToEndMs(failed->triggerTimestampMs);

  job.advance(1s);
  job.ack(1, 11);
  const auto later = job.stats().latestFailed;
  const SubtaskCheckpointStats late = later->tasks[1].subtasks[3];
  EXPECT_TRUE(late.reported);
  EXPECT_FALSE(late.completed) << "aborted, with real times";
  EXPECT_EQ(late.ackTimestampMs, ManualClock::kStartMs + 3000);
  EXPECT_EQ(later->acknowledged, 14);
  EXPECT_EQ(later->tasks[1].acknowledged, 6);
  EXPECT_EQ(later->endToEndMs(), endToEnd);
  EXPECT_EQ(later->tasks[1].endToEndMs(later->triggerTimestampMs), ofVertex);
  ASSERT_EQ(later->lateAnswers.size(), 1u);
  EXPECT_EQ(later->lateAnswers[0].task, job.attemptOf(11, 0)) << "the execution, beside its subtask index";
  EXPECT_EQ(job.attemptOf(11, 0).subtask, 3);
}

TEST(LateAcks, SixteenExpiredIdsAreRememberedAndNoOthers) {
  auto config = every(3600s);
  config.timeout = 1s;
  Job job(config, pipeline(1));
  for (int64_t id = 1; id <= 17; ++id) {
    job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
    job.advance(1s);
  }
  for (const int64_t id : {1, 2, 17}) job.ack(id, 2);
  EXPECT_EQ(job.log.count("Received late message for now expired checkpoint attempt"), 2u);
  EXPECT_EQ(job.log.count("Received message for an unknown checkpoint 1 from task"), 1u);
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  job.decline(18, 0);
  job.ack(18, 2);
  EXPECT_EQ(job.log.count("Received message for an unknown checkpoint 18 from task"), 1u) << "declined, not expired";
  job.decline(17, 0);
  EXPECT_EQ(job.log.count("Received another decline message for now expired checkpoint attempt 17"), 1u);
}

TEST(LateAcks, SharedFilesOfALateAcknowledgementStay) {
  struct Registry final : CheckpointSharedState {
    void registerAll(int64_t id, const TaskStateSnapshot&) override { registered.push_back(id); }
    std::function<void()> unregisterUnused(int64_t lowest) override {
      lowests.push_back(lowest);
      return nullptr;
    }
    std::vector<int64_t> registered, lowests;
  };
  auto registry = std::make_shared<Registry>();
  auto config = every(3600s);
  config.timeout = 1s;
  config.numRetained = 2;
  Job job(config, pipeline(1), 1, LogLevel::kInfo, registry);
  auto state = std::make_shared<TaskStateSnapshot>();
  RocksDbHandle files;
  files.sharedFiles.push_back({"1.sst", FileHandle{"/shared/1", 10}});
  files.privateFiles.push_back({"MANIFEST", FileHandle{"/shared/manifest", 10}});
  state->operators[OperatorID::of(0xdef, 1)].managedKeyed.push_back(files);

  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.advance(1s);
  job.ack(1, 1, state);
  job.io.drain();
  EXPECT_EQ(registry->registered, (std::vector<int64_t>{1})) << "the next checkpoint may refer to it";
  EXPECT_EQ(job.storage->discardedFiles, (std::set<std::string>{"/shared/manifest"}));

  for (int64_t id = 2; id <= 5; ++id) {
    job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
    job.complete(id);
  }
  EXPECT_EQ(registry->lowests, (std::vector<int64_t>{2, 2, 3, 4})) << "the lowest retained one";
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kNative, nullptr);
  job.io.drain();
  job.ack(6, 1, state);
  EXPECT_EQ(registry->registered.size(), 1u) << "savepoints share nothing";
}

TEST(FailureModes, LateAckVsRestartRace) {
  // The completion of an old execution is on its way while the job restarts: it is refused, and what was restored stays readable.
  Triggered job;
  job.complete(1);
  job.trigger();
  job.ackAll(2);
  job.io.workOne();  // _metadata of 2 is written; the mail is late
  const auto restored = job.coordinator->restoreLatest();
  ASSERT_NE(restored, nullptr);
  EXPECT_EQ(restored->id, 1);
  job.restart();
  job.io.drain();
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 1);
  EXPECT_EQ(job.storage->folders, (std::map<int64_t, bool>{{1, true}}));
  job.coordinator->receiveAcknowledgeMessage({job.attemptOf(5, 0), 2, {}, stateIn("/old")});
  job.trigger();
  for (int32_t task = 0; task < 6; ++task) job.coordinator->receiveAcknowledgeMessage({job.attemptOf(task, 0), 3, {}, nullptr});
  job.io.drain();
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 1) << "acknowledgements of the old attempts do not complete a new one";
  EXPECT_TRUE(job.storage->folders.at(1));
  job.ackAll(3);
  job.io.drain();
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 3);
}

TEST(FailureModes, TaskFinishesBetweenPlanAndTrigger) {
  // FLINK-33186: the TaskManager does not know the task any more. That checkpoint fails once, without counting, and the next succeeds.
  auto config = every(3600s);
  config.tolerableFailedCheckpoints = 0;
  const auto allToAll = DistributionPattern::kAllToAll;
  Triggered job(config, {{"Source: short", 1, {}}, {"Source: endless", 1, {}}, {"sink", 1, {{0, allToAll}, {1, allToAll}}}});
  job.executions.tasks[0].state = ExecutionState::kFinished;
  job.decline(1, 0, Reason::kTaskCheckpointFailure);
  EXPECT_TRUE(job.log.contains("Triggering Checkpoint 1 for job " + job.job.toString() +
                               " failed due to org.apache.flink.runtime.checkpoint.CheckpointException: Task local checkpoint failure."));
  EXPECT_TRUE(job.failures.empty());
  EXPECT_EQ(job.stats().counts.failed, 1);
  job.trigger();
  EXPECT_EQ(job.gateway->triggered.back().attempt, job.attemptOf(1, 0));
  job.complete(2);
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 2);
  EXPECT_EQ(Job::about(job.gateway->confirmed, 2), 2u) << "the finished task is not told";
}

TEST(FailureModes, TriggerOnFinishedSource) {
  // Two sources, one finished, checkpoints after tasks finish are off: one message, then silence.
  auto config = every(100ms);
  config.checkpointsAfterTasksFinish = false;
  Job job(config, {{"Source: a", 1, {}}, {"Source: b", 1, {}}});
  job.coordinator->startCheckpointScheduler();
  job.advance(100ms);
  job.complete(1);
  job.executions.tasks[0].state = ExecutionState::kFinished;
  job.advance(3600s);
  EXPECT_EQ(job.logged({"Failed to trigger"}),
            (std::vector<std::string>{"Failed to trigger checkpoint for job " + job.job.toString() +
                                      " since Some tasks of the job have already finished and checkpointing with finished tasks is not "
                                      "enabled. Failure reason: Not all required tasks are currently running.."}));
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
  EXPECT_TRUE(job.failures.empty());
}

}  // namespace
}  // namespace weir::checkpointtest
