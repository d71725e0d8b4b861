#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "weir/task/stream_operator.h"
#include "weir/task/task_environment.h"

namespace weir {

/// The asynchronous part of one checkpoint of one subtask: writes what the operators prepared, waits for the in-flight data, and answers
/// the coordinator. Shared by the task, the worker that runs it and the channel-state writer; an abort races with the end and exactly one
/// of them wins.
///
/// Flink: AsyncCheckpointRunnable. Differs: it does not hold a worker while in-flight data is still being collected: who ends that puts the
/// rest of it into the workers' queue.
class AsyncCheckpoint : public std::enable_shared_from_this<AsyncCheckpoint> {
 public:
  /// What the task says of itself with its acknowledgement.
  struct Finished {
    bool operators = false;  ///< it has finished all its operators
    bool onRestore = false;  ///< it was restored as finished
  };
  /// In-flight data of the task: of its inputs with the head, of its outputs with the tail of the chain.
  struct InFlight {
    std::shared_ptr<ChannelStateWriteResult> result;  ///< null: none is stored
    OperatorID head{}, tail{};
  };
  /// `reported` is set when it has ended.
  AsyncCheckpoint(TaskEnvironment& environment, CheckpointMetaData checkpoint, CheckpointOptions options, CheckpointMetrics metrics,
                  std::vector<OperatorSnapshot> snapshots, InFlight inFlight, Finished finished, Nanos started,
                  std::shared_ptr<Signal> reported);

  /// All that is to be written is small enough to be handed over in memory. Before run().
  bool touchesNoFile() const;
  /// On a worker, or on the task itself where it touches no file.
  void run(ExecutionContext& context);
  /// The alignment has ended after the snapshot was taken: these are its numbers. Before the in-flight data is complete. The task.
  void setAlignment(const CheckpointMetrics& alignment);
  /// The checkpoint was aborted, or the task ends: nothing is acknowledged or declined any more. Any thread.
  void cancel();
  int64_t checkpointId() const { return checkpoint_.checkpointId; }
  bool isDone() const { return state_.load(std::memory_order_seq_cst) != State::kRunning; }

 private:
  enum class State { kRunning, kCompleted, kDiscarded };
  using Written = Result<std::shared_ptr<TaskStateSnapshot>>;

  bool hasNothingToWrite() const;
  Written write(ExecutionContext& context);
  Written writeFiles();
  Result<void> writeInto(TaskStateSnapshot& state);
  void end(ExecutionContext& context);
  void report(ExecutionContext& context, Written state);
  std::shared_ptr<const CheckpointException> addInFlight(TaskStateSnapshot& state);
  void discard(ExecutionContext& context, const TaskStateSnapshot& state, bool written);
  void remove(ExecutionContext& context, const TaskStateSnapshot& state);
  void decline(const std::shared_ptr<const CheckpointException>& why);
  CheckpointMetrics finishMetrics(ExecutionContext& context, const TaskStateSnapshot* state);

  // Copies, not the environment: a worker may still write when the task has gone.
  CheckpointResponder& responder_;
  std::shared_ptr<SnapshotWorkers> workers_;
  std::shared_ptr<CheckpointWorkerStorage> storage_;
  Logger log_;
  std::shared_ptr<BarrierTracer> trace_;
  std::string taskName_;
  ExecutionAttemptID attempt_;
  CheckpointMetaData checkpoint_;
  CheckpointOptions options_;
  std::vector<OperatorSnapshot> snapshots_;
  InFlight inFlight_;
  Finished finished_;
  Nanos started_;
  const std::shared_ptr<Signal> reported_;
  Written written_{nullptr};
  std::atomic<State> state_{State::kRunning};

  Mutex mutex_;  ///< an alignment may end while an aborted part already reports
  CheckpointMetrics metrics_;
};

}  // namespace weir
