#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weir/base/log_sinks.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/simulated_executor.h"
#include "weir/graph/stable_hash.h"
#include "weir/jobmanager/job_master.h"

// A JobMaster under the simulated executor with TaskManagers that answer by the book, or only when told.
namespace weir::jobtest {

using S = ExecutionState;
using J = JobStatus;

inline JobVertex vertex(const std::string& name, int32_t parallelism, bool isSource = false) {
  JobVertex v;
  v.name = name;
  v.parallelism = parallelism;
  v.maxParallelism = 1024;
  v.isSource = isSource;
  v.id = vertexIdOf(operatorIdOfUid(name));
  v.operators = {{operatorIdOfUid(name), name, name}};
  return v;
}

/// The vertices in a row, connected by `pattern`.
inline std::shared_ptr<JobGraph> rowOf(const std::vector<std::string>& names, int32_t parallelism, DistributionPattern pattern,
                                       const std::string& name = "job") {
  auto graph = std::make_shared<JobGraph>(name);
  for (size_t i = 0; i < names.size(); ++i) {
    const int32_t v = graph->addVertex(vertex(names[i], parallelism, i == 0));
    if (i > 0) graph->connect(v - 1, v, pattern, pattern == DistributionPattern::kPointwise ? "FORWARD" : "HASH");
  }
  return graph;
}

/// Reports states as a real one does, unless told to keep quiet; records what it is asked.
class FakeTaskManager final : public TaskExecutorGateway {
 public:
  FakeTaskManager(std::string location) : location_(std::move(location)) {}

  void submitTask(TaskDeployment d) override {
    const ExecutionAttemptID attempt = d.attempt;
    submitted.push_back(std::move(d));
    if (!answersSubmit) return;
    report(attempt, S::kInitializing);
    report(attempt, S::kRunning);
  }
  void cancelTask(const ExecutionAttemptID& attempt) override {
    cancelled.push_back(attempt);
    if (answersCancel) report(attempt, S::kCanceled);
  }
  void triggerCheckpoint(TriggerCheckpoint) override {}
  void confirmCheckpoint(NotifyCheckpointComplete) override {}
  void abortCheckpoint(NotifyCheckpointAborted) override {}
  const std::string& location() const override { return location_; }

  void report(const ExecutionAttemptID& attempt, S state, std::shared_ptr<const Throwable> failure = nullptr) {
    if (const auto master = jobMaster.lock()) master->updateTaskExecutionState({attempt, state, std::move(failure)});
  }

  std::weak_ptr<JobMasterGateway> jobMaster;
  std::vector<TaskDeployment> submitted;
  std::vector<ExecutionAttemptID> cancelled;
  bool answersSubmit = true, answersCancel = true;

 private:
  std::string location_;
};

/// Records what the scheduler tells checkpointing; restores from what the test says.
class FakeCheckpointing final : public CheckpointLifecycle {
 public:
  struct Record {
    std::vector<std::pair<J, J>> jobs;
    std::vector<std::pair<int32_t, S>> tasks;
    std::vector<std::vector<int32_t>> restored;
    std::vector<int64_t> acknowledged;
    std::vector<ExecutionAttemptID> lost;
    int shutdowns = 0;
    int64_t checkpointId = 0;
    Result<void> restoreResult;
    std::function<void()> shutdownDone;  ///< kept if `holdShutdown`
    bool holdShutdown = false;
  };
  explicit FakeCheckpointing(std::shared_ptr<Record> record) : record_(std::move(record)) {}

  void onTaskState(int32_t task, S, S to) override { record_->tasks.emplace_back(task, to); }
  void onTaskLost(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>&) override { record_->lost.push_back(attempt); }
  CheckpointCoordinator* coordinator() override { return nullptr; }
  void onJobStatus(J from, J to) override { record_->jobs.emplace_back(from, to); }
  Result<std::vector<RestoredTask>> restoreFor(std::span<const int32_t> tasks) override {
    record_->restored.emplace_back(tasks.begin(), tasks.end());
    if (record_->restoreResult.has_error()) return record_->restoreResult.error();
    std::vector<RestoredTask> states(tasks.size());
    if (record_->checkpointId > 0) {
      for (RestoredTask& s : states) s = {record_->checkpointId, std::make_shared<TaskStateSnapshot>()};
    }
    return states;
  }
  void acknowledgeCheckpoint(AcknowledgeCheckpoint message) override { record_->acknowledged.push_back(message.checkpointId); }
  void declineCheckpoint(DeclineCheckpoint message) override { record_->acknowledged.push_back(-message.checkpointId); }
  void reportCheckpointMetrics(ReportCheckpointMetrics message) override { record_->acknowledged.push_back(1000 + message.checkpointId); }
  void shutdown(J, std::function<void()> done) override {
    ++record_->shutdowns;
    if (record_->holdShutdown) record_->shutdownDone = std::move(done);
    else done();
  }

 private:
  std::shared_ptr<Record> record_;
};

class JobMasterTest : public ::testing::Test {
 protected:
  JobMasterTest() { useTaskManagers(2, 8); }

  void useTaskManagers(int count, int32_t slots) {
    tms.clear();
    slotsPerTaskManager = slots;
    for (int i = 0; i < count; ++i)
      tms.push_back(std::make_shared<FakeTaskManager>("tm" + std::to_string(i + 1) + " @ localhost (dataPort=1)"));
  }

  /// Runs `test` as the main actor beside the JobMaster of `graph`.
  void withJob(std::shared_ptr<JobGraph> graph, const std::function<void()>& test) {
    ASSERT_FALSE(graph->validate().has_error()) << graph->validate().error().message;
    executor.run("test", [&](ExecutionContext& ctx) {
      context = &ctx;
      JobMaster::CheckpointingFactory factory;
      if (checkpointing) factory = [this](JobMaster&, Scheduler&) { return std::make_unique<FakeCheckpointing>(checkpointing); };
      master = JobMaster::create(World{executor, files, log}, graph, JobID::of(0, 7), options, factory);
      for (size_t i = 0; i < tms.size(); ++i) {
        tms[i]->jobMaster = master;
        master->addTaskManager({"tm" + std::to_string(i + 1), tms[i], slotsPerTaskManager});
      }
      master->start();
      settle();
      test();
      master->cancel();
      for (const auto& tm : tms) {
        tm->answersCancel = true;
        for (const auto& attempt : tm->cancelled) tm->report(attempt, S::kCanceled);
      }
      if (checkpointing) settle();
      if (checkpointing && checkpointing->shutdownDone) std::exchange(checkpointing->shutdownDone, nullptr)();
      await();
      master = nullptr;
    });
  }
  /// Lets everybody come to rest, virtual time moving by `time`.
  void settle(Nanos time = Millis(10)) {
    context->wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(context->clock().monotonic() + time));
  }
  /// Until the job has ended.
  void await() {
    while (!master->done().isSet()) context->wait(WaitReason::kInputOrMail, {&master->done()});
  }
  JobSnapshot books() {
    const auto reply = master->requestSnapshot();
    while (!reply->ready().isSet()) context->wait(WaitReason::kInputOrMail, {&reply->ready()});
    return reply->take();
  }
  J status() { return books().status; }
  S stateOf(const std::string& name) { return taskOf(name).current.state; }
  ExecutionVertex taskOf(const std::string& name) {
    for (const ExecutionVertex& t : books().tasks) {
      if (t.name == name) return t;
    }
    ADD_FAILURE() << "no task " << name;
    return {};
  }
  /// `name` with its attempt number, of all tasks: `a (1/2)#0`.
  std::vector<std::string> attempts() {
    std::vector<std::string> out;
    for (const ExecutionVertex& t : books().tasks) out.push_back(t.name + "#" + std::to_string(t.current.id.attempt));
    return out;
  }
  FakeTaskManager& managerOf(const std::string& name) {
    const std::string location = taskOf(name).current.location;
    for (const auto& tm : tms) {
      if (tm->location() == location) return *tm;
    }
    ADD_FAILURE() << name << " runs nowhere";
    return *tms[0];
  }
  void report(const std::string& name, S state, std::shared_ptr<const Throwable> failure = nullptr) {
    managerOf(name).report(taskOf(name).current.id, state, std::move(failure));
    settle();
  }
  void fail(const std::string& name, const std::string& message = "boom") {
    report(name, S::kFailed, std::make_shared<Throwable>("java.lang.IllegalStateException", message));
  }
  void fixedDelay(int32_t attempts, Millis delay) {
    options.scheduler.restart.type = RestartStrategyOptions::Type::kFixedDelay;
    options.scheduler.restart.fixedDelayAttempts = attempts;
    options.scheduler.restart.fixedDelay = delay;
  }
  std::vector<std::string> messages() {
    std::vector<std::string> out;
    for (const auto& line : log.lines()) out.push_back(line.message);
    return out;
  }

  SimulatedExecutor executor{{.seed = 5}};
  MemoryFileSystem files;
  MemoryLogSink log{executor.clock(), LogLevel::kDebug};
  JobMaster::Options options;
  std::vector<std::shared_ptr<FakeTaskManager>> tms;
  int32_t slotsPerTaskManager = 8;
  std::shared_ptr<FakeCheckpointing::Record> checkpointing;
  std::shared_ptr<JobMaster> master;
  ExecutionContext* context = nullptr;
};

}  // namespace weir::jobtest
