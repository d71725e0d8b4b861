#include "weir/task/task.h"

namespace weir {
namespace {

constexpr const char* kCheckpointLogger = "org.apache.flink.streaming.runtime.tasks.StreamTask";

}  // namespace

Task::Task(std::unique_ptr<TaskEnvironment> environment, std::shared_ptr<const TaskFactory> factory, std::unique_ptr<TaskNetwork> network,
           TaskStateListener& listener)
    : environment_(std::move(environment)),
      factory_(std::move(factory)),
      network_(std::move(network)),
      listener_(listener),
      log_(environment_->world.log, "org.apache.flink.runtime.taskmanager.Task"),
      streamTaskLog_(environment_->world.log, kCheckpointLogger) {}

bool Task::transition(ExecutionState from, ExecutionState to, const std::shared_ptr<const Throwable>& failure) {
  if (!state_.compare_exchange_strong(from, to)) return false;
  if (failure)
    log_.warn("{} ({}) switched from {} to {} with failure cause:\n{}", name(), attempt().toString(), toString(from), toString(to),
              failure->trace());
  else
    log_.info("{} ({}) switched from {} to {}.", name(), attempt().toString(), toString(from), toString(to));
  return true;
}

void Task::run(ExecutionContext& context) {
  std::unique_ptr<StreamTask> task;
  std::shared_ptr<const Throwable> failure;
  bool completed = false;
  try {
    execute(context, task);
    completed = true;
  } catch (const TaskCancelled&) {
    Lock lock(mutex_);
    failure = externalFailure_;
  } catch (...) {
    failure = Throwable::from(std::current_exception());
  }
  // Cleaning up must end even if it is cancelled once more.
  context.setShielded(true);
  mailbox_.close();
  if (task) task->close();
  streamTask_ = nullptr;
  task.reset();
  std::shared_ptr<const Throwable> releaseCause = failure;
  if (!completed && !failure)
    releaseCause =
        std::make_shared<Throwable>("org.apache.flink.runtime.execution.CancelTaskException", "Task " + name() + " was cancelled");
  network_->release(*environment_, std::move(releaseCause));
  end(completed, failure);
  context.setShielded(false);
}

void Task::execute(ExecutionContext& context, std::unique_ptr<StreamTask>& task) {
  using enum ExecutionState;
  if (!transition(kCreated, kDeploying)) throw TaskCancelled{};
  listener_.onTaskState(attempt(), kDeploying, nullptr);
  network_->setUp(*environment_, context);
  if (!transition(kDeploying, kInitializing)) throw TaskCancelled{};
  listener_.onTaskState(attempt(), kInitializing, nullptr);
  task = std::make_unique<StreamTask>(*factory_, *environment_, context, times_, mailbox_);
  streamTask_ = task.get();
  task->restore();
  task->replayInputs();
  network_->awaitBuffers(*environment_, context);
  if (InputGate* gate = task->inputGate()) network_->requestPartitions(*gate, context);
  context.checkCancelled();
  if (!transition(kInitializing, kRunning)) throw TaskCancelled{};
  listener_.onTaskState(attempt(), kRunning, nullptr);
  task->invoke();
  task->drainMails();
  for (auto& partition : environment_->partitions) partition->finish();
}

void Task::end(bool completed, std::shared_ptr<const Throwable> failure) {
  using enum ExecutionState;
  for (;;) {
    const ExecutionState now = state();
    const ExecutionState terminal = now == kCanceling ? kCanceled : failure ? kFailed : completed ? kFinished : kCanceled;
    if (now == kCanceling) failure = nullptr;  // whatever breaks while it is cancelled is of no interest
    if (!transition(now, terminal, failure)) continue;
    log_.info("Freeing task resources for {} ({}).", name(), attempt().toString());
    listener_.onTaskState(attempt(), terminal, failure);
    return;
  }
}

bool Task::cancel() {
  log_.info("Attempting to cancel task {} ({}).", name(), attempt().toString());
  for (;;) {
    const ExecutionState now = state();
    if (isTerminal(now)) return false;
    if (now == ExecutionState::kCanceling || transition(now, ExecutionState::kCanceling)) break;
  }
  log_.info("Triggering cancellation of task code {} ({}).", name(), attempt().toString());
  return true;
}

bool Task::failExternally(std::shared_ptr<const Throwable> cause) {
  if (isTerminal(state())) return false;
  log_.info("Attempting to fail task externally {} ({}).", name(), attempt().toString());
  Lock lock(mutex_);
  if (!externalFailure_) externalFailure_ = std::move(cause);
  return true;
}

bool Task::postToRunning(const char* what, std::function<void(StreamTask&)> body, bool urgent) {
  if (state() != ExecutionState::kRunning) return false;
  Mail mail{what, [this, body = std::move(body)] { body(*streamTask_); }};
  return urgent ? mailbox_.putUrgent(std::move(mail)) : mailbox_.put(std::move(mail));
}

void Task::triggerCheckpoint(const CheckpointMetaData& checkpoint, const CheckpointOptions& options) {
  if (postToRunning("checkpoint trigger", [=](StreamTask& task) { task.triggerCheckpoint(checkpoint, options); },
                    options.isUnaligned()))
    return;
  streamTaskLog_.debug("Declining checkpoint request for non-running task {} ({}).", environment_->taskNameWithSubtask(),
                       attempt().toString());
  environment_->responder.declineCheckpoint(
      attempt(), checkpoint.checkpointId,
      std::make_shared<CheckpointException>("Task name with subtask : " + environment_->taskNameWithSubtask(),
                                            CheckpointFailureReason::kCheckpointDeclinedTaskNotReady));
}

void Task::notifyCheckpointComplete(int64_t checkpointId) {
  if (!postToRunning("checkpoint complete", [=](StreamTask& task) { task.notifyCheckpointComplete(checkpointId); }))
    ignoreNotification("COMPLETE");
}

void Task::notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId) {
  if (!postToRunning("checkpoint aborted", [=](StreamTask& task) { task.notifyCheckpointAborted(checkpointId, latestCompletedId); }))
    ignoreNotification("ABORT");
}

void Task::announceAlignment(int64_t maxAllowed) {
  postToRunning("watermark alignment", [=](StreamTask& task) { task.announceAlignment(maxAllowed); });
}

void Task::ignoreNotification(const char* what) const {
  streamTaskLog_.info("Ignoring checkpoint {} notification for non-running task {}.", what, environment_->taskNameWithSubtask());
}

}  // namespace weir
