#include "checkpoint_fixture.h"

// One checkpoint from its trigger to its end: acknowledgements, completion, expiry, declines, aborts.
namespace weir::checkpointtest {
namespace {

constexpr const char* kCoordinator = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator";

using namespace std::chrono_literals;

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
                       "1700000000000 for job " +
                           id + ".",
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
  EXPECT_TRUE(
      job.log.contains("because the task's execution attempt id was unknown. Discarding the state handle to avoid lingering state."));
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
  EXPECT_EQ(
      job.logged({"expired before", "Failed to trigger"}),
      (std::vector<std::string>{"Checkpoint 1 of job " + id + " expired before completing.",
                                "Failed to trigger or complete checkpoint 1 for job " + id +
                                    ". (0 consecutive failed attempts so far)\n"
                                    "org.apache.flink.runtime.checkpoint.CheckpointException: Checkpoint expired before completing."}));
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
                " at tm1 @ localhost (dataPort=43433).\n"
                "org.apache.flink.runtime.checkpoint.CheckpointException: Asynchronous task checkpoint failed.");
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
                ". (0 consecutive failed attempts so far)\n"
                "org.apache.flink.runtime.checkpoint.CheckpointException: An Exception occurred while triggering the checkpoint. "
                "IO-problem detected.\nCaused by: java.io.IOException: mkdir chk-1: No space left on device");
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

}  // namespace
}  // namespace weir::checkpointtest
