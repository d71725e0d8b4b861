#pragma once

#include <memory>
#include <optional>

#include "weir/base/mailbox.h"
#include "weir/task/subtask_checkpoint_coordinator.h"
#include "weir/task/task_input.h"
#include "weir/task/task_processing_time.h"
#include "weir/task/task_timers.h"
#include "weir/task/task_times.h"

namespace weir {

/// The loop of one task: mails first, then input, then a wait; the only place where its operators run.
///
/// Flink: StreamTask with its MailboxProcessor. Threads: everything on the task's actor, except mailbox() and times().
/// Life: restore(), replayInputs(), invoke(), close(). close() alone after a failure.
/// Invariants: between two batches the loop looks for mail; a snapshot never splits a batch; records are processed only while every output
/// has a buffer in hand; the barrier that triggers leads to its snapshot before another record is read; a barrier that overtakes, and a
/// timer that is due, wait for at most the batch that is being processed, also while no output has a buffer.
class StreamTask : private CheckpointableTask {
 public:
  StreamTask(const TaskFactory& factory, TaskEnvironment& environment, ExecutionContext& context, TaskTimes& times, Mailbox& mailbox);
  ~StreamTask();

  /// Operators have their state and are open; every output channel begins with what was in flight in it, and the end of its recovery.
  void restore();
  /// Processes what was in flight in the inputs. After restore(), before the gates are connected: then it is in front of all that comes.
  void replayInputs();
  /// Returns when all input was processed, acknowledged by all consumers and, with checkpoints on, covered by a completed checkpoint.
  void invoke();
  /// After invoke(): no mail is taken any more. What had come is done, but for checkpoints: those are declined.
  void drainMails();
  /// Cancels asynchronous parts and closes the operators. Never throws.
  void close();

  /// All inputs of the task; null for a source.
  InputGate* inputGate() { return input_ ? &input_->gate() : nullptr; }

  /// As mails of the task.
  void triggerCheckpoint(const CheckpointMetaData& checkpoint, const CheckpointOptions& options);
  void notifyCheckpointComplete(int64_t checkpointId);
  void announceAlignment(int64_t maxAllowed) { alignment_.announce(maxAllowed); }
  void notifyCheckpointAborted(int64_t checkpointId, int64_t latestCompletedId);

 private:
  void triggerCheckpointOnBarrier(const CheckpointMetaData& checkpoint, const CheckpointOptions& options,
                                  const CheckpointMetrics& metrics) override;
  void abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) override;
  void resumeConsumption(int channel) override { input_->resumeConsumption(channel); }
  void initInputsCheckpoint(const CheckpointBarrier& barrier) override { checkpoints_.initInputsCheckpoint(barrier.id, barrier.options); }
  void checkpointStarted(const CheckpointBarrier& barrier) override { input_->checkpointStarted(barrier); }
  void checkpointStopped(int64_t checkpointId) override { input_->checkpointStopped(checkpointId); }
  void convertToPriorityEvent(int channel, int32_t sequenceNumber) override { input_->convertToPriorityEvent(channel, sequenceNumber); }
  void allBarriersReceived(int64_t checkpointId, const CheckpointMetrics& alignment) override {
    checkpoints_.allBarriersReceived(checkpointId, alignment);
  }
  void setAlignmentTimer(int64_t checkpointId, Millis delay) override;
  void cancelAlignmentTimer() override { timers_.cancel(std::exchange(alignmentTimer_, 0)); }

  void performCheckpoint(const CheckpointMetaData& checkpoint, const CheckpointOptions& options, CheckpointMetrics metrics);
  void runMails();
  void scheduleDebloating();
  void scheduleLatencyMarker(int64_t at);
  /// What has to be done between two batches: mail, timers, barriers that overtake.
  void handleEvents();
  Deadline deadline() const { return earlierOf(timers_.deadline(), processingTime_.deadline()); }
  /// The same for timers of operators, which emit: only while every output has a buffer.
  void runProcessingTimers() {
    if (processingTime_.isDue() && outputsAvailable()) processingTime_.runDue();
  }
  /// Fires what is left of a watermark that was interrupted.
  void finishWatermark();
  TaskEnvironment& equip(TaskEnvironment& environment);
  bool outputsAvailable() const;
  size_t batchLimit() const;
  void waitForOutputs();
  void processSource();
  void processInput();
  void endData();
  void waitForTheEnd();
  bool allRecordsAcknowledged() const;

  TaskEnvironment& environment_;
  ExecutionContext& context_;
  TaskTimes& times_;
  Mailbox& mailbox_;
  Logger log_;
  /// A mail, a barrier that overtakes, or a missing output buffer ends the firing of timers for a while.
  class TimerInterruption final : public Interruption {
   public:
    explicit TimerInterruption(const StreamTask& task) : task_(task) {}
    bool isRequested() const override;

   private:
    const StreamTask& task_;
  };
  TimerInterruption interruption_{*this};
  TaskProcessingTime processingTime_;
  SourceAlignment alignment_;
  OperatorChain chain_;
  ChannelStateRecovery recovery_;
  TaskTimers timers_;
  TaskTimers::Id alignmentTimer_ = 0;
  SubtaskCheckpointCoordinator checkpoints_;
  std::unique_ptr<TaskInput> input_;  ///< null: a source
  bool endOfData_ = false, endOfInput_ = false;
  bool ended_ = false;  ///< takes no more checkpoints
  std::optional<int64_t> finalCheckpointMinId_;  ///< the first checkpoint taken after the end of data
  bool finalCheckpointCompleted_ = false;
  std::vector<Signal*> waitSignals_;
};

}  // namespace weir
