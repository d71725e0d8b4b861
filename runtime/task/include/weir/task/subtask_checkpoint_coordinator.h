#pragma once

#include <map>
#include <memory>
#include <set>

#include "weir/task/async_checkpoint.h"
#include "weir/task/operator_chain.h"
#include "weir/task/task_input.h"
#include "weir/task/task_timers.h"

namespace weir {

/// Takes the checkpoints of one task: decides by id, has in-flight data stored, sends the barrier on, snapshots the operators, starts the
/// asynchronous part, keeps book of aborted ids. Lives on its task.
///
/// Flink: SubtaskCheckpointCoordinatorImpl. Invariants: snapshots have strictly rising ids; of barrier and cancellation marker exactly one
/// leaves per id; the barrier leaves before any operator snapshots; what is stored of an input channel begins with what the task itself
/// holds of it.
class SubtaskCheckpointCoordinator {
 public:
  /// `timers` outlives it.
  SubtaskCheckpointCoordinator(TaskEnvironment& environment, ExecutionContext& context, OperatorChain& chain, TaskTimers& timers);
  /// Before the first checkpoint; none for a source.
  void setInput(TaskInput* input) { input_ = input; }

  /// Has in-flight data stored from now on, before checkpointState() of the same id. With a timeout only that of the outputs, because
  /// nothing is in flight in an aligned input.
  void initInputsCheckpoint(int64_t checkpointId, const CheckpointOptions& options);
  /// The last barrier is here: no more input data of this checkpoint follows.
  void allBarriersReceived(int64_t checkpointId, const CheckpointMetrics& alignment);
  /// One indivisible step. Throws when the synchronous part fails: that fails the task. `operatorsFinished`: after the end of data.
  void checkpointState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options, CheckpointMetrics metrics,
                       bool operatorsFinished);
  void notifyCheckpointComplete(int64_t checkpointId);
  void notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId);
  /// By a barrier handler: declines and forwards the marker.
  void abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why);
  /// Some asynchronous part has not answered yet: a task that ends regularly waits for it, else its checkpoint would never complete.
  bool hasRunningParts();
  /// Set when one of them has.
  Signal& partReported() { return *partReported_; }
  /// Cancels running asynchronous parts.
  void close();

  int64_t lastCheckpointId() const { return lastCheckpointId_; }
  int64_t latestCompletedId() const { return latestReportedCompletedId_; }

 private:
  bool wasAborted(int64_t checkpointId);
  void forgetFinishedParts();
  void snapshot(const CheckpointMetaData& checkpoint, const CheckpointOptions& options, CheckpointMetrics metrics, bool operatorsFinished);
  void startOutputTimer(const CheckpointMetaData& checkpoint, const CheckpointOptions& options);
  void cancelOutputTimer();
  void abortInFlight(int64_t checkpointId, std::shared_ptr<const Throwable> cause, bool cleanUp);

  TaskEnvironment& environment_;
  ExecutionContext& context_;
  OperatorChain& chain_;
  TaskTimers& timers_;
  TaskInput* input_ = nullptr;
  ChannelStateWriter* const inFlight_;  ///< null: no checkpoint is unaligned
  Logger log_;
  int64_t awaitingBarriersOf_ = -1;  ///< the checkpoint whose input data is being stored
  int64_t outputTimerOf_ = -1;
  TaskTimers::Id outputTimer_ = 0;
  int64_t lastCheckpointId_ = -1;
  int64_t latestReportedCompletedId_ = 0;
  int64_t highestAbortedId_ = -1;
  std::set<int64_t> abortedIds_;  ///< ids that were aborted before their barrier came; at most max-concurrent-checkpoints of them
  std::map<int64_t, std::shared_ptr<AsyncCheckpoint>> running_;
  const std::shared_ptr<Signal> partReported_ = std::make_shared<Signal>("asynchronous part of a checkpoint");
};

}  // namespace weir
