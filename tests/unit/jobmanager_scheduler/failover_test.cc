#include <algorithm>
#include <sstream>

#include "support/golden.h"
#include "support/log_text.h"
#include "unit/jobmanager_scheduler/fakes.h"

namespace weir::jobtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kPointwise = DistributionPattern::kPointwise;
constexpr auto kAllToAll = DistributionPattern::kAllToAll;

struct FailoverTest : JobMasterTest {};

TEST_F(FailoverTest, OnlyTheRegionOfTheFailedTaskRestarts) {
  fixedDelay(3, Millis(0));
  withJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    fail("b (1/2)");
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#0", "b (1/2)#1", "b (2/2)#0"));
    EXPECT_EQ(status(), J::kRunning);
    EXPECT_EQ(stateOf("a (1/2)"), S::kRunning);
  });
  EXPECT_TRUE(log.contains("2 tasks will be restarted to recover the failed task"));
}

TEST_F(FailoverTest, AnAllToAllEdgeMakesEverythingRestart) {
  fixedDelay(3, Millis(0));
  withJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    fail("b (1/2)");
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#1", "b (1/2)#1", "b (2/2)#1"));
  });
}

TEST_F(FailoverTest, FinishedTasksOfTheRegionRunAgain) {
  fixedDelay(3, Millis(0));
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    report("a (1/1)", S::kFinished);
    fail("b (1/1)");
    EXPECT_THAT(attempts(), ElementsAre("a (1/1)#1", "b (1/1)#1"));
    EXPECT_EQ(stateOf("a (1/1)"), S::kRunning);
  });
}

TEST_F(FailoverTest, RestoresExactlyTheRegionFromTheLatestCheckpoint) {
  checkpointing = std::make_shared<FakeCheckpointing::Record>();
  fixedDelay(3, Millis(0));
  withJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    checkpointing->checkpointId = 12;
    fail("b (2/2)");
    EXPECT_THAT(checkpointing->restored, ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(1, 3)));
    EXPECT_EQ(tms[0]->submitted.back().restoreCheckpointId, 12);
    EXPECT_EQ(taskOf("b (2/2)").current.restoreCheckpointId, 12);
    EXPECT_EQ(taskOf("b (1/2)").current.restoreCheckpointId, 0);
  });
}

TEST_F(FailoverTest, WaitsForEveryTaskOfTheRegionBeforeAnyRestarts) {
  for (auto& tm : tms) tm->answersCancel = false;
  fixedDelay(3, Millis(0));
  withJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    fail("a (1/2)");
    report("a (2/2)", S::kCanceled);
    report("b (1/2)", S::kCanceled);
    EXPECT_EQ(status(), J::kRestarting);
    EXPECT_THAT(tms[0]->submitted, SizeIs(4));
    report("b (2/2)", S::kCanceled);
    EXPECT_EQ(status(), J::kRunning);
    EXPECT_THAT(tms[0]->submitted, SizeIs(8));
  });
}

TEST_F(FailoverTest, ThePauseCountsFromTheFailureNotFromTheLastCanceledTask) {
  for (auto& tm : tms) tm->answersCancel = false;
  fixedDelay(3, Millis(1000));
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    fail("a (1/1)");
    settle(Millis(900));
    report("b (1/1)", S::kCanceled);
    EXPECT_EQ(status(), J::kRestarting);
    settle(Millis(100));
    EXPECT_EQ(status(), J::kRunning);
  });
}

TEST_F(FailoverTest, RestartedTasksReturnToTheirSlots) {
  options.scheduler.spread = SlotSpread::kSlots;
  fixedDelay(3, Millis(0));
  withJob(rowOf({"a", "b"}, 4, kPointwise), [&] {
    const auto before = taskOf("b (3/4)").current;
    fail("a (3/4)");
    const auto after = taskOf("b (3/4)").current;
    EXPECT_EQ(after.id.attempt, 1);
    EXPECT_EQ(after.allocation, before.allocation);
    EXPECT_EQ(after.location, before.location);
  });
}

TEST_F(FailoverTest, TwoRegionsRestartIndependentlyAndTheJobRunsWhenBothDo) {
  fixedDelay(5, Millis(1000));
  withJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    fail("a (1/2)");
    settle(Millis(500));
    fail("a (2/2)");
    EXPECT_EQ(status(), J::kRestarting);
    settle(Millis(520));
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#0", "b (1/2)#1", "b (2/2)#0"));
    EXPECT_EQ(status(), J::kRestarting);
    settle(Millis(600));
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#1", "b (1/2)#1", "b (2/2)#1"));
    EXPECT_EQ(status(), J::kRunning);
  });
  EXPECT_EQ(log.count("switched from state RUNNING to RESTARTING."), 1u);
  EXPECT_EQ(log.count("switched from state RESTARTING to RUNNING."), 1u);
}

TEST_F(FailoverTest, AFailureOfTheNewAttemptStartsAnotherRestart) {
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    tms[0]->answersSubmit = false;
    fail("a (1/1)");
    EXPECT_EQ(stateOf("a (1/1)"), S::kDeploying);
    tms[0]->answersSubmit = true;
    fail("b (1/1)", "again");
    EXPECT_THAT(attempts(), ElementsAre("a (1/1)#2", "b (1/1)#2"));
    EXPECT_EQ(stateOf("b (1/1)"), S::kRunning);
  });
}

TEST_F(FailoverTest, AFailureDuringTheCancellationOfItsRegionIsPartOfIt) {
  for (auto& tm : tms) tm->answersCancel = false;
  fixedDelay(1, Millis(0));
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    fail("a (1/1)");
    fail("b (1/1)", "a consequence");
    EXPECT_EQ(taskOf("b (1/1)").prior.back().state, S::kCanceled);
    EXPECT_EQ(status(), J::kRunning) << "one failure, one attempt of the strategy";
    EXPECT_EQ(books().restarts, 1);
  });
}

TEST_F(FailoverTest, AGlobalFailureTakesOverARegionThatWaitsForItsRestart) {
  fixedDelay(5, Millis(1000));
  withJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    fail("a (1/2)");
    settle(Millis(500));
    master->failGlobally(std::make_shared<Throwable>("org.apache.flink.util.FlinkRuntimeException", "threshold"));
    settle(Millis(600));
    EXPECT_EQ(status(), J::kRestarting) << "the first restart is void";
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#0", "a (2/2)#0", "b (1/2)#0", "b (2/2)#0"));
    settle(Millis(500));
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#1", "b (1/2)#1", "b (2/2)#1"));
    EXPECT_EQ(status(), J::kRunning);
  });
  EXPECT_TRUE(log.contains("4 tasks will be restarted to recover from a global failure."));
}

TEST_F(FailoverTest, AGlobalFailureWhileARegionIsBeingCanceledWaitsForItToo) {
  for (auto& tm : tms) tm->answersCancel = false;
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a"}, 2, kPointwise), [&] {
    fail("a (1/2)");
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#0"));
    master->failGlobally(std::make_shared<Throwable>("x.Y", "z"));
    settle();
    report("a (2/2)", S::kCanceled);
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#0"));
    report("a (1/2)", S::kCanceled);
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#2", "a (2/2)#1"));
  });
}

TEST_F(FailoverTest, AWholeRegionTakenOverWhileCancelingLeavesNoRestartBehind) {
  for (auto& tm : tms) tm->answersCancel = false;
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    fail("a (1/2)");  // b (1/2) is being canceled
    master->failGlobally(std::make_shared<Throwable>("x.Y", "z"));
    settle();
    for (const char* task : {"b (1/2)", "a (2/2)", "b (2/2)"}) report(task, S::kCanceled);
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#1", "b (1/2)#1", "b (2/2)#1"));
    EXPECT_EQ(status(), J::kRunning);
  });
}

TEST_F(FailoverTest, StaleMessagesOfAnOldAttemptChangeNothing) {
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    const ExecutionAttemptID old = taskOf("a (1/1)").current.id;
    fail("a (1/1)");
    for (const S state : {S::kFailed, S::kFinished, S::kCanceled, S::kRunning}) tms[0]->report(old, state);
    settle();
    EXPECT_THAT(attempts(), ElementsAre("a (1/1)#1"));
    EXPECT_EQ(stateOf("a (1/1)"), S::kRunning);
  });
  EXPECT_EQ(log.count("which is not a current attempt."), 4u);
}

TEST_F(FailoverTest, ATaskThatWasCanceledByNobodyCountsAsFailed) {
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    report("a (1/1)", S::kCanceled);
    EXPECT_THAT(attempts(), ElementsAre("a (1/1)#1"));
    EXPECT_THAT(books().exceptions.at(0).failure->message(), HasSubstr("ended as CANCELED without being told to"));
  });
}

TEST_F(FailoverTest, TheFinalFailureNamesTheStrategyAndItsCause) {
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    fail("a (1/1)", "disk on fire");
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
    EXPECT_EQ(master->result().failure->trace(),
              "org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy\n"
              "Caused by: java.lang.IllegalStateException: disk on fire");
  });
  EXPECT_TRUE(log.contains("switched from state RUNNING to FAILING.\norg.apache.flink.runtime.JobException: Recovery is suppressed by"));
  EXPECT_TRUE(log.contains("switched from state FAILING to FAILED.\norg.apache.flink.runtime.JobException: Recovery is suppressed by"));
}

TEST_F(FailoverTest, AFailureThatSuppressesRestartsEndsTheJob) {
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    const auto cause = std::make_shared<Throwable>("org.apache.flink.runtime.execution.SuppressRestartsException", "corrupt");
    report("a (1/1)", S::kFailed, std::make_shared<Throwable>("java.lang.Exception", "outer", cause));
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
    EXPECT_EQ(master->result().failure->message(), "The failure is not recoverable");
  });
}

TEST_F(FailoverTest, AStateThatCannotBeRestoredEndsTheJob) {
  checkpointing = std::make_shared<FakeCheckpointing::Record>();
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a"}, 1, kAllToAll), [&] {
    checkpointing->restoreResult = Error{ErrorCode::kCorrupt, "gone"};
    fail("a (1/1)");
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
  });
}

TEST_F(FailoverTest, TheExceptionHistoryNamesTaskPlaceAndAttempt) {
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a", "b"}, 1, kAllToAll), [&] {
    fail("b (1/1)", "one");
    fail("b (1/1)", "two");
    const auto history = books().exceptions;
    ASSERT_THAT(history, SizeIs(2));
    EXPECT_EQ(history[1].taskName, "b (1/1) - execution #1");
    EXPECT_EQ(history[1].location, "tm1 @ localhost (dataPort=1)");
    EXPECT_EQ(history[1].failure->message(), "two");
    EXPECT_GT(history[1].timestampMs, history[0].timestampMs);
  });
}

TEST_F(FailoverTest, FailuresInsideAnExponentialPauseGoWithTheFirst) {
  options.scheduler.restart = RestartStrategyOptions::defaults(true);
  withJob(rowOf({"a"}, 2, kPointwise), [&] {
    fail("a (1/2)", "first");
    fail("a (2/2)", "second");
    const auto history = books().exceptions;
    ASSERT_THAT(history, SizeIs(1));
    ASSERT_THAT(history[0].concurrent, SizeIs(1));
    EXPECT_EQ(history[0].concurrent[0].failure->message(), "second");
    settle(Millis(1200));
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#1", "a (2/2)#1"));
  });
}

TEST_F(FailoverTest, TheHistoryIsBounded) {
  options.scheduler.exceptionHistorySize = 3;
  fixedDelay(100, Millis(0));
  withJob(rowOf({"a"}, 1, kPointwise), [&] {
    for (int i = 0; i < 5; ++i) fail("a (1/1)", std::to_string(i));
    const auto history = books().exceptions;
    ASSERT_THAT(history, SizeIs(3));
    EXPECT_EQ(history.back().failure->message(), "4");
    EXPECT_EQ(books().restarts, 5);
  });
}

// --- lost TaskManagers ---

TEST_F(FailoverTest, ALostTaskManagerFailsItsTasksAndTheyRunElsewhere) {
  useTaskManagers(2, 2);
  options.scheduler.spread = SlotSpread::kSlots;
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    EXPECT_THAT(tms[1]->submitted, SizeIs(2));
    master->taskManagerLost("tm2", "TaskManager with id tm2 is no longer reachable.");
    settle();
    EXPECT_THAT(attempts(), ElementsAre("a (1/2)#0", "a (2/2)#1", "b (1/2)#0", "b (2/2)#1"));
    EXPECT_EQ(taskOf("b (2/2)").current.location, tms[0]->location());
    EXPECT_EQ(status(), J::kRunning);
    EXPECT_THAT(tms[1]->cancelled, IsEmpty()) << "nobody is there to be told";
    EXPECT_THAT(books().exceptions.at(0).failure->trace(),
                "org.apache.flink.runtime.jobmaster.JobMasterException: TaskManager with id tm2 is no longer reachable.");
  });
}

TEST_F(FailoverTest, ALossWhileCancelingCompletesTheCancellation) {
  tms[0]->answersCancel = false;
  withJob(rowOf({"a"}, 2, kPointwise), [&] {
    master->cancel();
    settle();
    EXPECT_EQ(status(), J::kCancelling);
    master->taskManagerLost("tm1", "gone");
    await();
    EXPECT_EQ(master->result().status, J::kCanceled);
  });
}

TEST_F(FailoverTest, ALossWithTooFewSlotsLeftEndsTheJob) {
  useTaskManagers(2, 1);
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a"}, 2, kAllToAll), [&] {
    master->taskManagerLost("tm1", "gone");
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
    EXPECT_THAT(master->result().failure->message(), HasSubstr("needs 2 slots and 1 TaskManagers offer 1"));
  });
}

// --- size ---

TEST_F(FailoverTest, ADeploymentOf512SourcesAndAsManySinksIsCheap) {
  useTaskManagers(4, 128);
  fixedDelay(5, Millis(0));
  withJob(rowOf({"a", "b"}, 512, kAllToAll), [&] {
    EXPECT_EQ(status(), J::kRunning);
    fail("a (17/512)");
    EXPECT_EQ(status(), J::kRunning);
    EXPECT_EQ(stateOf("b (512/512)"), S::kRunning);
    std::set<const void*> lists;
    for (const auto& tm : tms) {
      for (const auto& d : tm->submitted) {
        for (const auto& gate : d.inputs) lists.insert(gate.channels.get());
      }
    }
    EXPECT_THAT(lists, SizeIs(2)) << "one list of channels per attempt of the graph, shared by 512 gates";
  });
}

// --- as Flink logs it ---

std::string normalized(const std::string& line) {
  const std::string text = golden::withReplaced(golden::withoutIds(line), "dataPort=", "0123456789", "dataPort=<n>");
  return golden::withReplaced(text, "FailoverStrategy@", "0123456789abcdef", "FailoverStrategy");
}

/// Lines of the job and its tasks, without stack traces. Where Flink's order depends on threads (what tasks report, who is canceled
/// first), lines are sorted within the stretch between two lines of the job.
std::vector<std::string> inStretches(const std::vector<std::string>& lines) {
  std::vector<std::string> out, stretch;
  const auto flush = [&] {
    std::sort(stretch.begin(), stretch.end());
    out.insert(out.end(), stretch.begin(), stretch.end());
    stretch.clear();
  };
  for (const std::string& line : lines) {
    const bool isTask = line.find(") switched from ") != std::string::npos && line.find("switched from state") == std::string::npos;
    const bool isFailure = line.find("to FAILED") != std::string::npos;
    if ((isTask && !isFailure) || line.starts_with("Deploying ") || line.starts_with("Disconnect ")) {
      stretch.push_back(line);
      continue;
    }
    flush();
    out.push_back(line);
  }
  flush();
  return out;
}

bool isOurs(std::string_view message) {
  for (const char* other :
       {"Connecting to ResourceManager", "Resolved ResourceManager", "JobManager successfully registered", "Close ResourceManager",
        "Successfully ran initialization", "Checkpoint storage is set", "No state backend", "State backend", "Using job/cluster"}) {
    if (message.starts_with(other)) return false;
  }
  return true;
}

TEST_F(FailoverTest, ThreeFailuresOfOneTaskAreLoggedAsByFlink) {
  std::vector<std::string> expected;
  const std::string golden = golden::readText("logs/C-jobmanager.log");
  std::istringstream lines(golden);
  for (std::string text; std::getline(lines, text);) {
    const auto line = golden::parseLogLine(text);
    if (!line || !isOurs(line->message)) continue;
    if (line->logger != "org.apache.flink.runtime.executiongraph.ExecutionGraph" &&
        line->logger != "org.apache.flink.runtime.jobmaster.JobMaster") {
      continue;
    }
    expected.push_back(normalized(line->message));
  }
  ASSERT_GT(expected.size(), 100u);

  fixedDelay(2, Millis(1000));
  options.scheduler.spread = SlotSpread::kSlots;
  withJob(rowOf({"Source: numbers -> pace -> make events -> watermarks", "enrich", "count per second", "discard: Writer"}, 2, kAllToAll,
                "surface-C"),
          [&] {
            for (int i = 0; i < 3; ++i) {
              fail("enrich (2/2)");
              settle(Millis(1500));
            }
            await();
          });
  std::vector<std::string> actual;
  for (const auto& line : log.lines()) {
    if (line.level != LogLevel::kDebug) actual.push_back(normalized(line.message.substr(0, line.message.find('\n'))));
  }
  const auto want = inStretches(expected), got = inStretches(actual);
  for (size_t i = 0; i < std::max(want.size(), got.size()); ++i) {
    ASSERT_EQ(i < got.size() ? got[i] : "(end)", i < want.size() ? want[i] : "(end)") << "line " << i;
  }
}

}  // namespace
}  // namespace weir::jobtest
