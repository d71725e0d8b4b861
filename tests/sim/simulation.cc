#include "sim/simulation.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sim/oracle.h"
#include "sim/program.h"
#include "sim/story.h"
#include "weir/api/mini_cluster.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/log_sinks.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/simulated_executor.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/jobmanager/checkpoint_coordinator.h"

namespace weir::sim {
namespace {

constexpr const char* kDirectory = "/checkpoints";
/// Virtual time after which a job that is left alone should long have ended.
constexpr Nanos kPatience = std::chrono::minutes(2);

SimulationOptions executorOptions(const Scenario& scenario) {
  SimulationOptions options;
  options.seed = scenario.seed;
  options.cores = scenario.cores;
  options.timeLimit = std::chrono::minutes(10);
  return options;
}

/// On the way to a TaskManager: loses notices that a checkpoint was completed or aborted, and notes what aborts say. Triggers come through:
/// where one is lost, tasks stay blocked behind the barriers of others until the next checkpoint, as in Flink.
class LossyGateway final : public TaskExecutorGateway {
 public:
  LossyGateway(std::shared_ptr<TaskExecutor> to, std::shared_ptr<Journal> journal)
      : to_(std::move(to)), journal_(std::move(journal)), random_(journal_->scenario.seed, "losses " + to_->id()) {}

  void submitTask(TaskDeployment deployment) override { to_->submitTask(std::move(deployment)); }
  void cancelTask(const ExecutionAttemptID& attempt) override { to_->cancelTask(attempt); }
  void triggerCheckpoint(TriggerCheckpoint message) override {
    to_->triggerCheckpoint(std::move(message));
  }
  void confirmCheckpoint(NotifyCheckpointComplete message) override {
    if (!loses()) to_->confirmCheckpoint(std::move(message));
  }
  void abortCheckpoint(NotifyCheckpointAborted message) override {
    journal_->impliedBy[message.checkpoint.checkpointId] = message.latestCompletedCheckpointId;
    if (!loses()) to_->abortCheckpoint(std::move(message));
  }
  void announceAlignment(AnnounceAlignment message) override { to_->announceAlignment(std::move(message)); }
  const std::string& location() const override { return to_->location(); }

 private:
  bool loses() { return static_cast<int32_t>(random_.below(100)) < journal_->scenario.lostPercent; }

  const std::shared_ptr<TaskExecutor> to_;
  const std::shared_ptr<Journal> journal_;
  Random random_;
};

class Simulation {
 public:
  Simulation(const Scenario& scenario, Tell tell)
      : scenario_(scenario), executor_(executorOptions(scenario)), log_(executor_.clock()), disk_(memory_, faults_, waitIn()),
        journal_(std::make_shared<Journal>(scenario)), stores_(makeStores(scenario)),
        trace_(tell == Tell::kStory ? std::make_shared<BarrierTrace>(executor_.clock()) : nullptr) {}

  Outcome run() {
    if (trace_)
      journal_->note = [this](const std::string& text) { log_.write(LogLevel::kInfo, "sim", text); };
    try {
      executor_.run("client", [this](ExecutionContext& context) { client(context); });
    } catch (const std::exception& error) {
      complain(error.what());
    }
    for (const std::string& complaint : journal_->complaints) complain(complaint);
    outcome_.traceHash = executor_.traceHash();
    outcome_.log = log_.text();
    if (trace_) {
      const Clock& clock = executor_.clock();
      outcome_.story = storyOf(log_, *trace_, clock.epochMillis() - clock.monotonic().count() / 1'000'000);
    }
    return std::move(outcome_);
  }

 private:
  void complain(std::string what) { outcome_.problems.push_back(std::move(what)); }

  void client(ExecutionContext& context) {
    if (!startCluster()) return;
    for (size_t run = 0; run < scenario_.incarnations.size(); ++run) {
      journal_->incarnation = run;
      journal_->impliedBy.clear();
      if (!journal_->finals.empty()) journal_->finalsAreWhole = false;
      if (retained_.empty()) journal_->begunBy = run;
      if (!runJob(context)) break;
      if (status_ != JobStatus::kFinished && run + 1 < scenario_.incarnations.size()) continue;
      judge();
      break;
    }
    cluster_->stop(context);
    for (const auto& taskManager : cluster_->taskManagers()) {
      const auto& buffers = *taskManager->networkBuffers();
      if (buffers.availableSegments() != buffers.totalSegments())
        complain(fmt::format("{} of {} network segments are lost", buffers.usedSegments(), buffers.totalSegments()));
    }
  }

  /// As many segments as the tasks require, and a few to spare.
  bool startCluster() {
    int32_t required = 0, slots = 0;
    for (size_t run = 0; run < scenario_.incarnations.size(); ++run) {
      journal_->incarnation = run;
      auto graph = makeProgram(scenario_, journal_, stores_).getJobGraph("job");
      if (graph.has_error()) return complain(graph.error().message), false;
      int32_t segments = 0;
      for (const IntermediateDataSet& data : (*graph)->dataSets()) {
        const int32_t from = (*graph)->vertex(data.producer).parallelism, to = (*graph)->vertex(data.consumer).parallelism;
        const int32_t subpartitions = data.pattern == DistributionPattern::kAllToAll ? to : (to + from - 1) / from;
        segments += from * LocalBufferPoolOptions::forResultPartition(subpartitions).required;
        segments += to * LocalBufferPoolOptions::forInputGate().required;
        // Exclusive buffers of channels that may be remote.
        const int32_t channels = data.pattern == DistributionPattern::kAllToAll ? to * from : std::max(to, from);
        if (scenario_.taskManagers > 1) segments += channels * NetworkBufferSettings().buffersPerChannel;
      }
      required = std::max(required, segments);
      slots = std::max(slots, slotsNeeded(**graph));
    }
    Configuration configuration;
    configuration.setText("minicluster.number-of-taskmanagers", std::to_string(scenario_.taskManagers));
    configuration.setText("taskmanager.network.memory.buffers-per-channel", std::to_string(scenario_.buffersPerChannel));
    configuration.setText("taskmanager.network.memory.buffer-debloat.enabled", scenario_.debloat ? "true" : "false");
    configuration.setText("taskmanager.network.memory.buffer-debloat.period", "3 ms");
    configuration.setText("taskmanager.network.memory.buffer-debloat.target", "5 ms");
    configuration.setText("taskmanager.memory.min-segment-size", "8 b");
    MiniClusterOptions options;
    options.segmentSize = scenario_.segmentSize;
    options.networkSegments = std::max(1, required + scenario_.spareSegments);
    options.trace = trace_;
    options.gatewayTo = [journal = journal_](std::shared_ptr<TaskExecutor> to) {
      return std::make_shared<LossyGateway>(std::move(to), journal);
    };
    auto cluster = MiniCluster::start(world(), configuration, slots, std::move(options));
    if (cluster.has_error()) return complain(cluster.error().message), false;
    cluster_ = std::move(*cluster);
    return true;
  }

  void configure(StreamExecutionEnvironment& env) const {
    const auto millis = [](int64_t n) { return std::to_string(n) + " ms"; };
    env.configure("execution.checkpointing.interval", millis(scenario_.intervalMs))
        .configure("execution.checkpointing.timeout", millis(scenario_.timeoutMs))
        .configure("execution.checkpointing.min-pause", millis(scenario_.minPauseMs))
        .configure("execution.checkpointing.max-concurrent-checkpoints", std::to_string(scenario_.maxConcurrent))
        .configure("execution.checkpointing.tolerable-failed-checkpoints", std::to_string(scenario_.tolerable))
        .configure("execution.checkpointing.num-retained", std::to_string(scenario_.retained))
        .configure("execution.checkpointing.mode", scenario_.exactlyOnce ? "EXACTLY_ONCE" : "AT_LEAST_ONCE")
        .configure("execution.checkpointing.data-inline-threshold", std::to_string(scenario_.inlineBytes) + " b")
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("execution.checkpointing.dir", kDirectory)
        .configure("execution.checkpointing.unaligned.enabled", scenario_.unaligned ? "true" : "false")
        .configure("execution.checkpointing.unaligned.forced", "true")  // else custom partitioners are refused
        .configure("execution.checkpointing.aligned-checkpoint-timeout", millis(scenario_.alignedTimeoutMs))
        .configure("execution.checkpointing.unaligned.max-subtasks-per-channel-state-file", std::to_string(scenario_.subtasksPerFile))
        .configure("weir.channel-state.independent-acks", scenario_.independentAcks ? "true" : "false")
        .configure("execution.checkpointing.unaligned.interruptible-timers.enabled", scenario_.interruptible ? "true" : "false")
        .configure("pipeline.auto-watermark-interval", millis(scenario_.watermarkIntervalMs))
        .configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "1000000")
        .configure("restart-strategy.fixed-delay.delay", millis(scenario_.restartDelayMs));
    if (retained_.empty()) return;
    env.configure("execution.state-recovery.path", retained_)
        .configure("execution.state-recovery.claim-mode", scenario_.incarnations[journal_->incarnation].claim ? "CLAIM" : "NO_CLAIM");
  }

  /// False where there is no point in going on.
  bool runJob(ExecutionContext& context) {
    StreamExecutionEnvironment env = makeProgram(scenario_, journal_, stores_);
    configure(env);
    auto graph = env.getJobGraph("job");
    if (graph.has_error()) return complain(graph.error().message), false;
    auto master = cluster_->submit(*graph, env.configuration());
    if (master.has_error()) return complain(master.error().message), false;
    armDisk();
    torment(context, **master);
    if (context.wait(WaitReason::kInputOrMail, {&(*master)->done()}, Deadline::work(context.clock().monotonic() + kPatience)) ==
        WaitOutcome::kDeadline) {
      complain("no progress any more");
      describeTasks(context);
      throw std::runtime_error("gave up");
    }
    faults_.clear();
    const JobResult& result = (*master)->result();
    status_ = result.status;
    outcome_.restarts += result.restarts;
    const bool mayBeCancelled = scenario_.incarnations[journal_->incarnation].stopAt.has_value();
    if (status_ != JobStatus::kFinished && !(status_ == JobStatus::kCanceled && mayBeCancelled)) {
      complain(fmt::format("the job ended as {}:\n{}", toString(status_), result.failure ? result.failure->trace() : ""));
      return false;
    }
    checkFiles(context, (*master)->job().toString());
    return true;
  }

  void describeTasks(ExecutionContext& context) {
    for (const auto& task : cluster_->runningTasks(context)) {
      std::string text = fmt::format("{} is {}", task->name(), toString(task->state()));
      for (const auto& partition : task->environment().partitions) {
        const LocalBufferPool& pool = partition->pool();
        text += fmt::format("; output {}: {} queued, {} of {} segments, {} free", partition->descriptor().partitionIndex,
                            partition->queuedBuffers(), pool.requested(), pool.size(), pool.free());
      }
      complain(text);
    }
    for (const auto& taskManager : cluster_->taskManagers()) {
      complain(fmt::format("{} has {} of {} segments left", taskManager->id(), taskManager->networkBuffers()->availableSegments(),
                           taskManager->networkBuffers()->totalSegments()));
    }
  }

  void armDisk() {
    for (const DiskFault& drawn : scenario_.disk) {
      static constexpr FileFault::Effect kEffects[] = {FileFault::Effect::kError, FileFault::Effect::kFullDisk,
                                                       FileFault::Effect::kTornWrite, FileFault::Effect::kDelay};
      FileFault fault;
      fault.effect = kEffects[static_cast<size_t>(drawn.trouble)];
      fault.path = drawn.path;
      if (drawn.operation >= 0) fault.operations = {static_cast<FileOperation>(drawn.operation)};
      fault.afterCalls = drawn.afterCalls;
      fault.times = drawn.times;
      if (drawn.trouble == DiskTrouble::kSlow) fault.latency = drawn.latency;
      faults_.add(fault);
    }
  }

  /// Does to the running job what the scenario says.
  void torment(ExecutionContext& context, JobMaster& master) {
    const Incarnation& incarnation = scenario_.incarnations[journal_->incarnation];
    const Nanos start = context.clock().monotonic();
    const auto reached = [&](Millis at) {
      return context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(start + at)) == WaitOutcome::kDeadline &&
             !master.done().isSet();
    };
    const auto cause = std::make_shared<Throwable>("java.lang.Exception", "killed by the test");
    for (const Kill& kill : scenario_.kills) {
      if (incarnation.stopAt && kill.at >= *incarnation.stopAt) break;
      if (!reached(kill.at)) return;
      checkRetained(context, master);
      const auto tasks = cluster_->runningTasks(context);
      for (const auto& task : tasks) {
        const auto times = task->times();
        if (times.busy().count() < 0) complain(fmt::format("{} was busy for {} ns", task->name(), times.busy().count()));
      }
      if (kill.whole) {
        master.failGlobally(cause);
      } else if (!tasks.empty()) {
        const ExecutionAttemptID attempt = tasks[kill.pick % tasks.size()]->attempt();
        for (const auto& taskManager : cluster_->taskManagers()) taskManager->failTask(attempt, cause);  // one of them has it
      }
    }
    if (incarnation.stopAt && reached(*incarnation.stopAt)) master.cancel();
  }

  /// What a restart would use can be read at any moment.
  void checkRetained(ExecutionContext& context, JobMaster& master) {
    const auto answer = std::make_shared<Reply<std::vector<std::string>>>();
    std::shared_ptr<void> otherwise(nullptr, [answer](void*) { answer->set({}); });  // goes with the mail, also where it is dropped
    master.withCoordinator([this, answer, otherwise = std::move(otherwise)](CheckpointCoordinator* coordinator) {
      std::vector<std::string> problems;
      for (const auto& checkpoint : coordinator->completedCheckpoints().all())
        if (const auto loaded = loadCheckpoint(memory_, checkpoint->path); loaded.has_error()) problems.push_back(loaded.error().message);
      answer->set(std::move(problems));
    });
    context.wait(WaitReason::kInputOrMail, {&answer->ready()});
    for (std::string& problem : answer->take()) complain(std::move(problem));
  }

  void judge() {
    if (status_ != JobStatus::kFinished) return complain(fmt::format("the last run ended as {}", toString(status_)));
    const Oracle oracle(scenario_);
    const auto add = [&](const std::vector<std::string>& problems) {
      for (size_t i = 0; i < std::min<size_t>(problems.size(), 5); ++i) complain(problems[i]);
      if (problems.size() > 5) complain(fmt::format("... {} in all", problems.size()));
    };
    for (size_t i = 0; i < stores_.size(); ++i) add(oracle.judgeSink(i, stores_[i]->values()));
    if (journal_->finalsAreWhole) add(oracle.judgeFinals(journal_->finals, journal_->incarnation));
  }

  // --- files and ids

  /// The ids in log lines like "<before>12<after>" of one job.
  std::vector<int64_t> idsInLog(const std::string& before, const std::string& job) const {
    std::vector<int64_t> ids;
    for (const auto& line : log_.lines()) {
      if (line.message.rfind(before, 0) == 0 && line.message.find(job) != std::string::npos)
        ids.push_back(std::stoll(line.message.substr(before.size())));
    }
    return ids;
  }
  void checkRising(const char* what, const std::vector<int64_t>& ids) {
    for (size_t i = 1; i < ids.size(); ++i)
      if (ids[i] <= ids[i - 1]) complain(fmt::format("{} checkpoint {} after {}", what, ids[i], ids[i - 1]));
  }

  void checkFiles(ExecutionContext& context, const std::string& job) {
    const std::string previous = retained_;
    checkRising("triggered", idsInLog("Triggering checkpoint ", job));
    std::vector<int64_t> completed = idsInLog("Completed checkpoint ", job);
    checkRising("completed", completed);
    outcome_.checkpoints += static_cast<int64_t>(completed.size());
    const std::string folder = fmt::format("{}/{}", kDirectory, job);
    std::vector<std::string> expected{"shared", "taskowned"};
    // A job that has finished leaves nothing, a cancelled one what it retained.
    const size_t kept = status_ == JobStatus::kFinished ? 0 : std::min(completed.size(), static_cast<size_t>(scenario_.retained));
    for (const int64_t id : std::vector<int64_t>(completed.end() - static_cast<ptrdiff_t>(kept), completed.end())) {
      expected.push_back(fmt::format("chk-{}", id));
      retained_ = folder + "/" + expected.back();
      if (const auto loaded = loadCheckpoint(memory_, retained_); loaded.has_error()) complain(loaded.error().message);
    }
    std::sort(expected.begin(), expected.end());
    auto found = memory_.list(folder);
    if (found.has_value() && *found != expected) {
      // A worker that was in the middle of a snapshot when the job ended takes away what it has written of it.
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + std::chrono::seconds(1)));
      found = memory_.list(folder);
    }
    if (found.has_error()) return complain(found.error().message);
    if (scenario_.disk.empty() && *found != expected) {
      complain(fmt::format("{} holds [{}] instead of [{}]", folder, fmt::join(*found, ", "), fmt::join(expected, ", ")));
      for (const std::string& name : *found)
        if (const auto files = memory_.list(folder + "/" + name); files.has_value() && !files->empty())
          complain(fmt::format("{} holds [{}]", name, fmt::join(*files, ", ")));
    }
    if (!previous.empty()) checkPrevious(previous, completed.size());
  }

  /// The checkpoint that this run started from: ours to delete if it was claimed and is subsumed, and only then.
  void checkPrevious(const std::string& path, size_t completed) {
    const bool isOurs = scenario_.incarnations[journal_->incarnation].claim;
    const bool isSubsumed = isOurs && (status_ == JobStatus::kFinished || completed >= static_cast<size_t>(scenario_.retained));
    if (isSubsumed && scenario_.disk.empty() && memory_.exists(path)) complain(path + " was claimed and subsumed, but it is still there");
    if (isSubsumed) return;
    if (const auto loaded = loadCheckpoint(memory_, path); loaded.has_error()) complain(loaded.error().message);
  }

  World world() { return {executor_, disk_, log_}; }

  const Scenario& scenario_;
  SimulatedExecutor executor_;
  MemoryFileSystem memory_;
  MemoryLogSink log_;
  FileFaults faults_;
  FaultyFileSystem disk_;
  const std::shared_ptr<Journal> journal_;
  const std::vector<std::shared_ptr<Store>> stores_;
  const std::shared_ptr<BarrierTrace> trace_;  ///< null: no story is asked for
  std::unique_ptr<MiniCluster> cluster_;
  JobStatus status_ = JobStatus::kInitializing;
  std::string retained_;  ///< the checkpoint that the next run starts from; empty: none
  Outcome outcome_;
};

}  // namespace

Outcome simulate(const Scenario& scenario, Tell tell) { return Simulation(scenario, tell).run(); }

}  // namespace weir::sim
