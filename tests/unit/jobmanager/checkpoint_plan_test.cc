#include "checkpoint_fixture.h"

// Who takes part when some tasks have finished, and what the checkpoint says of them.
namespace weir::checkpointtest {
namespace {

constexpr auto kAll = DistributionPattern::kAllToAll;
constexpr auto kOne = DistributionPattern::kPointwise;

struct PlanCase {
  const char* name;
  std::vector<VertexSpec> specs;
  std::vector<int32_t> finished;
  std::vector<int32_t> triggered;
};

class Plan : public testing::TestWithParam<PlanCase> {};

TEST_P(Plan, TriggersRunningTasksWithoutARunningPredecessor) {
  const PlanCase& test = GetParam();
  Job job({}, test.specs);
  for (const int32_t task : test.finished) job.executions.tasks[task].state = ExecutionState::kFinished;
  const CheckpointPlanCalculator calculator(job.job, job.topology, job.executions, true);
  const auto plan = std::get<CheckpointPlan>(calculator.calculate());
  EXPECT_EQ(plan.toTrigger, test.triggered);
  EXPECT_EQ(plan.finished, test.finished);
  std::vector<int32_t> running;
  for (int32_t task = 0; task < job.topology->taskCount(); ++task)
    if (job.executions.tasks[task].state == ExecutionState::kRunning) running.push_back(task);
  EXPECT_EQ(plan.toWaitFor, running);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Plan,
    testing::Values(PlanCase{"AllRunning", {{"a", 2, {}}, {"b", 2, {{0, kAll}}}}, {}, {0, 1}},
                    PlanCase{"OneSourceSubtaskOfTwoFinished", {{"a", 2, {}}, {"b", 2, {{0, kAll}}}}, {0}, {1}},
                    PlanCase{"AllSourcesFinished", {{"a", 2, {}}, {"b", 2, {{0, kAll}}}}, {0, 1}, {2, 3}},
                    PlanCase{"PointwiseSourceSubtaskFinished", {{"a", 2, {}}, {"b", 2, {{0, kOne}}}}, {0}, {1, 2}},
                    PlanCase{"PointwiseManyToOne", {{"a", 4, {}}, {"b", 2, {{0, kOne}}}}, {0, 1, 2}, {3, 4}},
                    PlanCase{"PointwiseOneToMany", {{"a", 2, {}}, {"b", 4, {{0, kOne}}}}, {1}, {0, 4, 5}},
                    PlanCase{"TwoInputsOneFinished", {{"a", 1, {}}, {"b", 1, {}}, {"c", 2, {{0, kAll}, {1, kAll}}}}, {0}, {1}},
                    PlanCase{"TwoInputsBothFinished", {{"a", 1, {}}, {"b", 1, {}}, {"c", 2, {{0, kAll}, {1, kAll}}}}, {0, 1}, {2, 3}},
                    PlanCase{"MixedEdges", {{"a", 2, {}}, {"b", 1, {}}, {"c", 2, {{0, kOne}, {1, kAll}}}}, {0, 2}, {1, 3}},
                    PlanCase{"ChainOfTwoFinished", {{"a", 1, {}}, {"b", 1, {{0, kAll}}}, {"c", 1, {{1, kAll}}}}, {0, 1}, {2}},
                    PlanCase{"EverythingFinished", {{"a", 1, {}}, {"b", 1, {{0, kAll}}}}, {0, 1}, {}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CheckpointPlan, NamesTheFirstTaskThatDoesNotRun) {
  for (const auto state : {ExecutionState::kCreated, ExecutionState::kScheduled, ExecutionState::kDeploying, ExecutionState::kInitializing,
                           ExecutionState::kCanceling, ExecutionState::kCanceled, ExecutionState::kFailed}) {
    Job job;
    job.executions.tasks[3].state = job.executions.tasks[5].state = state;
    const CheckpointPlanCalculator calculator(job.job, job.topology, job.executions, true);
    const auto failure = std::get<CheckpointPlanCalculator::Failure>(calculator.calculate());
    EXPECT_EQ(failure.why->reason(), Reason::kNotAllRequiredTasksRunning);
    EXPECT_EQ(failure.why->message(), "Checkpoint triggering task enrich (2/2) of job " + job.job.toString() +
                                          " is not being executed at the moment. Aborting checkpoint. Failure reason: Not all required "
                                          "tasks are currently running.");
    EXPECT_FALSE(failure.permanent);
  }
}

TEST(CheckpointPlan, TopologyOfAJobGraphIsInTaskOrder) {
  JobGraph graph("job");
  const auto vertex = [&](uint64_t id, const char* name, int32_t parallelism, bool source) {
    JobVertex v;
    v.id = JobVertexID::of(0, id);
    v.name = name;
    v.parallelism = parallelism;
    v.isSource = source;
    v.operators = {{OperatorID::of(0, id), name, "uid"}};
    return graph.addVertex(std::move(v));
  };
  const int32_t sink = vertex(1, "sink", 1, false), source = vertex(2, "source", 2, true);
  graph.connect(source, sink, kAll, "REBALANCE");
  const auto topology = CheckpointTopology::of(graph);
  ASSERT_EQ(topology->vertices.size(), 2u);
  EXPECT_EQ(topology->taskName(1), "source (2/2)");
  EXPECT_EQ(topology->taskName(2), "sink (1/1)");
  EXPECT_EQ(topology->vertices[1].inputs[0].vertex, 0);
  EXPECT_TRUE(topology->vertices[0].isSource());
  EXPECT_EQ(topology->taskOf({{}, JobVertexID::of(0, 1), 0, 5}), 2);
  EXPECT_EQ(topology->taskOf({{}, JobVertexID::of(0, 1), 1, 5}), -1);
  EXPECT_EQ(topology->taskOf({{}, JobVertexID::of(0, 3), 0, 5}), -1);
}

TEST(FinishedTasks, AreMarkedInTheCheckpointAndCountAsAcknowledged) {
  Job job(every(std::chrono::hours(1)), {{"a", 2, {}}, {"b", 2, {{0, kAll}}}});
  job.executions.tasks[0].state = ExecutionState::kFinished;
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.io.drain();
  EXPECT_EQ(job.stats().history[0]->acknowledged, 1);
  job.ack(1, 0);  // as of a task that finished after all: not asked
  EXPECT_EQ(job.stats().history[0]->acknowledged, 1);
  job.complete(1);
  const auto& operators = job.storage->written.at(1);
  EXPECT_FALSE(operators[0].fullyFinished);
  EXPECT_EQ(operators[0].finishedSubtasks, (std::vector<int32_t>{0}));
  EXPECT_EQ(operators[0].subtasks.size(), 1u);
  EXPECT_EQ(job.gateway->confirmed.size(), 3u) << "finished tasks are not told";
  job.executions.tasks[1].state = ExecutionState::kFinished;
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  job.complete(2);
  EXPECT_TRUE(job.storage->written.at(2)[0].fullyFinished);
  EXPECT_TRUE(job.storage->written.at(2)[0].subtasks.empty());
}

std::shared_ptr<const TaskStateSnapshot> unionState(const OperatorID& op, bool finished) {
  auto state = std::make_shared<TaskStateSnapshot>();
  OperatorStateHandle handle;
  handle.states.push_back({"offsets", OperatorStateMode::kUnion, {0}});
  handle.stream = FileHandle{"/f", 8};
  state->operators[op].managedOperator.push_back(handle);
  state->finished = finished;
  return state;
}

TEST(FinishedTasks, UnionListStateOfAVertexFinishedInPartIsRefusedWithoutCounting) {
  const OperatorID op = OperatorID::of(0xdef, 0);
  auto config = every(std::chrono::hours(1));
  config.tolerableFailedCheckpoints = 0;
  Triggered job(config, {{"a", 2, {}}});
  job.ack(1, 0, unionState(op, true));
  job.ack(1, 1, unionState(op, false));
  job.io.drain();
  EXPECT_EQ(job.failure(0), Reason::kCheckpointDeclinedTaskClosing) << "some subtasks have called finish, not all";

  job.executions.tasks[0].state = ExecutionState::kFinished;
  job.trigger();
  job.ack(2, 1, unionState(op, false));
  job.io.drain();
  EXPECT_EQ(job.failure(1), Reason::kCheckpointDeclinedTaskClosing) << "a subtask is FINISHED";
  EXPECT_TRUE(job.log.contains("has used UnionListState, but part of its tasks are FINISHED."));
  EXPECT_TRUE(job.failures.empty());
  EXPECT_TRUE(job.storage->folders.empty());

  job.executions.tasks[0].state = ExecutionState::kRunning;
  job.trigger();
  job.ack(3, 0, unionState(op, true));
  job.ack(3, 1, unionState(op, true));
  job.io.drain();
  EXPECT_EQ(job.completed(2)->id, 3) << "all have: fine";
}

TEST(FinishedTasks, AVertexRestoredAsFinishedIsFullyFinished) {
  Triggered job(every(std::chrono::hours(1)), {{"a", 1, {}}});
  auto state = std::make_shared<TaskStateSnapshot>();
  state->finishedOnRestore = true;
  job.ack(1, 0, state);
  job.io.drain();
  EXPECT_TRUE(job.storage->written.at(1)[0].fullyFinished);
}

}  // namespace
}  // namespace weir::checkpointtest
