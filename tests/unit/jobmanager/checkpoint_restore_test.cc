#include "checkpoint_fixture.h"

// What a restart finds, what is kept and what is deleted, savepoints.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;
using Retention = CheckpointProperties::Retention;

std::shared_ptr<const CheckpointException> failureOf(const CheckpointOutcome& outcome) {
  return std::get<std::shared_ptr<const CheckpointException>>(outcome);
}

TEST(Restore, WithoutACheckpointTheJobStartsAnew) {
  Job job(every(1h));
  EXPECT_EQ(job.coordinator->restoreLatest(), nullptr);
  EXPECT_TRUE(job.log.contains("No checkpoint found during restore."));
  EXPECT_EQ(job.stats().counts.restored, 0);
}

TEST(Restore, TheNewestCompletedCheckpointAfterAbortingWhatIsPending) {
  Triggered job;
  job.complete(1);
  job.advance(10s);
  job.trigger();
  job.advance(1s);
  const auto restored = job.coordinator->restoreLatest();
  ASSERT_NE(restored, nullptr);
  EXPECT_EQ(restored->id, 1);
  EXPECT_EQ(job.failure(1), Reason::kJobFailoverRegion);
  const std::string id = job.job.toString();
  EXPECT_EQ(job.logged({"FailoverRegion is restarting.", "Restoring job", "No master state"}),
            (std::vector<std::string>{
                "Failed to trigger or complete checkpoint 2 for job " + id +
                    ". (0 consecutive failed attempts so far)\norg.apache.flink.runtime.checkpoint."
                    "CheckpointException: FailoverRegion is restarting.",
                "Restoring job " + id + " from Checkpoint 1 @ 1700000000000 for " + id + " located at file:/checkpoints/job/chk-1.",
                "No master state to restore"}));
  const auto stats = job.stats();
  EXPECT_EQ(stats.counts.restored, 1);
  EXPECT_EQ(stats.latestRestored->id, 1);
  EXPECT_EQ(stats.latestRestored->restoreTimestampMs, ManualClock::kStartMs + 11'000);
  EXPECT_EQ(stats.latestRestored->externalPath, "file:/checkpoints/job/chk-1");
  EXPECT_FALSE(stats.latestRestored->savepoint);
  EXPECT_EQ(job.coordinator->stats().gauges().lastCheckpointRestoreTimestamp, ManualClock::kStartMs + 11'000);
  job.restart();
  job.trigger();
  EXPECT_EQ(job.lastTriggered(), 3) << "ids go on";
}

TEST(Restore, AQueuedRequestMeetsTasksThatDoNotRunYetAndIsReportedAfterTheRestore) {
  Job job(every(1s));
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(3500ms);  // 1 pending, the rest queued
  job.setAll(ExecutionState::kCreated);
  job.coordinator->restoreLatest();
  const auto lines = job.logged({"FailoverRegion", "No checkpoint found", "is not being executed"});
  ASSERT_GE(lines.size(), 3u);
  EXPECT_TRUE(lines[0].starts_with("Failed to trigger or complete checkpoint 1"));
  EXPECT_EQ(lines[1], "No checkpoint found during restore.");
  EXPECT_TRUE(lines[2].starts_with("Failed to trigger checkpoint for job"));
}

TEST(Restore, FromASavepointTheIdGoesOnBehindIt) {
  Job job(every(1h));
  const auto restored = job.coordinator->restoreFrom("/savepoints/savepoint-db7b4a-5a31ca19137d", 23, {}, RestoreMode::kNoClaim, false);
  EXPECT_EQ(restored->id, 23);
  const std::string id = job.job.toString();
  EXPECT_EQ(job.logged({""}),
            (std::vector<std::string>{
                "Starting job " + id + " from savepoint file:/savepoints/savepoint-db7b4a-5a31ca19137d ()",
                "Reset the checkpoint ID of job " + id + " to 24.",
                "Restoring job " + id + " from Savepoint 23 @ 0 for " + id + " located at file:/savepoints/savepoint-db7b4a-5a31ca19137d.",
                "No master state to restore"}));
  EXPECT_TRUE(job.stats().latestRestored->savepoint);
  EXPECT_EQ(job.coordinator->restoreLatest()->id, 23) << "also after a failure before the first checkpoint";
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.lastTriggered(), 24);
  EXPECT_EQ(job.gateway->triggered.back().options.type, SnapshotType::kFullCheckpoint) << "unclaimed: nothing of it may be shared";
  EXPECT_TRUE(job.log.contains("Triggering checkpoint 24 (type=CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD})"));
  job.complete(24);
  EXPECT_TRUE(job.storage->discardedPaths.empty()) << "not ours";
  EXPECT_EQ(job.gateway->confirmed.back().subsumedCheckpointId, -1);
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.gateway->triggered.back().options.type, SnapshotType::kCheckpoint);
}

TEST(Restore, AClaimedCheckpointIsDeletedOnceSubsumed) {
  Job job(every(1h));
  job.coordinator->restoreFrom("/old/chk-9", 9, {}, RestoreMode::kClaim, true);
  EXPECT_TRUE(job.log.contains("Starting job " + job.job.toString() + " from savepoint file:/old/chk-9 (allowing non restored state)"));
  EXPECT_TRUE(job.log.contains("from Checkpoint 9 @ 0 for"));
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.complete(10);
  EXPECT_EQ(job.storage->discardedPaths, (std::vector<std::string>{"/old/chk-9"}));
  EXPECT_EQ(job.gateway->confirmed.back().subsumedCheckpointId, 9);
}

TEST(Retained, NumRetainedNewestAreKeptAndTheOthersDeletedAfterTheyAreSubsumed) {
  auto config = every(1h);
  config.numRetained = 3;
  Triggered job(config);
  for (int64_t id = 1; id <= 5; ++id) {
    if (id > 1) job.trigger();
    job.complete(id);
    EXPECT_EQ(job.gateway->confirmed.back().subsumedCheckpointId, id > 3 ? id - 3 : -1);
  }
  EXPECT_EQ(job.storage->folders, (std::map<int64_t, bool>{{3, true}, {4, true}, {5, true}}));
  EXPECT_EQ(job.storage->discarded, (std::vector<int64_t>{1, 2}));
}

struct EndCase {
  Retention retention;
  JobEnd end;
  bool kept;
};
class AtTheEnd : public testing::TestWithParam<EndCase> {};

TEST_P(AtTheEnd, CompletedCheckpointsGoOrStay) {
  auto config = every(1h);
  config.retention = GetParam().retention;
  config.numRetained = 2;
  Triggered job(config);
  job.complete(1);
  job.trigger();
  job.complete(2);
  job.trigger();  // pending
  bool cleaned = false;
  job.coordinator->shutdown(GetParam().end, [&] { cleaned = true; });
  EXPECT_FALSE(cleaned);
  job.io.drain();
  EXPECT_TRUE(cleaned);
  EXPECT_EQ(job.storage->folders.size(), GetParam().kept ? 2u : 0u);
  EXPECT_EQ(job.failure(2), Reason::kCheckpointCoordinatorShutdown);
  EXPECT_TRUE(job.log.contains("Stopping checkpoint coordinator for job " + job.job.toString() + "."));
  EXPECT_EQ(job.log.contains("Checkpoint with ID 2 at 'file:/checkpoints/job/chk-2' not discarded."), GetParam().kept);
  job.trigger();
  EXPECT_EQ(job.failure(3), Reason::kCheckpointCoordinatorShutdown);
  EXPECT_EQ(job.stats().find(2)->discarded, !GetParam().kept);
}

std::string nameOfEnd(const testing::TestParamInfo<EndCase>& info) {
  constexpr const char* kRetentions[] = {"DeleteOnCancellation", "RetainOnCancellation", "NoExternalized"};
  constexpr const char* kEnds[] = {"Finished", "Canceled", "Failed", "Suspended"};
  return std::string(kRetentions[static_cast<int>(info.param.retention)]) + kEnds[static_cast<int>(info.param.end)];
}

INSTANTIATE_TEST_SUITE_P(Table, AtTheEnd,
                         testing::Values(EndCase{Retention::kNone, JobEnd::kFinished, false},
                                         EndCase{Retention::kNone, JobEnd::kCanceled, false},
                                         EndCase{Retention::kNone, JobEnd::kFailed, false},
                                         EndCase{Retention::kNone, JobEnd::kSuspended, false},
                                         EndCase{Retention::kRetainOnCancellation, JobEnd::kFinished, false},
                                         EndCase{Retention::kRetainOnCancellation, JobEnd::kCanceled, true},
                                         EndCase{Retention::kRetainOnCancellation, JobEnd::kFailed, true},
                                         EndCase{Retention::kRetainOnCancellation, JobEnd::kSuspended, true},
                                         EndCase{Retention::kDeleteOnCancellation, JobEnd::kFinished, false},
                                         EndCase{Retention::kDeleteOnCancellation, JobEnd::kCanceled, false},
                                         EndCase{Retention::kDeleteOnCancellation, JobEnd::kFailed, true},
                                         EndCase{Retention::kDeleteOnCancellation, JobEnd::kSuspended, false}),
                         nameOfEnd);

TEST(AtTheEndOfAJob, WithNothingToCleanItIsDoneAtOnce) {
  Job job(every(1h));
  bool cleaned = false;
  job.coordinator->shutdown(JobEnd::kFinished, [&] { cleaned = true; });
  EXPECT_TRUE(cleaned);
}

TEST(AtTheEndOfAJob, ItWaitsForTheFolderThatIsBeingMadeForACheckpoint) {
  Job job(every(1h));
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  ASSERT_TRUE(job.io.workOne());
  ASSERT_TRUE(job.storage->folders.contains(1));
  bool cleaned = false;
  job.coordinator->shutdown(JobEnd::kCanceled, [&] { cleaned = true; });
  EXPECT_FALSE(cleaned) << "whoever is told ends the actor that deletes the folder";
  job.io.drain();
  EXPECT_TRUE(cleaned);
  EXPECT_TRUE(job.storage->folders.empty());
}

TEST(AtTheEndOfAJob, ItWaitsForTheFilesOfALateAcknowledgement) {
  Triggered job;
  job.decline(1, 0);
  job.ack(1, 1, stateIn("/checkpoints/job/chk-1/late"));
  bool cleaned = false;
  job.coordinator->shutdown(JobEnd::kCanceled, [&] { cleaned = true; });
  EXPECT_FALSE(cleaned);
  job.io.drain();
  EXPECT_TRUE(cleaned);
  EXPECT_TRUE(job.storage->discardedFiles.contains("/checkpoints/job/chk-1/late"));
}

TEST(Savepoint, APlainOneIsAlignedNotifiesNobodyAndSubsumesNothing) {
  auto config = every(1h);
  config.unalignedEnabled = true;
  Triggered job(config);
  job.complete(1);
  const size_t confirmed = job.gateway->confirmed.size();
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kNative, job.remember());
  job.io.drain();
  const CheckpointOptions& options = job.gateway->triggered.back().options;
  EXPECT_EQ(options.type, SnapshotType::kSavepoint);
  EXPECT_EQ(options.format, SavepointFormat::kNative);
  EXPECT_EQ(options.alignment, AlignmentType::kAligned);
  ASSERT_TRUE(options.hasLocation);
  EXPECT_EQ(std::string(options.location.begin() + 4, options.location.end()), "/savepoints/savepoint-2");
  EXPECT_EQ(std::vector<uint8_t>(options.location.begin(), options.location.begin() + 4), (std::vector<uint8_t>{0x05, 0x5f, 0x3f, 0x18}));
  job.complete(2);
  EXPECT_EQ(job.gateway->confirmed.size(), confirmed);
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 1) << "a restart does not use it";
  EXPECT_EQ(job.storage->folders, (std::map<int64_t, bool>{{1, true}}));
  EXPECT_TRUE(job.storage->savepoints.at("/savepoints/savepoint-2"));
  EXPECT_EQ(job.completed(1)->externalPointer(), "file:/savepoints/savepoint-2");
}

TEST(Savepoint, APlainOneLeavesOlderPendingCheckpointsAlone) {
  auto config = every(1h);
  config.maxConcurrentCheckpoints = 2;
  Triggered job(config);
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, nullptr);
  job.complete(2);
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
  EXPECT_TRUE(job.gateway->aborted.empty());
  job.complete(1);
  EXPECT_EQ(job.completed(0)->id, 1);
}

TEST(Savepoint, IsNeverSubsumedAndNeverDeletedAtTheEnd) {
  auto config = every(1h);
  config.maxConcurrentCheckpoints = 2;
  Triggered job(config);
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, job.remember());
  job.io.drain();
  job.complete(1);
  job.trigger();
  job.complete(3);
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1);
  job.complete(2);
  EXPECT_TRUE(job.storage->savepoints.at("/savepoints/savepoint-2"));
  job.coordinator->shutdown(JobEnd::kFinished);
  job.io.drain();
  EXPECT_TRUE(job.storage->savepoints.contains("/savepoints/savepoint-2"));
}

TEST(Savepoint, IsForcedPastTheLimitOnlyWithoutUnaligned) {
  for (const bool unaligned : {false, true}) {
    auto config = every(1h);
    config.unalignedEnabled = unaligned;
    Triggered job(config);
    job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, nullptr);
    job.io.drain();
    EXPECT_EQ(job.coordinator->pendingCheckpoints(), unaligned ? 1 : 2);
    EXPECT_EQ(job.coordinator->queuedRequests(), unaligned ? 1u : 0u);
  }
}

TEST(Savepoint, ARepeatedAcknowledgementOfACompletedOneDeletesNothing) {
  Triggered job;
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, nullptr);
  job.complete(2);
  job.ack(2, 3, stateIn("/savepoints/savepoint-2/f"));
  job.io.drain();
  EXPECT_TRUE(job.storage->discardedFiles.empty());
}

TEST(Savepoint, AnAbortedOneLeavesNoFolder) {
  Triggered job;
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, job.remember());
  job.io.drain();
  job.decline(2, 0);
  EXPECT_TRUE(job.storage->savepoints.empty());
  EXPECT_EQ(failureOf(job.outcomes[0])->reason(), Reason::kCheckpointDeclined);
}

TEST(Savepoint, AStorageWithoutThemRefuses) {
  Triggered job;
  job.storage->offersSavepoints = false;
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, job.remember());
  job.io.drain();
  EXPECT_EQ(job.failure(0), Reason::kTriggerCheckpointFailure);
  EXPECT_EQ(failureOf(job.outcomes[0])->cause()->message(), "this checkpoint storage takes no savepoints: use a file system");
  EXPECT_EQ(job.coordinator->consecutiveFailures(), 0);
}

TEST(StopWithSavepoint, StopsTheScheduleNotifiesTheTasksAndSubsumesPending) {
  auto config = every(100ms);
  config.maxConcurrentCheckpoints = 2;
  Triggered job(config);
  job.coordinator->startCheckpointScheduler();
  job.trigger();
  job.complete(2);
  job.coordinator->triggerStopWithSavepoint("/savepoints", SavepointFormat::kCanonical, true, job.remember());
  job.advance(1s);
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
  EXPECT_EQ(job.gateway->triggered.back().options.type, SnapshotType::kSavepointTerminate);
  EXPECT_TRUE(job.log.contains("(type=SavepointType{name='Terminate Savepoint', postCheckpointAction=TERMINATE, formatType=CANONICAL})"));
  const int64_t id = job.lastTriggered();
  job.complete(id);
  EXPECT_EQ(Job::about(job.gateway->confirmed, id), 6u) << "the tasks finish on this";
  EXPECT_EQ(job.gateway->confirmed.back().subsumedCheckpointId, -1);
  EXPECT_EQ(job.coordinator->completedCheckpoints().latestId(), 2);
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
}

TEST(StopWithSavepoint, IfItFailsTheScheduleGoesOn) {
  Job job(every(100ms));
  job.coordinator->startCheckpointScheduler();
  job.storage->faults = {FakeStorage::Fault::kInitialize};
  int failed = 0;
  job.coordinator->triggerStopWithSavepoint("/savepoints", SavepointFormat::kCanonical, false,
                                            [&](const CheckpointOutcome& outcome) { failed += failureOf(outcome) != nullptr; });
  EXPECT_FALSE(job.coordinator->isPeriodicCheckpointingStarted());
  job.io.drain();
  EXPECT_EQ(failed, 1);
  EXPECT_TRUE(job.coordinator->isPeriodicCheckpointingStarted());
}

TEST(StopWithSavepoint, ATaskThatDeclinesFailsTheJob) {
  Job job(every(100ms));
  job.coordinator->triggerStopWithSavepoint("/savepoints", SavepointFormat::kCanonical, false, nullptr);
  job.io.drain();
  job.decline(1, 2, Reason::kCheckpointDeclinedTaskNotReady);
  EXPECT_EQ(job.failures.size(), 1u);
}

TEST(Configuration, RefusesWhatFlinkRefuses) {
  CheckpointCoordinatorConfiguration good;
  good.interval = 10ms;
  EXPECT_TRUE(good.validate().has_value());
  const auto message = [&](auto change) {
    auto config = good;
    change(config);
    const auto result = config.validate();
    return result.has_error() ? result.error().message : std::string("accepted");
  };
  EXPECT_EQ(message([](auto& c) { c.interval = 9ms; }), "execution.checkpointing.interval is 9, but it must be at least 10 ms");
  EXPECT_EQ(message([](auto& c) { c.timeout = 9ms; }), "execution.checkpointing.timeout is 9, but it must be at least 10 ms");
  EXPECT_EQ(message([](auto& c) { c.minPause = -1ms; }), "execution.checkpointing.min-pause is -1, but it must be 0 or more");
  EXPECT_EQ(message([](auto& c) { c.numRetained = 0; }), "execution.checkpointing.num-retained is 0, but it must be at least 1");
  EXPECT_EQ(message([](auto& c) {
              c.unalignedEnabled = true;
              c.maxConcurrentCheckpoints = 2;
            }),
            "maxConcurrentCheckpoints can't be > 1 if UnalignedCheckpoints enabled");
}

}  // namespace
}  // namespace weir::checkpointtest
