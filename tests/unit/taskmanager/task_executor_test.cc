#include "support/log_text.h"
#include "unit/taskmanager/cluster.h"

namespace weir::tmtest {
namespace {

using ::testing::HasSubstr;

enum class Kind { kSimulated, kThreads };

/// Each on virtual time and on real threads.
class TaskExecutorTest : public ::testing::TestWithParam<Kind> {
 protected:
  TaskExecutorTest() {
    if (GetParam() == Kind::kThreads) executor = std::make_unique<ThreadExecutor>(ThreadExecutorOptions{.seed = 3});
    else executor = std::make_unique<SimulatedExecutor>(SimulationOptions{.seed = 3});
    cluster = std::make_unique<Cluster>(*executor);
  }
  void expectEverythingGivenBack() {
    EXPECT_EQ(cluster->leftPartitions, 0u);
    EXPECT_EQ(cluster->leftAwaited, 0u);
    EXPECT_EQ(cluster->usedSegments, 0);
  }
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Cluster> cluster;
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
};
INSTANTIATE_TEST_SUITE_P(Executors, TaskExecutorTest, ::testing::Values(Kind::kSimulated, Kind::kThreads),
                         [](const auto& info) { return info.param == Kind::kSimulated ? "Simulated" : "Threads"; });

TEST_P(TaskExecutorTest, RunsAJobToItsEndWithEveryRecordOnce) {
  cluster->run(sourceMapSink(shared, {.records = 5000}), [&] {
    EXPECT_EQ(cluster->result().status, JobStatus::kFinished);
  });
  EXPECT_EQ(shared->distinct(), 5000u);
  EXPECT_EQ(shared->total(), 5000);
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, ConnectsVerticesOfDifferentWidths) {
  cluster->run(sourceMapSink(shared, {.records = 3000, .sources = 3, .maps = 7, .sinks = 2, .toMap = PartitionerKind::kRescale}),
               [&] { EXPECT_EQ(cluster->result().status, JobStatus::kFinished); });
  EXPECT_EQ(shared->total(), 3000);
  EXPECT_EQ(shared->distinct(), 3000u);
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, FewRecordsArriveWithinTheBufferTimeout) {
  cluster->run(sourceMapSink(shared, {.records = 1'000'000, .perSecond = 100}), [&] {
    EXPECT_TRUE(cluster->awaitThat([&] { return shared->total() >= 10; }));
  });
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, CancelsAJobThatWouldNeverEnd) {
  cluster->run(sourceMapSink(shared, {.records = std::numeric_limits<int64_t>::max() / 4, .perSecond = 10'000}), [&] {
    EXPECT_TRUE(cluster->awaitThat([&] { return shared->total() > 0; }));
    cluster->master->cancel();
    EXPECT_EQ(cluster->result().status, JobStatus::kCanceled);
  });
  for (const char* line : {"Attempting to cancel task Source: source (1/2)#0", "Triggering cancellation of task code sink (2/2)#0",
                           "Un-registering task and sending final execution state CANCELED to JobManager for task map (1/2)#0 "}) {
    EXPECT_TRUE(cluster->log.contains(line)) << line;
  }
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, AFailureOfAUserFunctionRestartsTheJobFromItsBeginning) {
  cluster->fixedDelay(3, Millis(0));
  shared->onRecord = [](RuntimeContext& runtime, int64_t record) {
    if (record == 77 && runtime.attemptNumber() == 0) throw Throwable("java.lang.IllegalStateException", "deliberate failure");
  };
  cluster->run(sourceMapSink(shared, {.records = 2000}), [&] {
    EXPECT_EQ(cluster->result().status, JobStatus::kFinished);
    ASSERT_EQ(cluster->result().exceptions.size(), 1u);
    EXPECT_EQ(cluster->result().exceptions[0].failure->trace(), "java.lang.IllegalStateException: deliberate failure");
  });
  EXPECT_EQ(shared->distinct(), 2000u);
  EXPECT_TRUE(
      cluster->log.contains("switched from RUNNING to FAILED with failure cause:\njava.lang.IllegalStateException: deliberate failure"));
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, OnlyTheFailedRegionRunsAgain) {
  cluster->fixedDelay(3, Millis(0));
  shared->onRecord = [](RuntimeContext& runtime, int64_t) {
    if (runtime.indexOfThisSubtask() == 1 && runtime.attemptNumber() == 0) throw Throwable("x.Boom", "boom");
  };
  cluster->run(
      sourceMapSink(shared,
                    {.records = 1'000'000, .perSecond = 1000, .toMap = PartitionerKind::kForward, .toSink = PartitionerKind::kForward}),
      [&] {
        EXPECT_TRUE(cluster->awaitThat([&] { return cluster->books().restarts == 1 && cluster->allIn(ExecutionState::kRunning); }));
        for (const auto& task : cluster->books().tasks) EXPECT_EQ(task.current.id.attempt, task.subtask) << task.name;
      });
  EXPECT_TRUE(cluster->log.contains("3 tasks will be restarted to recover the failed task"));
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, ARestartGoesOnFromTheLatestCheckpoint) {
  cluster->fixedDelay(3, Millis(0));
  cluster->checkpointEvery = Millis(50);
  auto mayFail = std::make_shared<std::atomic<bool>>(false);
  shared->onRecord = [mayFail](RuntimeContext& runtime, int64_t) {
    if (runtime.attemptNumber() == 0 && mayFail->load()) throw Throwable("x.Boom", "boom");
  };
  int64_t beforeFailure = 0;
  cluster->run(sourceMapSink(shared, {.records = 3000, .perSecond = 5000}), [&] {
    EXPECT_TRUE(cluster->awaitThat([&] { return cluster->log.count("Completed checkpoint") >= 3; })) << cluster->log.text();
    beforeFailure = shared->total();
    mayFail->store(true);
    EXPECT_EQ(cluster->result().status, JobStatus::kFinished) << cluster->log.text();
    EXPECT_EQ(cluster->result().restarts, 1);
  });
  EXPECT_EQ(shared->distinct(), 3000u) << "nothing is lost";
  EXPECT_LT(shared->total(), 3000 + beforeFailure) << "not everything was read again";
  EXPECT_TRUE(cluster->log.contains("Restoring job 00000000000000000000000000000007 from Checkpoint"));
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, ManyFailuresInARowLeaveNothingBehind) {
  cluster->fixedDelay(100, Millis(0));
  shared->onRecord = [](RuntimeContext& runtime, int64_t record) {
    if (record % 97 == 50 && runtime.attemptNumber() < 10) throw Throwable("x.Boom", "boom");
  };
  cluster->run(sourceMapSink(shared, {.records = 2000, .sources = 3, .maps = 3, .sinks = 3}), [&] {
    EXPECT_EQ(cluster->result().status, JobStatus::kFinished);
    EXPECT_EQ(cluster->result().restarts, 10);
  });
  expectEverythingGivenBack();
}

TEST_P(TaskExecutorTest, TooLittleNetworkMemoryFailsTheTaskWithTheKeyToTurn) {
  cluster->tmOptions.networkSegments = 4;
  cluster->run(sourceMapSink(shared, {.records = 10}), [&] {
    EXPECT_EQ(cluster->result().status, JobStatus::kFailed);
    EXPECT_THAT(cluster->result().failure->trace(), HasSubstr("taskmanager.memory.network"));
  });
  EXPECT_EQ(cluster->usedSegments, 0);
}

TEST_P(TaskExecutorTest, AnotherJobGraphIsRefused) {
  cluster->run(sourceMapSink(shared, {.records = 10}), [&] {
    EXPECT_EQ(cluster->result().status, JobStatus::kFinished);
    auto other = std::make_shared<Shared>();
    const auto graph = sourceMapSink(other, {.records = 10, .maps = 3});
    auto master = JobMaster::create(World{*executor, cluster->files, cluster->log}, graph, JobID::of(0, 8), {});
    cluster->tms[0]->connectJob({.job = JobID::of(0, 8),
                                 .graph = sourceMapSink(other, {.records = 10, .maps = 4}),
                                 .jobMaster = master,
                                 .settings = {},
                                 .storage = nullptr,
                                 .createOperatorState = nullptr});
    master->addTaskManager({"tm1", cluster->tms[0], 8});
    master->start();
    cluster->await(master->done());
    EXPECT_EQ(master->result().status, JobStatus::kFailed);
    EXPECT_THAT(master->result().failure->trace(), HasSubstr("is not the JobManager's"));
  });
}

TEST_P(TaskExecutorTest, MessagesForUnknownAttemptsAreLoggedAndDropped) {
  cluster->run(sourceMapSink(shared, {.records = 10}), [&] {
    const ExecutionAttemptID unknown{ExecutionGraphID::of(1, 2), JobVertexID::of(3, 4), 0, 0};
    cluster->tms[0]->cancelTask(unknown);
    cluster->tms[0]->triggerCheckpoint({unknown, {5, 0}, {}});
    cluster->tms[0]->confirmCheckpoint({unknown, {5, 0}, -1});
    cluster->tms[0]->abortCheckpoint({unknown, {5, 0}, 0});
    EXPECT_TRUE(
        cluster->awaitThat([&] { return cluster->log.contains("received an aborted checkpoint for unknown task " + unknown.toString()); }));
    EXPECT_TRUE(cluster->log.contains("Cannot find task to stop for execution " + unknown.toString()));
    EXPECT_TRUE(cluster->log.contains("received a checkpoint request for unknown task"));
    EXPECT_TRUE(cluster->log.contains("received a checkpoint confirmation for unknown task"));
  });
}

TEST_P(TaskExecutorTest, TellsWhichTasksRun) {
  cluster->run(sourceMapSink(shared, {.records = 1'000'000, .perSecond = 1000}), [&] {
    EXPECT_TRUE(cluster->awaitThat([&] { return cluster->allIn(ExecutionState::kRunning); }));
    size_t tasks = 0;
    for (const auto& tm : cluster->tms) {
      const auto reply = tm->requestTasks();
      cluster->await(reply->ready());
      tasks += reply->take().size();
    }
    EXPECT_EQ(tasks, 6u);
  });
}

/// Where only the order within one virtual process is of interest.
struct TaskExecutorTimeTest : ::testing::Test {
  SimulatedExecutor executor{{.seed = 11}};
  Cluster cluster{executor};
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();
};

TEST_F(TaskExecutorTimeTest, ATaskThatIgnoresItsCancellationIsLoggedAndThenEndsTheProcess) {
  std::vector<std::string> fatal;
  auto released = std::make_shared<Signal>("released");
  cluster.tmOptions.onFatalError = [&](const std::string& why) {
    fatal.push_back(why);
    released->set();
  };
  shared->onRecord = [released](RuntimeContext& runtime, int64_t) {
    if (runtime.indexOfThisSubtask() != 0) return;
    ExecutionContext& execution = runtime.execution();
    execution.setShielded(true);
    while (!released->isSet()) execution.wait(WaitReason::kRecordCost, {released.get()});
    execution.setShielded(false);
  };
  cluster.run(sourceMapSink(shared, {.records = 1'000'000, .perSecond = 1000}), [&] {
    cluster.settle(Millis(500));
    const Nanos before = executor.clock().monotonic();
    cluster.master->cancel();
    EXPECT_EQ(cluster.result().status, JobStatus::kCanceled);
    const auto waited = executor.clock().monotonic() - before;
    EXPECT_GE(waited, std::chrono::seconds(180));
    EXPECT_LT(waited, std::chrono::seconds(181));
  });
  ASSERT_EQ(fatal.size(), 1u);
  EXPECT_EQ(fatal[0], "Task did not exit gracefully within 180 + seconds.");
  EXPECT_EQ(cluster.log.count("Task 'map (1/2)#0' did not react to cancelling signal"), 5u) << "every 30 s";
  EXPECT_EQ(cluster.log.count("did not react to cancelling signal - notifying TM; it is stuck for 150 seconds."), 1u);
}

TEST_F(TaskExecutorTimeTest, TheSameSeedGivesTheSameRun) {
  const auto hashOf = [](uint64_t seed) {
    SimulatedExecutor executor({.seed = seed});
    Cluster cluster(executor);
    cluster.fixedDelay(3, Millis(10));
    auto shared = std::make_shared<Shared>();
    shared->onRecord = [](RuntimeContext& runtime, int64_t record) {
      if (record == 77 && runtime.attemptNumber() == 0) throw Throwable("x.Boom", "boom");
    };
    cluster.run(sourceMapSink(shared, {.records = 500}), [&] { EXPECT_EQ(cluster.result().status, JobStatus::kFinished); });
    return std::make_pair(executor.traceHash(), cluster.log.text());
  };
  EXPECT_EQ(hashOf(1), hashOf(1));
  EXPECT_NE(hashOf(1).first, hashOf(2).first);
}

TEST_F(TaskExecutorTimeTest, LinesOfATaskFromDeploymentToItsEndAreFlinks) {
  cluster.fixedDelay(0, Millis(0));
  shared->onRecord = [](RuntimeContext&, int64_t) { throw Throwable("java.lang.IllegalStateException", "deliberate failure"); };
  cluster.run(sourceMapSink(shared, {.records = 10, .sources = 1, .maps = 1, .sinks = 1}),
              [&] { EXPECT_EQ(cluster.result().status, JobStatus::kFailed); });
  std::vector<std::string> lines;
  for (const auto& line : cluster.log.lines()) {
    if (line.logger != "org.apache.flink.runtime.taskmanager.Task" && line.logger != "org.apache.flink.runtime.taskexecutor.TaskExecutor")
      continue;
    if (line.message.find("map (1/1)#0") == std::string::npos || line.level == LogLevel::kDebug) continue;
    std::string text = golden::withoutIds(line.message.substr(0, line.message.find('\n')));
    lines.push_back(std::string(line.level == LogLevel::kWarn ? "WARN " : "INFO ") + text);
  }
  EXPECT_THAT(lines,
              ::testing::ElementsAre(
                  "INFO Received task map (1/1)#0 (<id>_<id>_0_0), deploy into slot with allocation id <id>.",
                  "INFO map (1/1)#0 (<id>_<id>_0_0) switched from CREATED to DEPLOYING.",
                  "INFO map (1/1)#0 (<id>_<id>_0_0) switched from DEPLOYING to INITIALIZING.",
                  "INFO map (1/1)#0 (<id>_<id>_0_0) switched from INITIALIZING to RUNNING.",
                  "WARN map (1/1)#0 (<id>_<id>_0_0) switched from RUNNING to FAILED with failure cause:",
                  "INFO Freeing task resources for map (1/1)#0 (<id>_<id>_0_0).",
                  "INFO Un-registering task and sending final execution state FAILED to JobManager for task map (1/1)#0 <id>_<id>_0_0."));
}

TEST_F(TaskExecutorTimeTest, WideJobsDeployAndRestartInLittleTime) {
  cluster.slots = 64;
  cluster.tmOptions.networkSegments = 20'000;
  cluster.tmOptions.segmentSize = 4096;
  cluster.fixedDelay(3, Millis(0));
  shared->onRecord = [](RuntimeContext& runtime, int64_t record) {
    if (record == 5 && runtime.attemptNumber() == 0) throw Throwable("x.Boom", "boom");
  };
  cluster.run(sourceMapSink(shared, {.records = 2000, .sources = 64, .maps = 64, .sinks = 64}),
              [&] { EXPECT_EQ(cluster.result().status, JobStatus::kFinished); });
  EXPECT_EQ(shared->distinct(), 2000u);
  EXPECT_EQ(cluster.leftPartitions, 0u);
}

}  // namespace
}  // namespace weir::tmtest
