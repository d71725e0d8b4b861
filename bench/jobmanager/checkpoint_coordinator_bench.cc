// What a whole checkpoint costs the JobMaster per task: plan, trigger messages, acknowledgements, `_metadata` assembled, notifications.
#include <benchmark/benchmark.h>

#include <deque>

#include "weir/jobmanager/checkpoint_coordinator.h"

namespace weir {
namespace {

struct QuietLog final : LogSink {
  bool enabled(LogLevel level) const override { return level > LogLevel::kInfo; }
  void write(LogLevel, std::string_view, std::string_view) override {}
};
struct NoTimer final : CheckpointTimer {
  Id schedule(Nanos, std::function<void()>) override { return ++last; }
  void cancel(Id) override {}
  Id last = 0;
};
struct InlineIo final : CheckpointIo {
  void run(std::function<void()> work, std::function<void()> done) override { jobs.push_back({std::move(work), std::move(done)}); }
  void drain() {
    for (; !jobs.empty(); jobs.pop_front()) {
      const auto [work, done] = jobs.front();
      work();
      done();
    }
  }
  std::deque<std::pair<std::function<void()>, std::function<void()>>> jobs;
};
struct NoStorage final : CheckpointCoordinatorStorage {
  Result<void> initializeBaseLocations() override { return {}; }
  Result<void> initializeCheckpoint(int64_t) override { return {}; }
  Result<std::string> writeMetadata(int64_t, const std::vector<OperatorState>& operators) override {
    benchmark::DoNotOptimize(operators.data());
    return std::string("/c");
  }
  Result<void> discardCheckpoint(int64_t) override { return {}; }
  Result<void> discard(const OperatorSubtaskState&) override { return {}; }
};
struct SilentGateway final : TaskExecutorGateway {
  void submitTask(TaskDeployment) override {}
  void cancelTask(const ExecutionAttemptID&) override {}
  void triggerCheckpoint(TriggerCheckpoint message) override { benchmark::DoNotOptimize(message); }
  void confirmCheckpoint(NotifyCheckpointComplete message) override { benchmark::DoNotOptimize(message); }
  void abortCheckpoint(NotifyCheckpointAborted message) override { benchmark::DoNotOptimize(message); }
  const std::string& location() const override { return where; }
  std::string where = "tm1";
};
struct Executions final : CheckpointPlanSource {
  CheckpointExecution execution(int32_t task) const override { return tasks[task]; }
  std::vector<CheckpointExecution> tasks;
};

CheckpointVertex vertexOf(uint64_t id, int32_t parallelism) {
  CheckpointVertex vertex;
  vertex.id = JobVertexID::of(1, id);
  vertex.name = "vertex";
  vertex.parallelism = parallelism;
  vertex.operators = {{OperatorID::of(1, id), "operator", "uid"}};
  return vertex;
}

void wholeCheckpoint(benchmark::State& state) {
  const auto sources = static_cast<int32_t>(state.range(0));
  std::vector<CheckpointVertex> vertices{vertexOf(1, sources), vertexOf(2, 1)};
  vertices[1].inputs = {{0, DistributionPattern::kAllToAll}};
  const auto topology = CheckpointTopology::build(std::move(vertices));
  const auto gateway = std::make_shared<SilentGateway>();
  Executions executions;
  for (int32_t task = 0; task <= sources; ++task) {
    const CheckpointVertex& vertex = topology->vertexOf(task);
    executions.tasks.push_back({{ExecutionGraphID::of(1, 1), vertex.id, task - vertex.firstTask, 0}, ExecutionState::kRunning, gateway});
  }
  auto snapshot = std::make_shared<TaskStateSnapshot>();
  OperatorStateHandle handle;
  handle.states.push_back({"offset", OperatorStateMode::kSplit, {0}});
  handle.stream = InlineHandle{"a-name-of-a-handle-that-is-as-long-as-usual", std::make_shared<std::vector<std::byte>>(100)};
  snapshot->operators[OperatorID::of(1, 1)].managedOperator.push_back(handle);

  QuietLog log;
  NoTimer timer;
  InlineIo io;
  CheckpointCoordinatorConfiguration config;
  CheckpointCoordinator coordinator(
      JobID::of(1, 1), config,
      {log, SystemClock::instance(), Random(1), timer, io, std::make_shared<NoStorage>(), topology, executions, {}, nullptr});
  int64_t id = 0;
  for (auto _ : state) {
    coordinator.triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
    io.drain();
    ++id;
    for (const auto& task : executions.tasks) coordinator.receiveAcknowledgeMessage({task.attempt, id, {}, snapshot});
    io.drain();
    if (coordinator.completedCheckpoints().latestId() != id) state.SkipWithError("the checkpoint did not complete");
  }
  state.SetItemsProcessed(state.iterations() * (sources + 1));  // tasks
}
BENCHMARK(wholeCheckpoint)->Arg(1)->Arg(64)->Arg(512)->Arg(4096);

}  // namespace
}  // namespace weir
