#include "weir/taskmanager/task_executor.h"

#include <cstdlib>

#include "network_metrics.h"

namespace weir {

using S = ExecutionState;

namespace {
constexpr int kExitOfFatalError = 3;  // as of every failure of the engine, see `weir --help`
}

/// Answers of tasks to the coordinator, as messages to the JobMaster.
class TaskExecutor::Responder final : public CheckpointResponder {
 public:
  explicit Responder(const std::shared_ptr<JobMasterGateway>& jobMaster) : jobMaster_(jobMaster) {}

  void acknowledgeCheckpoint(const ExecutionAttemptID& task, int64_t checkpointId, const CheckpointMetrics& metrics,
                             std::shared_ptr<const TaskStateSnapshot> state) override {
    if (const auto master = jobMaster_.lock()) master->acknowledgeCheckpoint({task, checkpointId, metrics, std::move(state)});
  }
  void reportCheckpointMetrics(const ExecutionAttemptID& task, int64_t checkpointId, const CheckpointMetrics& metrics) override {
    if (const auto master = jobMaster_.lock()) master->reportCheckpointMetrics({task, checkpointId, metrics});
  }
  void declineCheckpoint(const ExecutionAttemptID& task, int64_t checkpointId, std::shared_ptr<const CheckpointException> why) override {
    if (const auto master = jobMaster_.lock()) master->declineCheckpoint({task, checkpointId, std::move(why)});
  }

 private:
  const std::weak_ptr<JobMasterGateway> jobMaster_;
};

Result<std::shared_ptr<TaskExecutor>> TaskExecutor::create(World world, TaskExecutorOptions options,
                                                           std::shared_ptr<Transport> transport) {
  WEIR_ASSIGN(auto buffers, NetworkBufferPool::create(options.networkSegments, options.segmentSize));
  return std::shared_ptr<TaskExecutor>(new TaskExecutor(world, std::move(options), std::move(transport), std::move(buffers)));
}

TaskExecutor::TaskExecutor(World world, TaskExecutorOptions options, std::shared_ptr<Transport> transport,
                           std::shared_ptr<NetworkBufferPool> buffers)
    : world_(world), options_(std::move(options)), clock_(options_.clock ? *options_.clock : world.executor.clock()),
      log_(world.log, "org.apache.flink.runtime.taskexecutor.TaskExecutor"),
      taskLog_(world.log, "org.apache.flink.runtime.taskmanager.Task"), board_(std::make_shared<PartitionBoard>()),
      buffers_(std::move(buffers)),
      connections_(std::make_shared<ConnectionManager>(
          world.executor, std::move(transport), board_->manager(),
          ConnectionManagerOptions{options_.id, options_.network.partitionRequestTimeout, options_.clock, options_.process, &world.log})),
      flusher_(std::make_shared<OutputFlusher>()), snapshots_(std::make_shared<SnapshotWorkerPool>()) {
  registerShuffleMetrics(metrics_, buffers_);
}

TaskExecutor::~TaskExecutor() = default;

ActorOptions TaskExecutor::actorOptions(std::string name) const {
  return {.name = std::move(name), .clock = options_.clock, .process = options_.process};
}

Result<void> TaskExecutor::start() {
  WEIR_TRY(connections_->start());
  flusher_->start(world_.executor, actorOptions("output flusher " + options_.id));
  snapshots_->start(world_.executor, actorOptions("snapshot worker " + options_.id), options_.snapshotWorkers, shared_from_this());
  world_.executor.spawn(actorOptions("task executor " + options_.id),
                        [self = shared_from_this()](ExecutionContext& context) { self->run(context); });
  return {};
}

void TaskExecutor::updateMeters() {
  for (const auto& [attempt, running] : tasks_) running.task->environment().metrics->update();
  const Deadline next = Deadline::housekeeping(clock_.monotonic() + std::chrono::seconds(MeterView::kIntervalSeconds));
  (void)loop_.postAt(next, {"update meters", [this] { updateMeters(); }});
}

void TaskExecutor::run(ExecutionContext& context) {
  struct Finish {
    TaskExecutor& self;
    ~Finish() {
      self.loop_.stop();
      self.flusher_->stop();
      self.snapshots_->stop();
      self.jobs_.clear();
      self.done_.set();
    }
  } finish{*this};
  updateMeters();
  loop_.run(context);
}

void TaskExecutor::stop() {
  post("stop", [this] {
    stopping_ = true;
    for (auto& [attempt, running] : tasks_) cancelRunning(running);
    stopWhenIdle();
  });
}

void TaskExecutor::stopWhenIdle() {
  if (!stopping_ || !tasks_.empty() || std::exchange(disconnecting_, true)) return;
  connections_->stop([self = shared_from_this()] { self->post("disconnected", [&loop = self->loop_] { loop.stop(); }); });
}

void TaskExecutor::connectJob(JobConnection connection) {
  post("connect job", [this, connection = std::move(connection)]() mutable {
    auto responder = std::make_shared<Responder>(connection.jobMaster);
    responders_.push_back(responder);
    const JobID id = connection.job;
    const uint64_t hash = connection.graph->hash();
    jobs_[id] = {std::move(connection), hash, std::move(responder)};
  });
}

void TaskExecutor::disconnectJob(const JobID& id) {
  post("disconnect job", [this, id] {
    for (auto& [attempt, running] : tasks_) {
      if (running.job == id) cancelRunning(running);
    }
    jobs_.erase(id);
  });
}

// --- Deployment ---

void TaskExecutor::submitTask(TaskDeployment deployment) {
  post("submit task", [this, deployment = std::move(deployment)]() mutable { deploy(std::move(deployment)); });
}

void TaskExecutor::deploy(TaskDeployment d) {
  const auto found = jobs_.find(d.job);
  if (found == jobs_.end())
    return log_.warn("Dropped the task {} of job {}, which is not connected here.", d.attempt.toString(), d.job.toString());
  if (stopping_) return;
  const Job& job = found->second;
  if (const std::string why = refusal(job, d); !why.empty()) {
    job.connection.jobMaster->updateTaskExecutionState(
        {d.attempt, S::kFailed,
         std::make_shared<Throwable>("org.apache.flink.runtime.taskexecutor.exceptions.TaskSubmissionException", why)});
    return;
  }
  const ExecutionAttemptID attempt = d.attempt;
  const AllocationID allocation = d.allocation;
  try {
    Running& running = tasks_[attempt];
    running.job = d.job;
    running.task = makeTask(job, std::move(d));
    const std::string name = fmt::format("{} ({})", running.task->name(), attempt.toString());
    log_.info("Received task {}, deploy into slot with allocation id {}.", name, allocation.toString());
    running.actor = world_.executor.spawn(actorOptions(name), [self = shared_from_this(), task = running.task](ExecutionContext& context) {
      task->run(context);
    });
  } catch (const std::exception&) {  // no thread or no memory for it
    job.connection.jobMaster->updateTaskExecutionState({attempt, S::kFailed, Throwable::from(std::current_exception())});
    tasks_.erase(attempt);
  }
}

std::string TaskExecutor::refusal(const Job& job, const TaskDeployment& d) const {
  if (tasks_.contains(d.attempt)) return fmt::format("TaskManager already contains a task for id {}.", d.attempt.toString());
  const int32_t vertex = job.connection.graph->indexOf(d.attempt.vertex);
  if (job.graphHash != d.graphHash || vertex < 0) {
    return fmt::format("The job graph of this TaskManager ({:016x}) is not the JobManager's ({:016x}): start both from the same program, "
                       "arguments and configuration.",
                       job.graphHash, d.graphHash);
  }
  if (!job.connection.graph->vertex(vertex).factory) return fmt::format("Vertex '{}' has no operators to run.", d.vertexName);
  return {};
}

std::shared_ptr<Task> TaskExecutor::makeTask(const Job& job, TaskDeployment d) {
  auto network = std::make_unique<ShuffleTaskNetwork>(board_, connections_, buffers_, options_.network, clock_, world_.executor.seed());
  auto environment = std::make_unique<TaskEnvironment>(TaskEnvironment{.world = world_,
                                                                       .responder = *job.responder,
                                                                       .snapshotWorkers = snapshots_,
                                                                       .storage = job.connection.storage,
                                                                       .createOperatorState = job.connection.createOperatorState,
                                                                       .settings = job.connection.settings,
                                                                       .job = d.job,
                                                                       .jobName = d.jobName,
                                                                       .attempt = d.attempt,
                                                                       .vertexName = d.vertexName,
                                                                       .parallelism = d.parallelism,
                                                                       .maxParallelism = d.maxParallelism,
                                                                       .partitions = {},
                                                                       .gates = {},
                                                                       .restoreCheckpointId = d.restoreCheckpointId,
                                                                       .restore = d.restore,
                                                                       .openChannelState = job.connection.openChannelState});
  if (options_.trace) environment->trace = options_.trace->tracer(options_.id, environment->taskName());
  if (job.connection.createChannelStateWriter) environment->channelStateWriter = job.connection.createChannelStateWriter(*environment);
  environment->partitions = network->partitionsOf(d, environment->taskName());
  for (const auto& partition : environment->partitions) {
    partition->setTrace(environment->trace);
    partition->setChannelStateWriter(environment->channelStateWriter);
  }
  environment->gates = network->gatesOf(d, environment->taskName(), environment->channelStateWriter);
  environment->reportWatermark = [master = std::weak_ptr(job.connection.jobMaster), attempt = d.attempt](const WatermarkReport& report) {
    if (const auto there = master.lock()) there->reportWatermark({attempt, report});
  };
  if (options_.network.debloat.enabled) environment->debloatPeriod = options_.network.debloat.period;
  network->reserve(*environment);
  TaskStateListener& listener = *this;
  const JobGraph& graph = *job.connection.graph;
  const auto& factory = graph.vertex(graph.indexOf(d.attempt.vertex)).factory;
  return std::make_shared<Task>(std::move(environment), factory, std::move(network), listener);
}

// --- What tasks report ---

void TaskExecutor::onTaskState(const ExecutionAttemptID& attempt, S state, std::shared_ptr<const Throwable> failure) {
  post("task state", [this, attempt, state, failure = std::move(failure)] { reportState(attempt, state, failure); });
}

void TaskExecutor::reportState(const ExecutionAttemptID& attempt, S state, std::shared_ptr<const Throwable> failure) {
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end()) return;
  Running& running = found->second;
  const auto job = jobs_.find(running.job);
  if (state == S::kRunning) {
    const int64_t timeout = running.task->factory().bufferTimeout().millis;
    const auto& partitions = running.task->environment().partitions;
    if (timeout > 0 && !partitions.empty()) flusher_->add(attempt, partitions, Millis(timeout));
  }
  if (isTerminal(state)) {
    log_.info("Un-registering task and sending final execution state {} to JobManager for task {} {}.", toString(state),
              running.task->name(), attempt.toString());
    unregister(found);
  }
  // The JobMaster knows DEPLOYING and CANCELING: it gave the orders.
  const bool isNews = state == S::kInitializing || state == S::kRunning || isTerminal(state);
  if (isNews && job != jobs_.end()) job->second.connection.jobMaster->updateTaskExecutionState({attempt, state, std::move(failure)});
  stopWhenIdle();
}

void TaskExecutor::unregister(std::map<ExecutionAttemptID, Running>::iterator found) {
  loop_.cancel(found->second.watch);
  flusher_->remove(found->first);
  tasks_.erase(found);
}

// --- Cancellation ---

void TaskExecutor::failTask(const ExecutionAttemptID& attempt, std::shared_ptr<const Throwable> cause) {
  post("fail task", [this, attempt, cause = std::move(cause)]() mutable {
    const auto running = tasks_.find(attempt);
    if (running == tasks_.end() || !running->second.task->failExternally(std::move(cause))) return;
    running->second.actor->cancel();
  });
}

void TaskExecutor::cancelTask(const ExecutionAttemptID& attempt) {
  post("cancel task", [this, attempt] { cancel(attempt); });
}

void TaskExecutor::cancel(const ExecutionAttemptID& attempt) {
  const auto found = tasks_.find(attempt);
  if (found != tasks_.end()) return cancelRunning(found->second);
  log_.debug("Cannot find task to stop for execution {}.", attempt.toString());
}

void TaskExecutor::cancelRunning(Running& running) {
  if (!running.task->cancel()) return;  // its last report is on the way
  running.actor->cancel();
  if (running.cancelledAt.count() >= 0) return;
  running.cancelledAt = clock_.monotonic();
  watchCancellation(running.task->attempt());
}

void TaskExecutor::watchCancellation(const ExecutionAttemptID& attempt) {
  const auto found = tasks_.find(attempt);
  if (found == tasks_.end()) return;
  Running& running = found->second;
  const auto since = std::chrono::duration_cast<Millis>(clock_.monotonic() - running.cancelledAt);
  if (options_.cancellationTimeout.count() > 0 && since >= options_.cancellationTimeout) {
    return fatal(fmt::format("Task did not exit gracefully within {} + seconds.", options_.cancellationTimeout.count() / 1000));
  }
  if (since.count() > 0) {
    taskLog_.warn("Task '{}' did not react to cancelling signal - notifying TM; it is stuck for {} seconds.", running.task->name(),
                  since.count() / 1000);
  }
  Millis next = since + options_.cancellationInterval;
  if (options_.cancellationTimeout.count() > 0) next = std::min(next, options_.cancellationTimeout);
  running.watch =
      loop_.postAt(Deadline::work(running.cancelledAt + next), {"watch cancellation", [this, attempt] { watchCancellation(attempt); }});
}

void TaskExecutor::fatal(const std::string& why) {
  taskLog_.error("{}", why);
  log_.error("Fatal error occurred while executing the TaskManager. Shutting it down...\norg.apache.flink.util.FlinkRuntimeException: {}",
             why);
  if (options_.onFatalError) return options_.onFatalError(why);
  fmt::print(stderr, "TaskManager {}: {} A record's function that does not return cannot be ended any other way: the process ends.\n", id(),
             why);
  std::_Exit(kExitOfFatalError);
}

// --- Checkpoints ---

void TaskExecutor::triggerCheckpoint(TriggerCheckpoint m) {
  post("trigger checkpoint", [this, m = std::move(m)] {
    if (const auto found = tasks_.find(m.attempt); found != tasks_.end())
      return found->second.task->triggerCheckpoint(m.checkpoint, m.options);
    const std::string text = fmt::format("TaskManager received a checkpoint request for unknown task {}.", m.attempt.toString());
    log_.debug("{}", text);
    // The coordinator would else wait for the time-out.
    for (const auto& [id, job] : jobs_) {
      job.responder->declineCheckpoint(m.attempt, m.checkpoint.checkpointId,
                                       std::make_shared<CheckpointException>(text, CheckpointFailureReason::kTaskCheckpointFailure));
    }
  });
}

void TaskExecutor::confirmCheckpoint(NotifyCheckpointComplete m) {
  post("confirm checkpoint", [this, m = std::move(m)] {
    if (const auto found = tasks_.find(m.attempt); found != tasks_.end()) {
      return found->second.task->notifyCheckpointComplete(m.checkpoint.checkpointId);
    }
    log_.debug("TaskManager received a checkpoint confirmation for unknown task {}.", m.attempt.toString());
  });
}

void TaskExecutor::abortCheckpoint(NotifyCheckpointAborted m) {
  post("abort checkpoint", [this, m = std::move(m)] {
    if (const auto found = tasks_.find(m.attempt); found != tasks_.end()) {
      return found->second.task->notifyCheckpointAborted(m.checkpoint.checkpointId, m.latestCompletedCheckpointId);
    }
    log_.debug("TaskManager received an aborted checkpoint for unknown task {}.", m.attempt.toString());
  });
}

void TaskExecutor::announceAlignment(AnnounceAlignment m) {
  post("watermark alignment", [this, m = std::move(m)] {
    if (const auto found = tasks_.find(m.attempt); found != tasks_.end()) found->second.task->announceAlignment(m.maxAllowed);
  });
}

std::shared_ptr<Reply<std::vector<std::shared_ptr<Task>>>> TaskExecutor::requestTasks() {
  auto reply = std::make_shared<Reply<std::vector<std::shared_ptr<Task>>>>();
  // Dropped with the mail once the actor has ended: then the answer is empty.
  const std::shared_ptr<void> otherwise(nullptr, [reply](void*) { reply->set({}); });
  post("tasks", [this, reply, otherwise] {
    std::vector<std::shared_ptr<Task>> tasks;
    for (const auto& [attempt, running] : tasks_) tasks.push_back(running.task);
    reply->set(std::move(tasks));
  });
  return reply;
}

}  // namespace weir
