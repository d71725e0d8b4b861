#include "unit/jobmanager_scheduler/fakes.h"

namespace weir::jobtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr auto kAllToAll = DistributionPattern::kAllToAll;

struct JobLifeTest : JobMasterTest {};

TEST_F(JobLifeTest, AllTasksRunAndTheJobFinishesWithTheLastOne) {
  withJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    EXPECT_EQ(status(), J::kRunning);
    for (const char* task : {"a (1/2)", "a (2/2)", "b (1/2)"}) report(task, S::kFinished);
    EXPECT_EQ(status(), J::kRunning);
    report("b (2/2)", S::kFinished);
    await();
    EXPECT_EQ(master->result().status, J::kFinished);
    EXPECT_EQ(master->result().failure, nullptr);
    EXPECT_GT(master->result().runtimeMs, 0);
  });
  EXPECT_TRUE(log.contains("Job job (00000000000000000000000000000007) switched from state RUNNING to FINISHED."));
}

TEST_F(JobLifeTest, SubtasksOfAllVerticesShareSlots) {
  useTaskManagers(2, 1);
  options.scheduler.spread = SlotSpread::kSlots;
  withJob(rowOf({"a", "b", "c"}, 2, kAllToAll), [&] {
    EXPECT_THAT(tms[0]->submitted, SizeIs(3));
    EXPECT_THAT(tms[1]->submitted, SizeIs(3));
    EXPECT_EQ(taskOf("a (2/2)").current.allocation, taskOf("c (2/2)").current.allocation);
    EXPECT_NE(taskOf("a (1/2)").current.allocation, taskOf("a (2/2)").current.allocation);
  });
}

TEST_F(JobLifeTest, SlotSharingGroupsTakeSlotsOfTheirOwn) {
  auto graph = rowOf({"a", "b"}, 2, kAllToAll);
  graph->vertex(1).slotSharingGroup = "other";
  useTaskManagers(1, 3);
  withJob(graph, [&] {
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
  });
  graph = rowOf({"a", "b"}, 2, kAllToAll);
  graph->vertex(1).slotSharingGroup = "other";
  useTaskManagers(1, 4);
  withJob(graph, [&] { EXPECT_EQ(status(), J::kRunning); });
}

TEST_F(JobLifeTest, TooFewSlotsEndTheJobWithASentenceThatSaysHowMany) {
  useTaskManagers(2, 2);
  fixedDelay(10, Millis(1));
  withJob(rowOf({"a"}, 5, kAllToAll), [&] {
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
    EXPECT_THAT(master->result().failure->message(), HasSubstr("job 'job' needs 5 slots and 2 TaskManagers offer 4"));
    EXPECT_THAT(tms[0]->submitted, IsEmpty());
  });
  EXPECT_TRUE(
      log.contains("Could not acquire the minimum required resources, failing slot requests. Acquired: []. Current slot pool status: "
                   "Registered TMs: 2, registered slots: 4 free slots: 0"));
}

TEST_F(JobLifeTest, MissingSlotsAreWaitedForAndTheJobStartsWhenTheyCome) {
  useTaskManagers(2, 2);
  auto late = tms.back();
  tms.pop_back();
  options.scheduler.slotRequestTimeout = Millis(300'000);
  withJob(rowOf({"a"}, 4, kAllToAll), [&] {
    EXPECT_EQ(stateOf("a (1/4)"), S::kScheduled);
    tms.push_back(late);
    late->jobMaster = master;
    master->addTaskManager({"tm2", late, 2});
    settle();
    EXPECT_EQ(stateOf("a (1/4)"), S::kRunning);
    EXPECT_EQ(stateOf("a (4/4)"), S::kRunning);
    settle(Millis(400'000));
    EXPECT_EQ(status(), J::kRunning) << "the time-out of the slots is off";
  });
}

TEST_F(JobLifeTest, SlotsThatDoNotComeFailTheTasksAndTheStrategyDecides) {
  useTaskManagers(1, 1);
  options.scheduler.slotRequestTimeout = Millis(1000);
  fixedDelay(1, Millis(10));
  withJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    settle(Millis(5000));
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
  });
  EXPECT_EQ(log.count("switched from SCHEDULED to FAILED on [unassigned resource].\n"
                      "org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException: Could not acquire"),
            2u) << "one task of the region in each of two attempts; the others are canceled with it";
  EXPECT_TRUE(log.contains("switched from SCHEDULED to CANCELING."));
}

TEST_F(JobLifeTest, CheckpointMessagesReachTheCoordinator) {
  checkpointing = std::make_shared<FakeCheckpointing::Record>();
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    const ExecutionAttemptID attempt = taskOf("a (1/1)").current.id;
    master->acknowledgeCheckpoint({attempt, 3, {}, nullptr});
    master->declineCheckpoint({attempt, 4, nullptr});
    master->reportCheckpointMetrics({attempt, 5, {}});
    settle();
    EXPECT_THAT(checkpointing->acknowledged, ElementsAre(3, -4, 1005));
    EXPECT_THAT(checkpointing->jobs, ElementsAre(Pair(J::kCreated, J::kRunning)));
    EXPECT_THAT(checkpointing->tasks,
                ElementsAre(Pair(0, S::kScheduled), Pair(0, S::kDeploying), Pair(0, S::kInitializing), Pair(0, S::kRunning)));
  });
  EXPECT_EQ(checkpointing->shutdowns, 1);
}

TEST_F(JobLifeTest, TheJobMasterWaitsForCheckpointingToShutDown) {
  checkpointing = std::make_shared<FakeCheckpointing::Record>();
  checkpointing->holdShutdown = true;
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    report("a (1/1)", S::kFinished);
    EXPECT_EQ(status(), J::kFinished);
    EXPECT_FALSE(master->done().isSet());
  });
}

TEST_F(JobLifeTest, TheFirstStartRestoresFromASavepoint) {
  checkpointing = std::make_shared<FakeCheckpointing::Record>();
  checkpointing->checkpointId = 64;
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    EXPECT_THAT(checkpointing->restored, ElementsAre(ElementsAre(0, 1)));
    EXPECT_EQ(tms[0]->submitted.at(0).restoreCheckpointId, 64);
    EXPECT_NE(tms[0]->submitted.at(1).restore, nullptr);
  });
}

TEST_F(JobLifeTest, AStateThatCannotBeRestoredEndsTheJobBeforeAnythingRuns) {
  checkpointing = std::make_shared<FakeCheckpointing::Record>();
  checkpointing->restoreResult = Error{ErrorCode::kCorrupt, "file:/savepoints/s/_metadata is cut off at byte 17"};
  fixedDelay(10, Millis(1));
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
    EXPECT_THAT(master->result().failure->message(), HasSubstr("_metadata is cut off"));
    EXPECT_THAT(tms[0]->submitted, IsEmpty());
  });
}

TEST_F(JobLifeTest, QuestionsAfterTheEndAreAnsweredFromTheLastState) {
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    const auto early = master->requestSnapshot();
    report("a (1/1)", S::kFinished);
    await();
    EXPECT_TRUE(early->ready().isSet());
    EXPECT_EQ(books().status, J::kFinished);
    EXPECT_EQ(books().tasks.at(0).current.state, S::kFinished);
  });
}

TEST_F(JobLifeTest, ALostInitializingMessageDoesNotKeepATaskFromRunning) {
  tms[0]->answersSubmit = false;
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    report("a (1/1)", S::kRunning);
    EXPECT_EQ(stateOf("a (1/1)"), S::kRunning);
    report("a (1/1)", S::kInitializing);
    EXPECT_EQ(stateOf("a (1/1)"), S::kRunning) << "late, and dropped";
  });
}

// --- cancel ---

struct CancelTest : JobMasterTest {};

TEST_F(CancelTest, OfARunningJobCancelsEveryTask) {
  withJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    master->cancel();
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
    EXPECT_THAT(tms[0]->cancelled, SizeIs(4));
  });
  EXPECT_TRUE(log.contains("switched from state RUNNING to CANCELLING."));
  EXPECT_TRUE(log.contains("switched from state CANCELLING to CANCELED."));
}

TEST_F(CancelTest, WaitsForTheLastTask) {
  for (auto& tm : tms) tm->answersCancel = false;
  withJob(rowOf({"a"}, 2, kAllToAll), [&] {
    master->cancel();
    settle();
    report("a (1/2)", S::kCanceled);
    EXPECT_EQ(status(), J::kCancelling);
    report("a (2/2)", S::kCanceled);
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
  });
}

TEST_F(CancelTest, WhateverATaskEndsAsItIsCanceled) {
  for (auto& tm : tms) tm->answersCancel = false;
  withJob(rowOf({"a"}, 3, kAllToAll), [&] {
    master->cancel();
    settle();
    report("a (1/3)", S::kFinished);
    fail("a (2/3)");
    EXPECT_EQ(stateOf("a (1/3)"), S::kCanceled);
    EXPECT_EQ(stateOf("a (2/3)"), S::kCanceled);
    report("a (3/3)", S::kCanceled);
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
    EXPECT_THAT(master->result().exceptions, IsEmpty());
  });
}

TEST_F(CancelTest, WhileTasksAreDeployingCancelsThemToo) {
  tms[0]->answersSubmit = false;
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    report("b (1/1)", S::kInitializing);
    master->cancel();
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
  });
  EXPECT_TRUE(log.contains("switched from DEPLOYING to CANCELING."));
  EXPECT_TRUE(log.contains("switched from INITIALIZING to CANCELING."));
}

TEST_F(CancelTest, WhileWaitingForSlotsEndsAtOnce) {
  useTaskManagers(1, 1);
  options.scheduler.slotRequestTimeout = Millis(300'000);
  withJob(rowOf({"a"}, 2, kAllToAll), [&] {
    master->cancel();
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
    EXPECT_THAT(tms[0]->cancelled, IsEmpty()) << "nothing was deployed";
  });
  EXPECT_TRUE(log.contains("switched from SCHEDULED to CANCELING."));
}

TEST_F(CancelTest, InThePauseBeforeARestartEndsAtOnceAndNothingRestarts) {
  fixedDelay(5, Millis(60'000));
  withJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    fail("a (1/2)");
    EXPECT_EQ(status(), J::kRestarting);
    const size_t submitted = tms[0]->submitted.size();
    master->cancel();
    settle(Millis(120'000));
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
    EXPECT_EQ(tms[0]->submitted.size(), submitted);
  });
  EXPECT_TRUE(log.contains("switched from state RESTARTING to CANCELLING."));
}

TEST_F(CancelTest, WhileTheRegionIsStillBeingCanceledEndsWithItsLastTask) {
  for (auto& tm : tms) tm->answersCancel = false;
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    fail("a (1/1)");
    master->cancel();
    settle();
    EXPECT_EQ(status(), J::kCancelling);
    report("b (1/1)", S::kCanceled);
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
    EXPECT_THAT(tms[0]->submitted, SizeIs(2));
  });
}

TEST_F(CancelTest, WhileFailingTurnsTheEndIntoCanceled) {
  for (auto& tm : tms) tm->answersCancel = false;
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    fail("a (1/1)");
    EXPECT_EQ(status(), J::kFailing);
    master->cancel();
    settle();
    report("b (1/1)", S::kCanceled);
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
    EXPECT_EQ(master->result().failure, nullptr);
  });
}

TEST_F(CancelTest, TwiceAndAfterTheEndIsHarmless) {
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    master->cancel();
    master->cancel();
    await();
    master->cancel();
    EXPECT_EQ(master->result().status, J::kCanceled);
  });
  EXPECT_EQ(log.count("to CANCELLING."), 1u);
}

}  // namespace
}  // namespace weir::jobtest
