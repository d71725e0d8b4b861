#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weir/task/execution_state.h"
#include "weir/task/stream_task.h"

namespace weir {

/// Told of every state that a task enters, from DEPLOYING on, by the task's actor. Only enqueues.
class TaskStateListener {
 public:
  /// `failure` is set with kFailed only.
  virtual void onTaskState(const ExecutionAttemptID& attempt, ExecutionState state, std::shared_ptr<const Throwable> failure) = 0;

 protected:
  ~TaskStateListener() = default;
};

/// What a task does with its network connections, at its two ends; both run on the task's actor.
class TaskNetwork {
 public:
  virtual ~TaskNetwork() = default;
  /// Gives the partitions their pools and makes them known. Throws where there are too few buffers. Does not wait: who holds those that
  /// this task requires may have to read what it recovers first.
  virtual void setUp(TaskEnvironment& environment, ExecutionContext& context) = 0;
  /// When state and in-flight data are back: waits until inputs and outputs are sure to get the buffers that they require, and gives the
  /// gates theirs. Throws where they do not come.
  virtual void awaitBuffers(TaskEnvironment& environment, ExecutionContext& context) = 0;
  /// Then connects the gates to the partitions that they read; may wait for these to appear. Throws where one does not.
  virtual void requestPartitions(InputGate& gate, ExecutionContext& context) = 0;
  /// Everything is given back. With a cause: consumers are told that their producer failed. Never throws.
  virtual void release(TaskEnvironment& environment, std::shared_ptr<const Throwable> cause) = 0;
};

/// One attempt to run one subtask, from deployment to its terminal state.
///
/// Flink: Task. Threads: run() is the body of the task's actor; the rest may be called by any thread.
/// Life: shared by the TaskExecutor and the actor. States move CREATED, DEPLOYING, INITIALIZING, RUNNING, FINISHED; from any of them to
/// CANCELING, CANCELED or to FAILED. Whatever happens, the network is released and the operators are closed before the terminal state is
/// told.
class Task {
 public:
  Task(std::unique_ptr<TaskEnvironment> environment, std::shared_ptr<const TaskFactory> factory, std::unique_ptr<TaskNetwork> network,
       TaskStateListener& listener);

  void run(ExecutionContext& context);

  /// Asks it to end as CANCELED. The caller then cancels the actor. False if it has ended already.
  bool cancel();
  /// Makes it end as FAILED for a reason from outside. The caller then cancels the actor.
  bool failExternally(std::shared_ptr<const Throwable> cause);

  /// Declined with TASK_NOT_READY while the task does not run.
  void triggerCheckpoint(const CheckpointMetaData& checkpoint, const CheckpointOptions& options);
  void notifyCheckpointComplete(int64_t checkpointId);
  /// How far the task's source may be: see WatermarkAligner.
  void announceAlignment(int64_t maxAllowed);
  void notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId);

  const ExecutionAttemptID& attempt() const { return environment_->attempt; }
  std::string name() const { return environment_->taskName(); }
  ExecutionState state() const { return state_.load(std::memory_order_seq_cst); }
  TaskTimes::Reading times() const { return times_.read(); }
  TaskEnvironment& environment() { return *environment_; }
  const TaskFactory& factory() const { return *factory_; }

 private:
  bool transition(ExecutionState from, ExecutionState to, const std::shared_ptr<const Throwable>& failure = nullptr);
  void execute(ExecutionContext& context, std::unique_ptr<StreamTask>& task);
  void end(bool completed, std::shared_ptr<const Throwable> failure);
  bool postToRunning(const char* what, std::function<void(StreamTask&)> body, bool urgent = false);
  void ignoreNotification(const char* what) const;

  std::unique_ptr<TaskEnvironment> environment_;
  std::shared_ptr<const TaskFactory> factory_;
  std::unique_ptr<TaskNetwork> network_;
  TaskStateListener& listener_;
  Logger log_, streamTaskLog_;
  TaskTimes times_;
  Mailbox mailbox_;
  std::atomic<ExecutionState> state_{ExecutionState::kCreated};
  StreamTask* streamTask_ = nullptr;  ///< the actor's; mails run there
  Mutex mutex_;
  std::shared_ptr<const Throwable> externalFailure_;  ///< guarded by mutex_
};

}  // namespace weir
