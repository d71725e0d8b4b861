#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weir/base/log_sinks.h"
#include "weir/jobmanager/checkpoint_coordinator.h"
#include "weir/jobmanager/checkpoint_coordinator_deactivator.h"

// A job's coordinator with everything around it driven by hand: the clock, its timers, the I/O actor, the storage and the tasks.
namespace weir::checkpointtest {

using Reason = CheckpointFailureReason;

class ManualClock final : public Clock {
 public:
  int64_t epochMillis() const override { return kStartMs + std::chrono::duration_cast<Millis>(now).count(); }
  Nanos monotonic() const override { return now; }
  static constexpr int64_t kStartMs = 1'700'000'000'000;
  Nanos now{0};
};

class ManualTimer final : public CheckpointTimer {
 public:
  explicit ManualTimer(ManualClock& clock) : clock_(clock) {}
  Id schedule(Nanos at, std::function<void()> action) override {
    timers_.emplace(std::pair(at, ++last_), std::move(action));
    return last_;
  }
  void cancel(Id id) override {
    std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
  }
  /// Runs the next timer if it is due by `until`, at its time.
  bool runOne(Nanos until) {
    if (timers_.empty() || timers_.begin()->first.first > until) return false;
    auto timer = timers_.extract(timers_.begin());
    clock_.now = std::max(clock_.now, timer.key().first);
    timer.mapped()();
    return true;
  }
  std::optional<Nanos> next() const { return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first.first); }
  size_t size() const { return timers_.size(); }

 private:
  ManualClock& clock_;
  std::map<std::pair<Nanos, Id>, std::function<void()>> timers_;
  Id last_ = 0;
};

/// Two queues: calls that wait for the I/O actor, and results that wait for the JobMaster.
class ManualIo final : public CheckpointIo {
 public:
  void run(std::function<void()> work, std::function<void()> done) override { work_.push_back({std::move(work), std::move(done)}); }
  bool workOne(size_t index = 0) {
    if (index >= work_.size()) return false;
    Job job = std::move(work_[index]);
    work_.erase(work_.begin() + static_cast<ptrdiff_t>(index));
    job.work();
    done_.push_back(std::move(job.done));
    return true;
  }
  bool deliverOne(size_t index = 0) {
    if (index >= done_.size()) return false;
    auto done = std::move(done_[index]);
    done_.erase(done_.begin() + static_cast<ptrdiff_t>(index));
    done();
    return true;
  }
  void drain() {
    while (workOne() || deliverOne()) {
    }
  }
  size_t waiting() const { return work_.size(); }
  size_t undelivered() const { return done_.size(); }

 private:
  struct Job {
    std::function<void()> work, done;
  };
  std::deque<Job> work_;
  std::deque<std::function<void()>> done_;
};

/// Folders and whether their `_metadata` is there.
class FakeStorage final : public CheckpointCoordinatorStorage {
 public:
  enum class Fault { kNone, kInitialize, kMetadata, kDiscard };
  Result<void> initializeBaseLocations() override { return {}; }
  Result<void> initializeCheckpoint(int64_t id) override {
    if (fails(Fault::kInitialize)) return broken("mkdir chk-" + std::to_string(id));
    folders[id] = false;
    return {};
  }
  Result<std::string> writeMetadata(int64_t id, const std::vector<OperatorState>& operators) override {
    if (fails(Fault::kMetadata)) return broken("write _metadata of " + std::to_string(id));
    if (!folders.contains(id)) return broken("no folder for _metadata of " + std::to_string(id));
    folders[id] = true;
    written[id] = operators;
    return "/checkpoints/job/chk-" + std::to_string(id);
  }
  Result<void> discardCheckpoint(int64_t id) override {
    if (fails(Fault::kDiscard)) return broken("rm chk-" + std::to_string(id));
    folders.erase(id);
    discarded.push_back(id);
    return {};
  }
  Result<void> discard(const OperatorSubtaskState& state) override {
    for (const auto& handle : state.managedOperator)
      if (const auto* file = std::get_if<FileHandle>(&handle.stream)) discardedFiles.insert(file->path);
    for (const auto& handle : state.managedKeyed)
      if (const auto* files = std::get_if<RocksDbHandle>(&handle)) {
        for (const auto& [name, stream] : files->sharedFiles) discardedFiles.insert(std::get<FileHandle>(stream).path);
        for (const auto& [name, stream] : files->privateFiles) discardedFiles.insert(std::get<FileHandle>(stream).path);
      }
    return {};
  }
  Result<std::string> initializeSavepoint(int64_t id, const std::string& directory) override {
    if (!offersSavepoints) return CheckpointCoordinatorStorage::initializeSavepoint(id, directory);
    if (fails(Fault::kInitialize)) return broken("mkdir savepoint");
    const std::string path = directory + "/savepoint-" + std::to_string(id);
    savepoints[path] = false;
    return path;
  }
  Result<void> writeSavepointMetadata(int64_t, const std::string& path, const std::vector<OperatorState>&) override {
    if (fails(Fault::kMetadata)) return broken("write _metadata of " + path);
    savepoints[path] = true;
    return {};
  }
  Result<void> discardSavepoint(const std::string& path) override {
    savepoints.erase(path);
    discardedPaths.push_back(path);
    return {};
  }

  std::set<Fault> faults;
  bool offersSavepoints = true;
  std::map<int64_t, bool> folders;
  std::map<int64_t, std::vector<OperatorState>> written;
  std::map<std::string, bool> savepoints;
  std::vector<int64_t> discarded;
  std::vector<std::string> discardedPaths;
  std::set<std::string> discardedFiles;

 private:
  bool fails(Fault fault) const { return faults.contains(fault); }
  static Error broken(const std::string& what) { return {ErrorCode::kIo, what + ": No space left on device"}; }
};

/// A TaskManager that writes down what it is told.
class RecordingGateway final : public TaskExecutorGateway {
 public:
  void submitTask(TaskDeployment) override {}
  void cancelTask(const ExecutionAttemptID&) override {}
  void triggerCheckpoint(TriggerCheckpoint message) override {
    if (onTrigger) onTrigger(message);
    triggered.push_back(std::move(message));
  }
  void confirmCheckpoint(NotifyCheckpointComplete message) override {
    if (onConfirm) onConfirm(message);
    confirmed.push_back(std::move(message));
  }
  void abortCheckpoint(NotifyCheckpointAborted message) override {
    if (onAbort) onAbort(message);
    aborted.push_back(std::move(message));
  }
  const std::string& location() const override { return location_; }

  /// Told before the message is written down.
  std::function<void(const TriggerCheckpoint&)> onTrigger;
  std::function<void(const NotifyCheckpointComplete&)> onConfirm;
  std::function<void(const NotifyCheckpointAborted&)> onAbort;
  std::vector<TriggerCheckpoint> triggered;
  std::vector<NotifyCheckpointComplete> confirmed;
  std::vector<NotifyCheckpointAborted> aborted;

 private:
  std::string location_ = "tm1 @ localhost (dataPort=43433)";
};

class Executions final : public CheckpointPlanSource {
 public:
  CheckpointExecution execution(int32_t task) const override { return tasks[task]; }
  std::vector<CheckpointExecution> tasks;
};

struct VertexSpec {
  std::string name;
  int32_t parallelism;
  std::vector<CheckpointVertex::Input> inputs;
};
inline std::vector<VertexSpec> pipeline(int32_t parallelism) {
  return {{"Source: numbers", parallelism, {}},
          {"enrich", parallelism, {{0, DistributionPattern::kAllToAll}}},
          {"sink", parallelism, {{1, DistributionPattern::kPointwise}}}};
}

/// A running job with its coordinator.
class Job {
 public:
  explicit Job(CheckpointCoordinatorConfiguration config = {}, const std::vector<VertexSpec>& specs = pipeline(2), uint64_t seed = 1,
               LogLevel level = LogLevel::kDebug, std::shared_ptr<CheckpointSharedState> sharedState = nullptr)
      : log(clock, level), timer(clock) {
    std::vector<CheckpointVertex> vertices;
    for (size_t v = 0; v < specs.size(); ++v) {
      CheckpointVertex vertex{JobVertexID::of(0xabc, v), specs[v].name, specs[v].parallelism, 128, {}, specs[v].inputs, 0};
      vertex.operators.push_back({OperatorID::of(0xdef, v), specs[v].name, "uid-" + std::to_string(v)});
      vertices.push_back(std::move(vertex));
    }
    topology = CheckpointTopology::build(std::move(vertices));
    for (int32_t task = 0; task < topology->taskCount(); ++task)
      executions.tasks.push_back({attemptOf(task, 0), ExecutionState::kRunning, gateway});
    CheckpointFailureCallback callback{[this](auto error) { failures.push_back(std::move(error)); },
                                       [this](auto error, const ExecutionAttemptID& task) {
                                         failures.push_back(std::move(error));
                                         blamed.push_back(task);
                                       }};
    CheckpointCoordinator::Dependencies with{
        log, clock, Random(seed), timer, io, storage, topology, executions, std::move(callback), std::move(sharedState)};
    coordinator = std::make_unique<CheckpointCoordinator>(job, std::move(config), std::move(with));
  }

  ExecutionAttemptID attemptOf(int32_t task, int32_t attempt) const {
    const CheckpointVertex& vertex = topology->vertexOf(task);
    return {ExecutionGraphID::of(7, 7), vertex.id, task - vertex.firstTask, attempt};
  }
  void setAll(ExecutionState state) {
    for (auto& task : executions.tasks) task.state = state;
  }
  /// All tasks run anew, in their next attempts.
  void restart() {
    for (size_t task = 0; task < executions.tasks.size(); ++task) {
      executions.tasks[task].attempt.attempt += 1;
      executions.tasks[task].state = ExecutionState::kRunning;
    }
  }
  void advance(Nanos by) {
    const Nanos until = clock.now + by;
    io.drain();
    while (timer.runOne(until)) io.drain();
    clock.now = until;
  }
  void ack(int64_t id, int32_t task, std::shared_ptr<const TaskStateSnapshot> state = nullptr) {
    coordinator->receiveAcknowledgeMessage({executions.tasks[task].attempt, id, metrics, std::move(state)});
  }
  void ackAll(int64_t id) {
    for (int32_t task = 0; task < topology->taskCount(); ++task)
      if (executions.tasks[task].state == ExecutionState::kRunning) ack(id, task);
  }
  void complete(int64_t id) {
    io.drain();
    ackAll(id);
    io.drain();
  }
  void decline(int64_t id, int32_t task, Reason reason = Reason::kCheckpointDeclined) {
    coordinator->receiveDeclineMessage({executions.tasks[task].attempt, id, std::make_shared<CheckpointException>(reason)});
    io.drain();
  }
  int64_t lastTriggered() const { return gateway->triggered.empty() ? 0 : gateway->triggered.back().checkpoint.checkpointId; }
  std::set<int64_t> triggeredIds() const {
    std::set<int64_t> ids;
    for (const auto& message : gateway->triggered) ids.insert(message.checkpoint.checkpointId);
    return ids;
  }
  /// Messages of one kind to the tasks, about checkpoint `id`.
  template <class Message>
  static size_t about(const std::vector<Message>& messages, int64_t id) {
    size_t count = 0;
    for (const auto& message : messages) count += message.checkpoint.checkpointId == id;
    return count;
  }
  CheckpointStatsSnapshot stats() { return coordinator->stats().snapshot(); }
  /// Messages in the log, in order, that contain one of `texts`.
  std::vector<std::string> logged(const std::vector<std::string>& texts) const {
    std::vector<std::string> found;
    for (const auto& line : log.lines())
      for (const auto& text : texts)
        if (line.message.find(text) != std::string::npos) {
          found.push_back(line.message);
          break;
        }
    return found;
  }

  JobID job = JobID::of(0x1234, 0x5678);
  ManualClock clock;
  MemoryLogSink log;
  ManualTimer timer;
  ManualIo io;
  std::shared_ptr<FakeStorage> storage = std::make_shared<FakeStorage>();
  std::shared_ptr<RecordingGateway> gateway = std::make_shared<RecordingGateway>();
  std::shared_ptr<const CheckpointTopology> topology;
  Executions executions;
  CheckpointMetrics metrics;
  std::vector<std::shared_ptr<const Throwable>> failures;
  std::vector<ExecutionAttemptID> blamed;
  std::unique_ptr<CheckpointCoordinator> coordinator;
};

/// State of one task: one operator with one file.
inline std::shared_ptr<const TaskStateSnapshot> stateIn(const std::string& path, OperatorID op = OperatorID::of(0xdef, 1),
                                                        int64_t size = 100) {
  auto state = std::make_shared<TaskStateSnapshot>();
  OperatorStateHandle handle;
  handle.stream = FileHandle{path, size};
  state->operators[op].managedOperator.push_back(handle);
  return state;
}

inline CheckpointCoordinatorConfiguration every(Millis interval) {
  CheckpointCoordinatorConfiguration config;
  config.interval = interval;
  config.tolerableFailedCheckpoints = 1000;
  return config;
}

/// A coordinator with checkpoint 1 triggered on demand; no periodic ones.
struct Triggered : Job {
  explicit Triggered(CheckpointCoordinatorConfiguration config = every(std::chrono::hours(1)),
                     const std::vector<VertexSpec>& specs = pipeline(2))
      : Job(std::move(config), specs) {
    trigger();
  }
  CheckpointCallback remember() {
    return [this](const CheckpointOutcome& outcome) { outcomes.push_back(outcome); };
  }
  void trigger(SnapshotType type = SnapshotType::kCheckpoint) {
    coordinator->triggerCheckpoint(type, remember());
    io.drain();
  }
  Reason failure(size_t i) const { return std::get<std::shared_ptr<const CheckpointException>>(outcomes.at(i))->reason(); }
  std::shared_ptr<const CompletedCheckpoint> completed(size_t i) const {
    return std::get<std::shared_ptr<const CompletedCheckpoint>>(outcomes.at(i));
  }
  std::vector<CheckpointOutcome> outcomes;
};

}  // namespace weir::checkpointtest
