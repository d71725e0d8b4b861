#include "checkpoint_fixture.h"

// One checkpoint from its trigger to its end: acknowledgements, completion, expiry, declines, aborts.
namespace weir::checkpointtest {
namespace {

constexpr const char* kCoordinator = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator";

/// A coordinator with checkpoint 1 triggered on demand; no periodic ones.
struct Triggered : Job {
  explicit Triggered(CheckpointCoordinatorConfiguration config = every(3600s), const std::vector<VertexSpec>& specs = pipeline(2))
      : Job(std::move(config), specs) {
    trigger();
  }
  void trigger(SnapshotType type = SnapshotType::kCheckpoint) {
    coordinator->triggerCheckpoint(type, [this](const CheckpointOutcome& outcome) { outcomes.push_back(outcome); });
    io.drain();
  }
  Reason failure(size_t i) const { return std::get<std::shared_ptr<const CheckpointException>>(outcomes.at(i))->reason(); }
  std::vector<CheckpointOutcome> outcomes;
};

std::shared_ptr<const TaskStateSnapshot> stateIn(const std::string& path, OperatorID op = OperatorID::of(0xdef, 1), int64_t size = 100) {
  auto state = std::make_shared<TaskStateSnapshot>();
  OperatorStateHandle handle;
  handle.stream = FileHandle{path, size};
  state->operators[op].managedOperator.push_back(handle);
  return state;
}

TEST(Checkpoint, SourcesAreTriggeredAndEveryTaskIsWaitedFor) {
  Triggered job;
  ASSERT_EQ(job.gateway->triggered.size(), 2u);
  EXPECT_EQ(job.gateway->triggered[0].attempt, job.attemptOf(0, 0));
  EXPECT_EQ(job.gateway->triggered[1].attempt, job.attemptOf(1, 0));
  EXPECT_EQ(job.gateway->triggered[0].checkpoint, (CheckpointMetaData{1, ManualClock::kStartMs}));
  EXPECT_EQ(job.gateway->triggered[0].options, CheckpointOptions{});
  for (int32_t task = 0; task < 5; ++task) job.ack(1, task);
  job.io.drain();
  EXPECT_TRUE(job.gateway->confirmed.empty()) << "one acknowledgement is missing";
  EXPECT_FALSE(job.storage->folders.at(1));
  job.ack(1, 5);
  job.io.drain();
  EXPECT_EQ(job.gateway->confirmed.size(), 6u);
  EXPECT_TRUE(job.storage->folders.at(1));
}

TEST(Checkpoint, OptionsComeFromTheConfiguration) {
  auto config = every(3600s);
  config.unalignedEnabled = true;
  config.alignedCheckpointTimeout = 30s;
  Triggered job(config);
  EXPECT_TRUE(job.gateway->triggered[0].options.isTimeoutable());
  EXPECT_EQ(job.gateway->triggered[0].options.alignedTimeoutMs, 30'000);
}

TEST(Checkpoint, TasksHearOfTheCompletionOnlyOnceTheMetadataIsDurable) {
  Triggered job;
  job.ackAll(1);
  EXPECT_TRUE(job.gateway->confirmed.empty()) << "not written yet";
  ASSERT_TRUE(job.io.workOne());
  EXPECT_TRUE(job.storage->folders.at(1));
  EXPECT_TRUE(job.gateway->confirmed.empty()) << "written, but the coordinator has not heard of it";
  job.io.deliverOne();
  EXPECT_EQ(job.gateway->confirmed.size(), 6u);
}

TEST(Checkpoint, AnAbortWhileTheMetadataIsWrittenWins) {
  Triggered job;
  job.ackAll(1);
  ASSERT_TRUE(job.io.workOne());
  job.coordinator->abortPendingCheckpoints(Reason::kJobFailoverRegion);
  job.io.drain();
  EXPECT_TRUE(job.gateway->confirmed.empty());
  EXPECT_EQ(job.coordinator->completedCheckpoints().latest(), nullptr);
  EXPECT_TRUE(job.storage->folders.empty()) << "its _metadata is deleted";
  EXPECT_EQ(job.failure(0), Reason::kJobFailoverRegion);
}

TEST(Checkpoint, ExpiryDoesNotCountOnceAllHaveAcknowledged) {
  Triggered job;
  job.ackAll(1);
  job.clock.now += 3600s;
  while (job.timer.runOne(job.clock.now)) {
  }
  job.io.drain();
  EXPECT_EQ(job.gateway->confirmed.size(), 6u);
}

TEST(Checkpoint, CompletionLine) {
  Triggered job;
  job.advance(50ms);
  for (int32_t task = 0; task < 6; ++task) job.ack(1, task, task == 2 ? stateIn("/f", OperatorID::of(0xdef, 1), 65'228) : nullptr);
  job.clock.now += 8ms;
  job.io.workOne();
  job.clock.now += 3ms;
  job.io.deliverOne();
  const auto lines = job.logged({"Triggering checkpoint", "Completed checkpoint"});
  const std::string id = job.job.toString();
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "Triggering checkpoint 1 (type=CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}) @ "
                       "1700000000000 for job " + id + ".",
                       "Completed checkpoint 1 for job " + id + " (65228 bytes, checkpointDuration=58 ms, finalizationTime=3 ms)."}));
  EXPECT_EQ(job.log.lines()[0].logger, kCoordinator);
}

TEST(Checkpoint, ADuplicateAcknowledgementChangesNothing) {
  Triggered job;
  for (int i = 0; i < 6; ++i) job.ack(1, 0, stateIn("/f"));
  job.io.drain();
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
  EXPECT_EQ(job.log.count("Received a duplicate acknowledge message for checkpoint 1, task"), 5u);
  EXPECT_TRUE(job.storage->discardedFiles.empty()) << "the files are those of the first one";
}

TEST(Checkpoint, AnAcknowledgementOfAnotherAttemptIsRefused) {
  Triggered job;
  job.coordinator->receiveAcknowledgeMessage({job.attemptOf(2, 7), 1, {}, stateIn("/stray")});
  job.io.drain();
  EXPECT_EQ(job.stats().history[0]->acknowledged, 0);
  EXPECT_EQ(job.storage->discardedFiles, (std::set<std::string>{"/stray"}));
  EXPECT_TRUE(job.storage->folders.contains(1)) << "the checkpoint itself goes on";
  EXPECT_TRUE(job.log.contains("because the task's execution attempt id was unknown. Discarding the state handle to avoid lingering state."));
  job.complete(1);
  EXPECT_EQ(job.gateway->confirmed.size(), 6u);
}

TEST(Checkpoint, ARepeatedAcknowledgementOfACompletedCheckpointDeletesNothing) {
  Triggered job;
  for (int32_t task = 0; task < 6; ++task) job.ack(1, task, stateIn("/f" + std::to_string(task)));
  job.io.drain();
  job.ack(1, 3, stateIn("/f3"));
  job.io.drain();
  EXPECT_TRUE(job.storage->discardedFiles.empty());
  EXPECT_TRUE(job.storage->folders.at(1));
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 1);
}

TEST(Checkpoint, StateOfEveryOperatorAndSubtaskGoesIntoTheMetadata) {
  Triggered job;
  for (int32_t task = 0; task < 6; ++task) {
    const auto op = OperatorID::of(0xdef, static_cast<uint64_t>(task) / 2);
    job.ack(1, task, task == 1 ? nullptr : stateIn("/f" + std::to_string(task), op));
  }
  job.io.drain();
  const auto& operators = job.storage->written.at(1);
  ASSERT_EQ(operators.size(), 3u);
  EXPECT_EQ(operators[0].name, "Source: numbers");
  EXPECT_EQ(operators[1].uid, "uid-1");
  EXPECT_EQ(operators[1].parallelism, 2);
  ASSERT_EQ(operators[0].subtasks.size(), 2u);
  EXPECT_TRUE(operators[0].subtasks.at(1).empty()) << "stateless, but there";
  EXPECT_EQ(std::get<FileHandle>(operators[2].subtasks.at(1).managedOperator[0].stream).path, "/f5");
  EXPECT_EQ(job.coordinator->completedCheckpoints().latest()->stateSize, 500);
}

TEST(Checkpoint, ExpiryAbortsTellsTheTasksAndSaysSoInOrder) {
  auto config = every(3600s);
  config.timeout = 3s;
  Triggered job(config);
  job.ack(1, 0);
  job.advance(2999ms);
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
  job.advance(1ms);
  const std::string id = job.job.toString();
  EXPECT_EQ(job.logged({"expired before", "Failed to trigger"}),
            (std::vector<std::string>{"Checkpoint 1 of job " + id + " expired before completing.",
                                      "Failed to trigger or complete checkpoint 1 for job " + id +
                                          ". (0 consecutive failed attempts so far)\norg.apache.flink.runtime.checkpoint.CheckpointException: "
                                          "Checkpoint expired before completing."}));
  EXPECT_EQ(job.gateway->aborted.size(), 6u);
  EXPECT_EQ(job.failure(0), Reason::kCheckpointExpired);
  EXPECT_TRUE(job.storage->folders.empty());
  EXPECT_EQ(job.stats().latestFailed->failureMessage, "Checkpoint expired before completing.");
}

TEST(Checkpoint, AbortMessagesCarryTheLatestCompletedId) {
  Triggered job;
  job.complete(1);
  job.trigger();
  job.decline(2, 3);
  ASSERT_EQ(job.gateway->aborted.size(), 6u);
  EXPECT_EQ(job.gateway->aborted[0].latestCompletedCheckpointId, 1);
  EXPECT_EQ(job.gateway->aborted[0].checkpoint.checkpointId, 2);
}

TEST(Checkpoint, ADeclineAbortsAndNamesTheTask) {
  Triggered job;
  job.decline(1, 3, Reason::kCheckpointAsyncException);
  EXPECT_EQ(job.logged({"Decline"})[0],
            "Decline checkpoint 1 by task " + job.attemptOf(3, 0).toString() + " of job " + job.job.toString() +
                " at tm1 @ localhost (dataPort=43433).\norg.apache.flink.runtime.checkpoint.CheckpointException: Asynchronous task checkpoint "
                "failed.");
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 1);
  EXPECT_EQ(job.gateway->aborted.size(), 6u) << "the decliner too";
  job.decline(1, 4);
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 1);
}

TEST(Checkpoint, ADeclineOfAnotherAttemptIsIgnored) {
  Triggered job;
  job.coordinator->receiveDeclineMessage({job.attemptOf(3, 9), 1, std::make_shared<CheckpointException>(Reason::kCheckpointDeclined)});
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
}

TEST(Checkpoint, ANewerCompletionSubsumesOlderPendingCheckpoints) {
  auto config = every(3600s);
  config.maxConcurrentCheckpoints = 3;
  Triggered job(config);
  job.trigger();
  job.trigger();
  job.complete(2);
  EXPECT_EQ(job.failure(0), Reason::kCheckpointSubsumed);
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1) << "3 goes on";
  EXPECT_EQ(Job::about(job.gateway->aborted, 1), 6u);
  job.complete(3);
  EXPECT_EQ(job.gateway->confirmed.back().checkpoint.checkpointId, 3);
  EXPECT_EQ(job.gateway->confirmed.back().subsumedCheckpointId, 2);
}

TEST(Checkpoint, AnOlderOneThatIsBeingWrittenIsSubsumedToo) {
  auto config = every(3600s);
  config.maxConcurrentCheckpoints = 2;
  Triggered job(config);
  job.trigger();
  job.ackAll(1);
  job.ackAll(2);
  ASSERT_EQ(job.io.waiting(), 2u);
  job.io.workOne(1);
  job.io.workOne(0);
  job.io.deliverOne(0);
  job.io.drain();
  EXPECT_EQ(Job::about(job.gateway->confirmed, 1), 0u);
  EXPECT_EQ(Job::about(job.gateway->confirmed, 2), 6u);
  EXPECT_EQ(job.storage->folders, (std::map<int64_t, bool>{{2, true}}));
}

TEST(Checkpoint, TaskFailureAbortsOnlyWhatTheAttemptHasNotAcknowledged) {
  auto config = every(3600s);
  config.maxConcurrentCheckpoints = 2;
  Triggered job(config);
  job.trigger();
  job.ack(1, 3);
  job.coordinator->failUnacknowledgedPendingCheckpointsFor(job.attemptOf(3, 0), std::make_shared<Throwable>("java.lang.Exception", "gone"));
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
  EXPECT_EQ(job.failure(0), Reason::kTaskFailure);
  EXPECT_TRUE(job.log.contains("Task has failed.\nCaused by: java.lang.Exception: gone"));
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 0);
}

// --- trouble on the way

TEST(Checkpoint, AFolderThatCannotBeMadeIsAnIoException) {
  Job job(every(3600s));
  job.storage->faults = {FakeStorage::Fault::kInitialize};
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_TRUE(job.gateway->triggered.empty());
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 1);
  EXPECT_EQ(job.logged({"Failed to"})[0],
            "Failed to trigger or complete checkpoint 1 for job " + job.job.toString() +
                ". (0 consecutive failed attempts so far)\norg.apache.flink.runtime.checkpoint.CheckpointException: An Exception occurred while "
                "triggering the checkpoint. IO-problem detected.\nCaused by: java.io.IOException: mkdir chk-1: No space left on device");
  const auto stats = job.stats();
  EXPECT_EQ(stats.counts.total, 1);
  EXPECT_EQ(stats.counts.failed, 1);
  EXPECT_EQ(stats.latestFailed->latestAckTimestampMs, -1);
  job.storage->faults.clear();
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.lastTriggered(), 2) << "the id was used up";
}

TEST(Checkpoint, MetadataThatCannotBeWrittenFailsItAndTellsTheTasks) {
  Triggered job;
  job.storage->faults = {FakeStorage::Fault::kMetadata};
  job.complete(1);
  EXPECT_EQ(job.failure(0), Reason::kFinalizeCheckpointFailure);
  EXPECT_EQ(job.gateway->aborted.size(), 6u);
  EXPECT_TRUE(job.gateway->confirmed.empty());
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 1);
  EXPECT_TRUE(job.storage->folders.empty());
}

TEST(Checkpoint, AnAbortBeforeTheFolderIsMadeIsReportedTwiceAndCountedOnce) {
  auto config = every(3600s);
  config.timeout = 10ms;
  Job job(config);
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.clock.now = 10ms;
  job.timer.runOne(10ms);  // a slow file system eats into the timeout
  EXPECT_EQ(job.log.count("Failed to trigger or complete checkpoint 1"), 1u);
  job.io.drain();
  EXPECT_EQ(job.log.count("Failed to trigger or complete checkpoint 1"), 2u);
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 1);
  EXPECT_TRUE(job.gateway->triggered.empty());
  EXPECT_TRUE(job.storage->folders.empty());
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.lastTriggered(), 2) << "the next one may run";
}

TEST(Checkpoint, AFolderThatCannotBeDeletedIsLoggedAndHoldsNothingUp) {
  Triggered job;
  job.storage->faults = {FakeStorage::Fault::kDiscard};
  job.decline(1, 0);
  EXPECT_TRUE(job.log.contains("Could not properly discard checkpoint 1"));
  EXPECT_EQ(job.coordinator->checkpointsBeingCleaned(), 0);
  job.trigger();
  EXPECT_EQ(job.lastTriggered(), 2);
}

TEST(Checkpoint, MailsThatComeBackAfterItsEndDoNothing) {
  auto job = std::make_unique<Triggered>();
  job->ackAll(1);
  job->coordinator.reset();
  job->io.drain();
  EXPECT_TRUE(job->gateway->confirmed.empty());
}

TEST(Checkpoint, AJobWithoutRunningTasksCompletesAtOnce) {
  Job job(every(3600s));
  job.setAll(ExecutionState::kFinished);
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 1);
  EXPECT_TRUE(job.storage->written.at(1)[0].fullyFinished);
}

// --- late answers

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
  expected.push_back("Triggering checkpoint 2 (type=CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}) @ "
                     "1700000005000 for job " + job.job.toString() + ".");
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
  Job job(config, pipeline(1));
  job.sharedState = registry;
  job.coordinator = std::make_unique<CheckpointCoordinator>(
      job.job, config,
      CheckpointCoordinator::Dependencies{job.log, job.clock, Random(1), job.timer, job.io, job.storage, job.topology, job.executions, {}, registry});
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
  Triggered job(config, {{"Source: short", 1, {}}, {"Source: endless", 1, {}}, {"sink", 1, {{0, DistributionPattern::kAllToAll}, {1, DistributionPattern::kAllToAll}}}});
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
