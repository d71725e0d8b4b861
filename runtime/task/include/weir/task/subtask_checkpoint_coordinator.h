#pragma once

#include <map>
#include <memory>
#include <set>

#include "weir/task/operator_chain.h"

namespace weir {

/// The asynchronous part of one checkpoint of one subtask: writes what the operators prepared and answers the coordinator. Shared by the
/// task and the worker that runs it; an abort races with the end and exactly one of them wins. Flink: AsyncCheckpointRunnable.
class AsyncCheckpoint {
 public:
  /// What the task says of itself with its acknowledgement.
  struct Finished {
    bool operators = false;  ///< it has finished all its operators
    bool onRestore = false;  ///< it was restored as finished
  };
  AsyncCheckpoint(TaskEnvironment& environment, CheckpointMetaData checkpoint, CheckpointOptions options, CheckpointMetrics metrics,
                  std::vector<OperatorSnapshot> snapshots, Finished finished, Nanos started);

  bool hasNothingToWrite() const;
  /// On a worker, or on the task itself where there is nothing to write.
  void run(ExecutionContext& context);
  /// The checkpoint was aborted, or the task ends: nothing is acknowledged or declined any more. Any thread.
  void cancel();
  int64_t checkpointId() const { return checkpoint_.checkpointId; }
  bool isDone() const { return state_.load(std::memory_order_seq_cst) != State::kRunning; }

 private:
  enum class State { kRunning, kCompleted, kDiscarded };
  Result<std::shared_ptr<TaskStateSnapshot>> write(ExecutionContext& context);
  Result<std::shared_ptr<TaskStateSnapshot>> writeFiles();
  Result<void> writeInto(TaskStateSnapshot& state);
  void finishMetrics(ExecutionContext& context, const TaskStateSnapshot* state);

  // Copies, not the environment: a worker may still write when the task has gone.
  CheckpointResponder& responder_;
  std::shared_ptr<CheckpointWorkerStorage> storage_;
  Logger log_;
  std::shared_ptr<BarrierTracer> trace_;
  std::string taskName_;
  ExecutionAttemptID attempt_;
  CheckpointMetaData checkpoint_;
  CheckpointOptions options_;
  CheckpointMetrics metrics_;
  std::vector<OperatorSnapshot> snapshots_;
  Finished finished_;
  Nanos started_;
  std::atomic<State> state_{State::kRunning};
};

/// Takes the checkpoints of one task: decides by id, sends the barrier on, snapshots the operators, starts the asynchronous part, keeps
/// book of aborted ids. Lives on its task.
///
/// Flink: SubtaskCheckpointCoordinatorImpl. Invariants: snapshots have strictly rising ids; of barrier and cancellation marker exactly one
/// leaves per id; the barrier leaves before any operator snapshots.
class SubtaskCheckpointCoordinator {
 public:
  SubtaskCheckpointCoordinator(TaskEnvironment& environment, ExecutionContext& context, OperatorChain& chain);

  /// One indivisible step. Throws when the synchronous part fails: that fails the task. `operatorsFinished`: after the end of data.
  void checkpointState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options, CheckpointMetrics metrics,
                       bool operatorsFinished);
  void notifyCheckpointComplete(int64_t checkpointId);
  void notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId);
  /// By a barrier handler: declines and forwards the marker.
  void abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why);
  /// Cancels running asynchronous parts.
  void close();

  int64_t lastCheckpointId() const { return lastCheckpointId_; }
  int64_t latestCompletedId() const { return latestReportedCompletedId_; }

 private:
  bool wasAborted(int64_t checkpointId);
  void forgetFinishedParts();

  TaskEnvironment& environment_;
  ExecutionContext& context_;
  OperatorChain& chain_;
  Logger log_, asyncLog_;
  int64_t lastCheckpointId_ = -1;
  int64_t latestReportedCompletedId_ = 0;
  int64_t highestAbortedId_ = -1;
  std::set<int64_t> abortedIds_;  ///< ids that were aborted before their barrier came; at most max-concurrent-checkpoints of them
  std::map<int64_t, std::shared_ptr<AsyncCheckpoint>> running_;
};

}  // namespace weir
