#include "weir/jobmanager/scheduler.h"

#include <algorithm>

#include "weir/base/check.h"

namespace weir {
namespace {

using S = ExecutionState;
using J = JobStatus;

constexpr std::string_view kLogger = "org.apache.flink.runtime.jobmaster.JobMaster";
constexpr const char* kJobException = "org.apache.flink.runtime.JobException";
constexpr const char* kSuppressRestarts = "org.apache.flink.runtime.execution.SuppressRestartsException";

std::vector<int32_t> allTasksOf(const ExecutionGraph& graph) {
  std::vector<int32_t> tasks(graph.taskCount());
  for (int32_t t = 0; t < graph.taskCount(); ++t) tasks[t] = t;
  return tasks;
}

bool isEnding(J status) { return isTerminal(status) || status == J::kFailing || status == J::kCancelling; }

bool suppressesRestarts(const Throwable* failure) {
  for (; failure; failure = failure->cause().get()) {
    if (failure->className() == kSuppressRestarts) return true;
  }
  return false;
}

}  // namespace

Scheduler::Scheduler(Environment env, std::shared_ptr<const JobGraph> graph, JobID job, SchedulerOptions options,
                     std::function<void()> onTerminal)
    : env_(env), log_(env.log, kLogger), job_(job), options_(options), onTerminal_(std::move(onTerminal)),
      strategy_(makeRestartStrategy(options.restart, env.clock, Random(env.seed, "restart " + job.toString()))), graph_([&] {
        log_.info("Using restart back off time strategy {} for {} ({}).", strategy_->toString(), graph->name(), job.toString());
        Random random(env.seed, "execution graph " + job.toString());
        return ExecutionGraph(std::move(graph), job, ExecutionGraphID::random(random), env.log, env.clock, options.attemptsHistorySize);
      }()),
      slots_(options.spread, Random(env.seed, "slots " + job.toString())), places_(graph_.taskCount()), restartOf_(graph_.taskCount()),
      history_(options.exceptionHistorySize) {
  graph_.setListener(this);
}

void Scheduler::onTaskState(int32_t task, S from, S to) {
  if (isTerminal(to)) {
    if (const auto found = restarts_.find(restartOf_[task]); found != restarts_.end() && --found->second.waiting == 0) {
      env_.loop.post({"restart tasks", [this, id = found->first] { restartIfReady(id); }});
    }
  }
  if (lifecycle_) lifecycle_->onTaskState(task, from, to);
}

void Scheduler::onJobStatus(J from, J to) {
  if (lifecycle_) lifecycle_->onJobStatus(from, to);
}

// --- Bringing tasks to run ---

void Scheduler::start() {
  if (graph_.status() != J::kCreated) return;
  const std::vector<int32_t> tasks = allTasksOf(graph_);
  log_.info("Running initialization on master for job {} ({}).", graph_.graph().name(), job_.toString());
  log_.info("Using failover strategy org.apache.flink.runtime.executiongraph.failover.RestartPipelinedRegionFailoverStrategy for {} ({}).",
            graph_.graph().name(), job_.toString());
  if (restore(tasks)) {
    log_.info("Starting execution of job '{}' ({}) under job master id 00000000000000000000000000000000.", graph_.graph().name(),
              job_.toString());
    graph_.switchJob(J::kRunning);
    startTasks(tasks);
  }
  checkJobEnd();
}

bool Scheduler::restore(const std::vector<int32_t>& tasks) {
  if (!lifecycle_) return true;
  auto restored = lifecycle_->restoreFor(tasks);
  if (restored.has_error()) {
    failJob(std::make_shared<Throwable>("org.apache.flink.util.FlinkException", restored.error().message));
    return false;
  }
  WEIR_CHECK_EQ(restored->size(), tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) graph_.assignRestore(tasks[i], (*restored)[i].checkpointId, std::move((*restored)[i].state));
  return true;
}

void Scheduler::startTasks(const std::vector<int32_t>& tasks) {
  for (const int32_t task : tasks) graph_.transition(task, S::kScheduled);
  deploy(tasks);
}

void Scheduler::deploy(const std::vector<int32_t>& tasks) {
  for (const int32_t task : tasks) {
    const Slot* slot = slots_.slotFor(graph_.vertexOf(task).slotSharingGroup, graph_.task(task).subtask);
    if (!slot) return waitForSlots(tasks);
    places_[task] = *slot;
  }
  std::vector<int32_t> deployed;
  for (const int32_t task : tasks) {
    if (graph_.task(task).current.state != S::kScheduled) continue;
    const Slot& slot = places_[task];
    graph_.assignSlot(task, slot.allocation, slot.gateway->location(), slot.taskManager);
    graph_.transition(task, S::kDeploying);
    deployed.push_back(task);
  }
  // Consumers first: when a source begins to run, all others of its TaskManager have the buffers that they require. Flink: sources first.
  for (size_t i = deployed.size(); i-- > 0;) places_[deployed[i]].gateway->submitTask(graph_.deploymentOf(deployed[i]));
}

void Scheduler::waitForSlots(const std::vector<int32_t>& tasks) {
  for (const int32_t task : tasks) {
    places_[task] = {};
    slotless_.push_back(graph_.task(task).current.id);
  }
  if (options_.slotRequestTimeout.count() == 0) return failForSlots();
  if (slotTimer_) return;
  const Nanos at = env_.clock.monotonic() + options_.slotRequestTimeout;
  slotTimer_ = env_.loop.postAt(Deadline::work(at), {"slot request time-out", [this] {
                                                       failForSlots();
                                                       checkJobEnd();
                                                     }});
}

void Scheduler::failForSlots() {
  const int32_t needed = slotsNeeded(graph_.graph()), offered = slots_.registeredSlots();
  Logger(env_.log, "org.apache.flink.runtime.jobmaster.slotpool.DeclarativeSlotPoolBridge")
      .warn(
          "Could not acquire the minimum required resources, failing slot requests. Acquired: []. Current slot pool status: Registered "
          "TMs: {}, "
          "registered slots: {} free slots: {}",
          slots_.taskManagers(), offered, slots_.freeSlots());
  const auto failure = std::make_shared<Throwable>("org.apache.flink.runtime.jobmanager.scheduler.NoResourceAvailableException",
                                                   fmt::format("Could not acquire the minimum required resources: job '{}' needs {} slots "
                                                               "and {} TaskManagers offer {}; lower its parallelism or "
                                                               "raise taskmanager.numberOfTaskSlots.",
                                                               graph_.graph().name(), needed, slots_.taskManagers(), offered));
  const auto waiting = std::move(slotless_);
  dropSlotWait();
  // Slots that can never come are no reason to try again.
  if (options_.slotRequestTimeout.count() == 0) {
    history_.add(historyEntryOf(nullptr, failure, env_.clock.epochMillis()), true);
    return failJob(failure);
  }
  for (const ExecutionAttemptID& attempt : waiting) {
    const int32_t task = graph_.find(attempt);
    if (task >= 0 && graph_.task(task).current.state == S::kScheduled && graph_.transition(task, S::kFailed, failure))
      handleTaskFailure(task, failure);
  }
}

void Scheduler::dropSlotWait() {
  slotless_.clear();
  env_.loop.cancel(std::exchange(slotTimer_, {}));
}

void Scheduler::addTaskManager(TaskManagerSlots taskManager) {
  slots_.addTaskManager(std::move(taskManager));
  if (slotless_.empty()) return;
  std::vector<int32_t> tasks;
  for (const ExecutionAttemptID& attempt : std::exchange(slotless_, {})) {
    const int32_t task = graph_.find(attempt);
    if (task >= 0 && graph_.task(task).current.state == S::kScheduled) tasks.push_back(task);
  }
  const auto timer = slotTimer_;
  deploy(tasks);
  if (slotless_.empty() && env_.loop.cancel(timer)) slotTimer_ = {};
}

// --- What TaskManagers report ---

void Scheduler::updateTaskState(const TaskStateUpdate& update) {
  const int32_t task = graph_.find(update.attempt);
  if (task < 0)
    return log_.debug("Dropped state {} of {}, which is not a current attempt.", toString(update.state), update.attempt.toString());
  const S current = graph_.task(task).current.state;
  // However a task ends that was told to cancel: it is canceled.
  if (isTerminal(update.state) && current == S::kCanceling) {
    graph_.transition(task, S::kCanceled);
  } else if (update.state == S::kFailed || update.state == S::kCanceled) {
    const auto failure = update.failure ? update.failure
                                        : std::make_shared<const Throwable>("org.apache.flink.util.FlinkException",
                                                                            "The task ended as " + std::string(toString(update.state)) +
                                                                                " without being told to and without a reason.");
    if (graph_.transition(task, S::kFailed, failure)) handleTaskFailure(task, failure);
  } else if (update.state == S::kRunning && current == S::kDeploying) {
    graph_.transition(task, S::kInitializing);  // its message was lost or is behind this one
    graph_.transition(task, S::kRunning);
  } else if (update.state != S::kCanceling && !graph_.transition(task, update.state)) {
    log_.debug("Dropped state {} of {}, which is {}.", toString(update.state), update.attempt.toString(), toString(current));
  }
  checkJobEnd();
}

void Scheduler::taskManagerLost(const std::string& id, const std::string& why) {
  if (!slots_.removeTaskManager(id)) return;
  const auto failure = std::make_shared<Throwable>("org.apache.flink.runtime.jobmaster.JobMasterException", why);
  std::vector<ExecutionAttemptID> lost;
  for (int32_t task = 0; task < graph_.taskCount(); ++task) {
    if (places_[task].taskManager != id) continue;
    places_[task] = {};  // nobody there to be told to cancel
    if (!isTerminal(graph_.task(task).current.state)) lost.push_back(graph_.task(task).current.id);
  }
  for (const ExecutionAttemptID& attempt : lost) {
    const int32_t task = graph_.find(attempt);
    if (lifecycle_) lifecycle_->onTaskLost(attempt, failure);
    if (graph_.transition(task, S::kCanceled)) continue;  // it was being canceled
    if (graph_.transition(task, S::kFailed, failure)) handleTaskFailure(task, failure);
  }
  checkJobEnd();
}

// --- Ending ---

void Scheduler::cancelTask(int32_t task) {
  const S state = graph_.task(task).current.state;
  if (!graph_.transition(task, S::kCanceling)) return;
  const bool isDeployed = state == S::kDeploying || state == S::kInitializing || state == S::kRunning;
  if (isDeployed && places_[task].gateway) {
    places_[task].gateway->cancelTask(graph_.task(task).current.id);
  } else {
    graph_.transition(task, S::kCanceled);
  }
}

void Scheduler::cancelAll() {
  dropSlotWait();
  for (int32_t task = 0; task < graph_.taskCount(); ++task) cancelTask(task);
}

void Scheduler::cancel() {
  if (isTerminal(graph_.status()) || graph_.status() == J::kCancelling) return;
  dropRestarts();
  failure_ = nullptr;
  graph_.switchJob(J::kCancelling);
  cancelAll();
  checkJobEnd();
}

void Scheduler::failJob(const std::shared_ptr<const Throwable>& failure) {
  if (isEnding(graph_.status())) return;
  dropRestarts();
  failure_ = failure;
  graph_.switchJob(J::kFailing, failure);
  cancelAll();
  checkJobEnd();
}

void Scheduler::checkJobEnd() {
  if (ended_ || !graph_.allTerminal()) return;
  switch (graph_.status()) {
    case J::kRunning:
      if (!graph_.allFinished()) return;
      graph_.switchJob(J::kFinished);
      break;
    case J::kFailing: graph_.switchJob(J::kFailed, failure_); break;
    case J::kCancelling: graph_.switchJob(J::kCanceled); break;
    default: return;
  }
  ended_ = true;
  onTerminal_();
}

// --- Failures and restarts ---

void Scheduler::handleTaskFailure(int32_t index, const std::shared_ptr<const Throwable>& failure) {
  if (isEnding(graph_.status())) return;
  const ExecutionVertex& task = graph_.task(index);
  if (!mayRestart(&task, failure)) return;
  const auto region = graph_.region(task.region);
  log_.info("{} tasks will be restarted to recover the failed task {}.", region.size(), task.current.id.toString());
  beginRestart({region.begin(), region.end()});
}

void Scheduler::failGlobally(const std::shared_ptr<const Throwable>& failure) {
  if (isEnding(graph_.status())) return;
  log_.info("Trying to recover from a global failure.\n{}", failure->trace());
  if (!mayRestart(nullptr, failure)) return;
  log_.info("{} tasks will be restarted to recover from a global failure.", graph_.taskCount());
  beginRestart(allTasksOf(graph_));
}

void Scheduler::failGloballyIfRunning(const ExecutionAttemptID& attempt, const std::shared_ptr<const Throwable>& failure) {
  const int32_t task = graph_.find(attempt);
  if (task >= 0 && graph_.task(task).current.state == S::kRunning) failGlobally(failure);
}

bool Scheduler::mayRestart(const ExecutionVertex* task, const std::shared_ptr<const Throwable>& failure) {
  const bool isNew = strategy_->notifyFailure();
  const int64_t now = env_.clock.epochMillis();
  std::string why;
  if (suppressesRestarts(failure.get())) why = "The failure is not recoverable";
  else if (!strategy_->canRestart()) why = "Recovery is suppressed by " + strategy_->toString();
  if (why.empty()) {
    history_.add(historyEntryOf(task, failure, now), isNew);
    return true;
  }
  const auto final = std::make_shared<Throwable>(kJobException, why, failure);
  history_.add(historyEntryOf(task, final, now), true);
  failJob(final);
  return false;
}

void Scheduler::beginRestart(std::vector<int32_t> tasks) {
  const int64_t id = ++lastRestart_;
  Restart& restart = restarts_[id];
  restart.tasks = std::move(tasks);
  ++numRestarts_;
  for (const int32_t task : restart.tasks) {
    const bool open = !isTerminal(graph_.task(task).current.state);
    restart.waiting += open;
    // The latest restart takes a task over; an older one goes on with the rest of its tasks, if any are left.
    const int64_t older = std::exchange(restartOf_[task], id);
    const auto found = restarts_.find(older);
    if (open && found != restarts_.end() && --found->second.waiting == 0) {
      env_.loop.post({"restart tasks", [this, older] { restartIfReady(older); }});
    }
  }
  if (graph_.status() == J::kRunning) graph_.switchJob(J::kRestarting);
  const auto unpause = [this, id] {
    if (const auto found = restarts_.find(id); found != restarts_.end()) found->second.paused = false;
    restartIfReady(id);
  };
  // The pause runs while the tasks are being canceled.
  const Millis pause = strategy_->backoff();
  if (pause.count() > 0) restart.timer = env_.loop.postAt(Deadline::work(env_.clock.monotonic() + pause), {"restart pause", unpause});
  else env_.loop.post({"restart tasks", unpause});
  for (const int32_t task : restart.tasks) cancelTask(task);
}

void Scheduler::restartIfReady(int64_t id) {
  const auto found = restarts_.find(id);
  if (found == restarts_.end() || found->second.paused || found->second.waiting > 0) return;
  std::vector<int32_t> tasks = std::move(found->second.tasks);
  restarts_.erase(found);
  std::erase_if(tasks, [&](int32_t task) { return restartOf_[task] != id; });
  for (const int32_t task : tasks) restartOf_[task] = 0;
  const bool nothingWaits = std::all_of(restarts_.begin(), restarts_.end(), [&](const auto& entry) {
    return std::none_of(entry.second.tasks.begin(), entry.second.tasks.end(), [&](int32_t t) { return restartOf_[t] == entry.first; });
  });
  if (nothingWaits && graph_.status() == J::kRestarting) graph_.switchJob(J::kRunning);
  for (const int32_t task : tasks) {
    graph_.startNextAttempt(task);
    places_[task] = {};
  }
  if (restore(tasks)) startTasks(tasks);
  checkJobEnd();
}

void Scheduler::dropRestarts() {
  for (auto& [id, restart] : restarts_) env_.loop.cancel(restart.timer);
  restarts_.clear();
  std::fill(restartOf_.begin(), restartOf_.end(), 0);
}

}  // namespace weir
