#include "support/seeds.h"
#include "unit/jobmanager_scheduler/fakes.h"

namespace weir::jobtest {
namespace {

constexpr auto kPointwise = DistributionPattern::kPointwise;
constexpr auto kAllToAll = DistributionPattern::kAllToAll;

/// A TaskManager that takes its time, fails now and then, and repeats itself; checks what it is asked.
class RandomTaskManager final : public TaskExecutorGateway {
 public:
  RandomTaskManager(std::string location, ActorLoop& loop, const Clock& clock, Random random)
      : location_(std::move(location)), loop_(loop), clock_(clock), random_(random) {}

  void submitTask(TaskDeployment d) override {
    const auto [found, isNew] = tasks_.try_emplace(d.attempt, Life::kRuns);
    EXPECT_TRUE(isNew) << "submitted twice";
    for (const auto& [attempt, life] : tasks_) {
      const bool isOlder =
          attempt.vertex == d.attempt.vertex && attempt.subtask == d.attempt.subtask && attempt.attempt < d.attempt.attempt;
      EXPECT_FALSE(isOlder && life == Life::kRuns) << "an older attempt still runs";
    }
    for (const InputGateDeployment& gate : d.inputs) {
      for (const ResultPartitionID& channel : *gate.channels) EXPECT_EQ(channel.producer.graph, d.attempt.graph);
    }
    later(d.attempt, S::kInitializing);
    later(d.attempt, S::kRunning);
    if (random_.oneIn(6)) end(d.attempt, random_.oneIn(3) ? S::kFinished : S::kFailed);
  }
  void cancelTask(const ExecutionAttemptID& attempt) override { end(attempt, random_.oneIn(5) ? S::kFailed : S::kCanceled); }
  void triggerCheckpoint(TriggerCheckpoint) override {}
  void confirmCheckpoint(NotifyCheckpointComplete) override {}
  void abortCheckpoint(NotifyCheckpointAborted) override {}
  const std::string& location() const override { return location_; }

  /// Everything that still runs ends well from now on.
  void calmDown() {
    calm_ = true;
    for (const auto& [attempt, life] : tasks_) {
      if (life == Life::kRuns) end(attempt, S::kFinished);
    }
  }
  std::weak_ptr<JobMasterGateway> jobMaster;

 private:
  enum class Life { kRuns, kEnded };

  void end(const ExecutionAttemptID& attempt, S state) {
    if (calm_ && state == S::kFailed) state = S::kFinished;
    loop_.postAt(after(), {"end", [this, attempt, state] {
                             if (tasks_[attempt] == Life::kEnded) return;
                             tasks_[attempt] = Life::kEnded;
                             send(attempt, state);
                             if (random_.oneIn(4)) send(attempt, state);
                           }});
  }
  void later(const ExecutionAttemptID& attempt, S state) {
    loop_.postAt(after(), {"state", [this, attempt, state] {
                             if (tasks_[attempt] == Life::kRuns) send(attempt, state);
                           }});
  }
  void send(const ExecutionAttemptID& attempt, S state) {
    const auto failure = state == S::kFailed ? std::make_shared<Throwable>("x.Boom", "boom") : nullptr;
    if (const auto master = jobMaster.lock()) master->updateTaskExecutionState({attempt, state, failure});
  }
  Deadline after() { return Deadline::work(clock_.monotonic() + Nanos(random_.between(0, 20'000'000))); }

  std::string location_;
  ActorLoop& loop_;
  const Clock& clock_;
  Random random_;
  std::map<ExecutionAttemptID, Life> tasks_;
  bool calm_ = false;
};

/// Any order of failures, restarts, global failures, lost TaskManagers and a cancel ends where it should.
void runSeed(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  SimulatedExecutor executor({.seed = seed});
  MemoryFileSystem files;
  MemoryLogSink log(executor.clock(), LogLevel::kInfo);
  std::vector<std::shared_ptr<RandomTaskManager>> tms;  // outlive every mail that is under way when the test ends
  executor.run("test", [&](ExecutionContext& ctx) {
    Random random(seed, "test");
    const auto pause = [&](Nanos time) {
      ctx.wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(ctx.clock().monotonic() + time));
    };
    auto loop = std::make_shared<ActorLoop>();
    executor.spawn({.name = "task managers"}, [loop](ExecutionContext& own) { loop->run(own); });
    JobMaster::Options options;
    options.scheduler.restart.type = RestartStrategyOptions::Type::kFixedDelay;
    options.scheduler.restart.fixedDelayAttempts = 1'000'000;
    options.scheduler.restart.fixedDelay = Millis(random.between(0, 15));
    options.scheduler.slotRequestTimeout = Millis(30);
    const auto graph = rowOf({"a", "b", "c"}, 3, random.oneIn(2) ? kPointwise : kAllToAll);
    const auto master = JobMaster::create(World{executor, files, log}, graph, JobID::of(0, seed), options, nullptr);
    const auto addTaskManager = [&] {
      const std::string id = "tm" + std::to_string(tms.size() + 1);
      tms.push_back(std::make_shared<RandomTaskManager>(id + " @ here", *loop, executor.clock(), Random(seed, id)));
      tms.back()->jobMaster = master;
      master->addTaskManager({id, tms.back(), 2});
    };
    for (int i = 0; i < 2; ++i) addTaskManager();
    master->start();
    for (int step = 0; step < 12; ++step) {
      pause(Nanos(random.between(0, 30'000'000)));
      if (random.oneIn(6)) master->failGlobally(std::make_shared<Throwable>("x.Global", "boom"));
      if (random.oneIn(8)) {
        master->taskManagerLost("tm" + std::to_string(random.between(1, static_cast<int64_t>(tms.size()))), "gone");
        addTaskManager();
      }
    }
    const bool cancels = random.oneIn(2);
    if (cancels) master->cancel();
    else addTaskManager();
    const Nanos end = ctx.clock().monotonic() + std::chrono::seconds(20);
    while (!master->done().isSet() && ctx.clock().monotonic() < end) {
      if (!cancels) loop->post({"calm down", [&tms] {
                                  for (const auto& tm : tms) tm->calmDown();
                                }});
      ctx.wait(WaitReason::kInputOrMail, {&master->done()}, Deadline::work(ctx.clock().monotonic() + Millis(40)));
    }
    ASSERT_TRUE(master->done().isSet()) << log.text();
    const J status = master->result().status;
    EXPECT_TRUE(status == J::kFinished || (cancels && status == J::kCanceled)) << toString(status);
    const auto reply = master->requestSnapshot();
    const JobSnapshot last = reply->take();
    for (const ExecutionVertex& task : last.tasks) {
      EXPECT_TRUE(isTerminal(task.current.state)) << task.name;
      for (const Execution& prior : task.prior) EXPECT_TRUE(isTerminal(prior.state)) << task.name;
    }
    for (const auto& tm : tms) tm->jobMaster.reset();
    loop->stop();
  });
}

TEST(RandomFailover, EndsWhereItShouldForEverySeed) {
  for (const uint64_t seed : weir::testing::seeds(300)) {
    runSeed(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::jobtest
