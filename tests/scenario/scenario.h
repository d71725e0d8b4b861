#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/job_runner.h"
#include "weir/jobmanager/checkpoint_coordinator.h"
#include "weir/operators/transactional_collect_sink.h"

namespace weir {

// What the scenarios share. They run whole jobs under simulation, so on one thread: what a job and its test share needs no lock, and
// waiting for virtual time costs nothing.

constexpr Nanos kSecond = std::chrono::seconds(1);
constexpr Nanos kMillisecond = std::chrono::milliseconds(1);

struct Row {
  int64_t number = 0;    ///< of its producer, from 0
  int32_t producer = 0;  ///< subtask of the source
  std::string padding;
  WEIR_FIELDS(number, producer, padding)
};

/// The switches of a source, turned by the test while its job runs.
struct SourceSwitches {
  bool paused = false;
  bool ended = false;               ///< as if the input had ended here
  std::map<int32_t, Nanos> stalls;  ///< by subtask: its next poll takes so long, once
};

/// A source that a test can hold up. A paused one looks every 10 ms whether it may go on.
class SwitchedReader {
 public:
  using Element = Row;
  static constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

  explicit SwitchedReader(std::shared_ptr<SourceSwitches> switches, int64_t countPerSubtask = kEndless, size_t padding = 0)
      : switches_(std::move(switches)), count_(countPerSubtask), padding_(padding, 'x') {}

  int32_t numberOfSplits(int32_t parallelism) const { return parallelism; }
  void open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
    execution_ = &context.execution;
    splits_ = &splits;
  }
  size_t poll(std::span<StreamRecord<Row>> into, bool& end) {
    SourceSplit& split = splits_->front();
    if (const auto stall = switches_->stalls.extract(split.id)) execution_->spend(stall.mapped(), CostMode::kSleep);
    if (switches_->paused) execution_->spend(10 * kMillisecond, CostMode::kSleep);
    size_t n = 0;
    for (; n < into.size() && split.position < count_ && !switches_->paused && !switches_->ended; ++n)
      into[n] = StreamRecord<Row>(Row{split.position++, split.id, padding_});
    end = switches_->ended || split.position == count_;
    return n;
  }

 private:
  std::shared_ptr<SourceSwitches> switches_;
  int64_t count_;
  std::string padding_;
  ExecutionContext* execution_ = nullptr;
  std::vector<SourceSplit>* splits_ = nullptr;
};

/// Rows go where their number says.
inline DataStream<Row> hashed(const DataStream<Row>& stream) { return stream.keyBy(&Row::number).stream(); }

struct ProbeContext {
  int32_t subtask = 0;
  int32_t attempt = 0;
  ExecutionContext* execution = nullptr;
};

/// What happens at the steps of a probe; shared by all its subtasks.
struct ProbeHooks {
  std::function<void(ProbeContext&)> onOpen;
  std::function<void(ProbeContext&, const Row&)> onRow;
  std::function<void(ProbeContext&, int64_t)> onSnapshot;  ///< in the synchronous part
  std::function<void(ProbeContext&, int64_t)> onComplete;
};

/// A function that passes rows on and shows or disturbs what happens in its task. Of use as a map and as a sink.
class Probe {
 public:
  explicit Probe(std::shared_ptr<ProbeHooks> hooks) : hooks_(std::move(hooks)) {}
  void open(RuntimeContext& context) {
    at_ = {context.indexOfThisSubtask(), context.attemptNumber(), &context.execution()};
    if (hooks_->onOpen) hooks_->onOpen(at_);
  }
  const Row& operator()(const Row& row) {
    if (hooks_->onRow) hooks_->onRow(at_, row);
    return row;
  }
  void snapshotState(int64_t checkpointId) {
    if (hooks_->onSnapshot) hooks_->onSnapshot(at_, checkpointId);
  }
  void notifyCheckpointComplete(int64_t checkpointId) {
    if (hooks_->onComplete) hooks_->onComplete(at_, checkpointId);
  }

 protected:
  ProbeContext at_;

 private:
  std::shared_ptr<ProbeHooks> hooks_;
};

/// The same with a few bytes of state, so that its checkpoints have an asynchronous part.
class StatefulProbe : public Probe {
 public:
  using Probe::Probe;
  void initializeState(FunctionInitializationContext& context) {
    rows_ = stateOrThrow(context.operatorState.listState<int64_t>("rows"));
    if (!context.isRestored) rows_->elements().assign(1, 0);
  }
  const Row& operator()(const Row& row) {
    ++rows_->elements().front();
    return Probe::operator()(row);
  }

 private:
  OperatorListState<int64_t>* rows_ = nullptr;
};

/// One job under simulation with the client that watches it.
class Scenario {
 public:
  explicit Scenario(uint64_t seed = 1, LogLevel level = LogLevel::kInfo) : runner(simulation(seed), level) { newProgram(); }

  /// Files and log stay.
  void newProgram() {
    env = StreamExecutionEnvironment();
    env.configure("execution.checkpointing.dir", "/checkpoints")
        .configure("execution.checkpointing.interval", "1 h")
        .configure("execution.checkpointing.data-inline-threshold", "0")
        .configure("restart-strategy.type", "none")
        .configure("web.checkpoints.history", "1000");
  }

  /// Runs the job; `watch` looks on and may wait. Afterwards a job that is still running is cancelled where `cancelAtEnd` says so.
  JobResult run(const std::function<void()>& watch, bool cancelAtEnd = true) {
    result = runner.run(env, [&](ExecutionContext& client, MiniCluster& cluster, JobMaster& master) {
      client_ = &client;
      cluster_ = &cluster;
      master_ = &master;
      watch();
      if (cancelAtEnd) master.cancel();
    });
    return result;
  }
  /// Runs the job to its end.
  JobResult run() {
    return run([] {}, false);
  }

  Nanos now() const { return client_->clock().monotonic(); }
  void sleep(Nanos duration) { client_->wait(WaitReason::kInputOrMail, {}, Deadline::work(now() + duration)); }
  /// Looks every `step`. False: it took longer than `atMost`.
  bool waitUntil(const std::function<bool()>& holds, Nanos atMost = std::chrono::minutes(10), Nanos step = kMillisecond) {
    const Nanos deadline = now() + atMost;
    while (!holds()) {
      if (now() > deadline) return false;
      sleep(step);
    }
    return true;
  }
  bool waitForLog(const std::string& text, size_t times = 1) {
    return waitUntil([&] { return log().count(text) >= times; });
  }
  bool waitForJob(JobStatus status) {
    return waitUntil([&] { return snapshot().status == status; }, std::chrono::minutes(10), 10 * kMillisecond);
  }

  JobSnapshot snapshot() {
    const auto reply = master_->requestSnapshot();
    client_->wait(WaitReason::kInputOrMail, {&reply->ready()});
    return reply->take();
  }
  /// From the statistics; null: not there.
  std::shared_ptr<const CheckpointStats> checkpoint(int64_t id) { return snapshot().checkpoints->find(id); }
  /// The subtasks of the vertex whose name contains `vertex`, in a checkpoint.
  std::vector<SubtaskCheckpointStats> subtasksOf(int64_t checkpointId, const std::string& vertex) {
    const JobSnapshot job = snapshot();
    for (const JobVertex& v : job.graph->vertices()) {
      if (v.name.find(vertex) == std::string::npos) continue;
      for (const TaskCheckpointStats& task : job.checkpoints->find(checkpointId)->tasks)
        if (task.vertex == v.id) return task.subtasks;
    }
    return {};
  }
  /// All tasks run, and the checkpoint that is taken at once when they do (as Flink 2.3 does without min-pause) is completed.
  bool waitForFirstCheckpoint() { return waitForLog("Completed checkpoint 1 "); }
  /// Starts one more checkpoint and returns its id, without waiting for its end.
  int64_t triggerCheckpoint() {
    const auto triggered = [&] { return ask<int64_t>([](CheckpointCoordinator& c) { return c.stats().counts().total; }); };
    const int64_t before = triggered();
    requestCheckpoint();
    waitUntil([&] { return triggered() > before; });
    return snapshot().checkpoints->history.front()->id;
  }
  /// Starts one as soon as no other is under way.
  void requestCheckpoint() {
    master_->withCoordinator([](CheckpointCoordinator* c) { c->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr); });
  }
  /// Asks the checkpoint coordinator on its actor.
  template <class T>
  T ask(std::function<T(CheckpointCoordinator&)> question) {
    const auto reply = std::make_shared<Reply<T>>();
    master_->withCoordinator([reply, question](CheckpointCoordinator* c) { reply->set(question(*c)); });
    client_->wait(WaitReason::kInputOrMail, {&reply->ready()});
    return reply->take();
  }
  bool kill(const std::string& operatorName, int32_t subtask) {
    return cluster_->failSubtask(*client_, operatorName, subtask, std::make_shared<Throwable>("java.lang.Exception", "killed by the test"));
  }
  std::vector<std::shared_ptr<Task>> tasks(const std::string& vertex) {
    std::vector<std::shared_ptr<Task>> found;
    for (auto& task : cluster_->runningTasks(*client_))
      if (task->environment().vertexName.find(vertex) != std::string::npos) found.push_back(std::move(task));
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->attempt().subtask < b->attempt().subtask; });
    return found;
  }
  bool allRunning() {
    const JobSnapshot job = snapshot();
    return std::all_of(job.tasks.begin(), job.tasks.end(), [](const auto& t) { return t.current.state == ExecutionState::kRunning; });
  }
  std::string folderOf(int64_t checkpointId) {
    return "/checkpoints/" + master_->job().toString() + "/chk-" + std::to_string(checkpointId);
  }

  /// Files below a folder whose path contains `part`.
  std::vector<std::string> filesUnder(const std::string& folder, const std::string& part) {
    std::vector<std::string> found;
    const auto names = runner.files().list(folder);
    if (names.has_error()) return found;
    for (const std::string& name : *names) {
      const std::string path = folder + "/" + name;
      if (runner.files().isDirectory(path)) {
        for (auto& below : filesUnder(path, part)) found.push_back(std::move(below));
      } else if (path.find(part) != std::string::npos) {
        found.push_back(path);
      }
    }
    return found;
  }

  MemoryLogSink& log() { return runner.log(); }
  std::vector<MemoryLogSink::Line> linesWith(const std::string& text) {
    std::vector<MemoryLogSink::Line> found;
    for (auto& line : log().lines())
      if (line.message.find(text) != std::string::npos) found.push_back(std::move(line));
    return found;
  }
  /// When the first line with this text was written, in epoch milliseconds; -1: never.
  int64_t timeOf(const std::string& text) {
    const auto lines = linesWith(text);
    return lines.empty() ? -1 : lines.front().epochMillis;
  }
  std::string failure() const { return result.failure ? result.failure->trace() : ""; }

  JobRunner runner;
  StreamExecutionEnvironment env;
  JobResult result;

 private:
  /// A job that restarts for ever ends with an error after a day of its time.
  static std::unique_ptr<Executor> simulation(uint64_t seed) {
    SimulationOptions options;
    options.seed = seed;
    options.timeLimit = std::chrono::hours(24);
    return std::make_unique<SimulatedExecutor>(options);
  }

  ExecutionContext* client_ = nullptr;
  MiniCluster* cluster_ = nullptr;
  JobMaster* master_ = nullptr;
};

}  // namespace weir
