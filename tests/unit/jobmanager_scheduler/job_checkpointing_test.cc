#include "weir/jobmanager/job_checkpointing.h"

#include "unit/jobmanager_scheduler/fakes.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"

namespace weir::jobtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kPointwise = DistributionPattern::kPointwise;
constexpr auto kAllToAll = DistributionPattern::kAllToAll;

CompletedCheckpoint checkpointOf(const JobGraph& graph) {
  CompletedCheckpoint checkpoint;
  checkpoint.id = 5;
  for (const JobVertex& v : graph.vertices()) {
    OperatorState state;
    state.id = v.operators[0].id;
    state.parallelism = v.parallelism;
    state.maxParallelism = v.maxParallelism;
    for (int32_t i = 0; i < v.parallelism; ++i) {
      OperatorStateHandle handle;
      handle.states = {{"offsets", OperatorStateMode::kUnion, {0, 8}}, {"own", OperatorStateMode::kSplit, {16}}};
      handle.stream = FileHandle{v.name + std::to_string(i), 24};
      state.subtasks[i].managedOperator.push_back(handle);
    }
    checkpoint.operators.push_back(state);
  }
  return checkpoint;
}

// --- a job with the real coordinator ---

/// Acknowledges every checkpoint for all tasks that run here, as barriers would make them.
class Acknowledging final : public TaskExecutorGateway {
 public:
  explicit Acknowledging(FakeTaskManager& inner) : inner_(inner) {}
  void submitTask(TaskDeployment d) override { inner_.submitTask(std::move(d)); }
  void cancelTask(const ExecutionAttemptID& attempt) override { inner_.cancelTask(attempt); }
  void triggerCheckpoint(TriggerCheckpoint message) override {
    ++triggered;
    if (!answers) return;
    for (const TaskDeployment& d : inner_.submitted) {
      if (std::count(inner_.cancelled.begin(), inner_.cancelled.end(), d.attempt) > 0) continue;
      auto state = std::make_shared<TaskStateSnapshot>();
      OperatorStateHandle handle;
      handle.states = {{"own", OperatorStateMode::kSplit, {0}}};
      handle.stream = InlineHandle{"x", std::make_shared<const std::vector<std::byte>>(3, std::byte{7})};
      state->operators[{d.attempt.vertex.bytes}].managedOperator.push_back(handle);
      if (const auto master = inner_.jobMaster.lock()) {
        master->acknowledgeCheckpoint({d.attempt, message.checkpoint.checkpointId, {}, state});
      }
    }
  }
  void confirmCheckpoint(NotifyCheckpointComplete message) override { confirmed.push_back(message.checkpoint.checkpointId); }
  void abortCheckpoint(NotifyCheckpointAborted message) override { aborted.push_back(message.checkpoint.checkpointId); }
  const std::string& location() const override { return inner_.location(); }

  bool answers = true;
  int triggered = 0;
  std::vector<int64_t> confirmed, aborted;

 private:
  FakeTaskManager& inner_;
};

struct JobCheckpointingTest : JobMasterTest {
  JobCheckpointingTest() { useTaskManagers(1, 8); }

  void withCheckpointedJob(std::shared_ptr<JobGraph> graph, const std::function<void()>& test,
                           std::optional<InitialCheckpoint> initial = {}) {
    auto made = FsCheckpointStorage::create(files, JobID::of(0, 7), {.directory = "/checkpoints"}, Random(3));
    ASSERT_FALSE(made.has_error());
    storage = std::shared_ptr<FsCheckpointStorage>(std::move(*made));
    ASSERT_FALSE(storage->initializeBaseLocations().has_error());
    gateway = std::make_shared<Acknowledging>(*tms[0]);
    executor.run("test", [&](ExecutionContext& ctx) {
      context = &ctx;
      master = JobMaster::create(World{executor, files, log}, graph, JobID::of(0, 7), options,
                                 JobCheckpointing::factory({.configuration = configuration, .storage = storage, .sharedState = nullptr,
                                                            .initial = std::move(initial)}));
      tms[0]->jobMaster = master;
      master->addTaskManager({"tm1", gateway, 8});
      master->start();
      settle();
      test();
      master->cancel();
      await();
      master = nullptr;
    });
  }
  /// Each operator's state as its subtasks would have to be restored.
  CheckpointCoordinatorConfiguration configuration = [] {
    CheckpointCoordinatorConfiguration c;
    c.interval = Millis(1000);
    c.timeout = Millis(10'000);
    return c;
  }();
  std::shared_ptr<FsCheckpointStorage> storage;
  std::shared_ptr<Acknowledging> gateway;
};

TEST_F(JobCheckpointingTest, ChecksTakenWhileTheJobRunsAreRestoredAfterAFailure) {
  fixedDelay(5, Millis(0));
  withCheckpointedJob(rowOf({"a", "b"}, 2, kAllToAll), [&] {
    settle(Millis(2'500));
    ASSERT_GE(gateway->confirmed.size(), 4u) << "no checkpoint completed:\n" << log.text();
    const int64_t latest = gateway->confirmed.back();
    fail("b (1/2)");
    for (const char* task : {"a (1/2)", "a (2/2)", "b (1/2)", "b (2/2)"}) {
      EXPECT_EQ(taskOf(task).current.restoreCheckpointId, latest);
      EXPECT_THAT(taskOf(task).current.restore->operators, SizeIs(1));
    }
    settle(Millis(2'500));
    EXPECT_GT(gateway->confirmed.back(), latest) << "the schedule goes on after a restart";
  });
  EXPECT_TRUE(log.contains("Restoring job 00000000000000000000000000000007 from Checkpoint "));
  EXPECT_TRUE(log.contains("No checkpoint found during restore."));
  EXPECT_TRUE(log.contains("Stopping checkpoint coordinator for job 00000000000000000000000000000007."));
}

TEST_F(JobCheckpointingTest, AFailureAbortsWhatIsPendingBeforeTheRestore) {
  fixedDelay(5, Millis(0));
  withCheckpointedJob(rowOf({"a"}, 1, kAllToAll), [&] {
    settle(Millis(2'000));
    gateway->answers = false;
    settle(Millis(1'500));
    const int64_t latest = gateway->confirmed.back();
    fail("a (1/1)");
    EXPECT_EQ(taskOf("a (1/1)").current.restoreCheckpointId, latest);
  });
  EXPECT_TRUE(log.contains("FailoverRegion is restarting.") || log.contains("Checkpoint Coordinator is suspending."));
}

TEST_F(JobCheckpointingTest, TooManyExpiredCheckpointsRestartTheWholeJob) {
  fixedDelay(5, Millis(0));
  configuration.timeout = Millis(500);
  withCheckpointedJob(rowOf({"a"}, 2, kPointwise), [&] {
    gateway->answers = false;
    settle(Millis(2'500));
    EXPECT_GE(taskOf("a (1/2)").current.id.attempt, 1);
    EXPECT_GE(taskOf("a (2/2)").current.id.attempt, 1);
    EXPECT_THAT(books().exceptions.at(0).failure->message(), HasSubstr("Exceeded checkpoint tolerable failure threshold"));
    EXPECT_EQ(books().exceptions.at(0).taskName, "");
  });
  EXPECT_TRUE(log.contains("2 tasks will be restarted to recover from a global failure."));
}

TEST_F(JobCheckpointingTest, AJobStartsFromASavepointWithItsStateAndItsNextId) {
  const auto graph = rowOf({"a", "b"}, 1, kAllToAll);
  InitialCheckpoint initial{.path = "/savepoints/savepoint-1", .checkpointId = 64, .operators = checkpointOf(*graph).operators};
  withCheckpointedJob(graph, [&] {
    EXPECT_EQ(taskOf("a (1/1)").current.restoreCheckpointId, 64);
    settle(Millis(2'500));
    EXPECT_GE(gateway->confirmed.at(0), 65);
  }, std::move(initial));
  EXPECT_TRUE(log.contains("Reset the checkpoint ID of job 00000000000000000000000000000007 to 65."));
}

TEST_F(JobCheckpointingTest, ASavepointOfAnotherJobIsRefusedUnlessAllowed) {
  const auto foreign = rowOf({"a", "gone"}, 1, kAllToAll);
  InitialCheckpoint initial{.path = "/savepoints/savepoint-1", .checkpointId = 64, .operators = checkpointOf(*foreign).operators};
  withCheckpointedJob(rowOf({"a"}, 1, kAllToAll), [&] {
    await();
    EXPECT_EQ(master->result().status, J::kFailed);
    EXPECT_THAT(master->result().failure->message(), HasSubstr(operatorIdOfUid("gone").toString()));
  }, initial);
  initial.allowNonRestoredState = true;
  withCheckpointedJob(rowOf({"a"}, 1, kAllToAll), [&] { EXPECT_EQ(status(), J::kRunning); }, initial);
}

TEST_F(JobCheckpointingTest, ARegionIsRestoredWithoutTheOthers) {
  fixedDelay(5, Millis(0));
  withCheckpointedJob(rowOf({"a", "b"}, 2, kPointwise), [&] {
    settle(Millis(1'500));
    fail("b (2/2)");
    EXPECT_EQ(taskOf("a (1/2)").current.id.attempt, 0);
    EXPECT_EQ(taskOf("a (2/2)").current.restoreCheckpointId, gateway->confirmed.back());
    EXPECT_THAT(taskOf("b (2/2)").current.restore->operators, SizeIs(1));
  });
}

TEST_F(JobCheckpointingTest, UsersReachTheCoordinatorThroughTheJobMaster) {
  configuration.interval = CheckpointCoordinatorConfiguration::kDisabled;
  withCheckpointedJob(rowOf({"a"}, 1, kAllToAll), [&] {
    bool completed = false;
    EXPECT_TRUE(master->withCoordinator([&](CheckpointCoordinator* coordinator) {
      coordinator->triggerCheckpoint(SnapshotType::kCheckpoint,
                                     [&](const CheckpointOutcome& outcome) { completed = std::get_if<0>(&outcome) != nullptr; });
    }));
    settle(Millis(100));
    EXPECT_TRUE(completed);
  });
}

}  // namespace
}  // namespace weir::jobtest
