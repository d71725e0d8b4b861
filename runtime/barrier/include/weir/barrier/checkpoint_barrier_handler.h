#pragma once

#include <cstdint>
#include <string>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/metrics/barrier_trace.h"
#include "weir/record/runtime_event.h"
#include "weir/snapshot/checkpoint_failure.h"
#include "weir/snapshot/checkpoint_metrics.h"

namespace weir {

/// What a barrier handler asks of its task and of the task's inputs. Called on the task, inside the handler's own calls.
///
/// Flink: CheckpointableTask and CheckpointableInput.
class CheckpointableTask {
 public:
  /// Takes the checkpoint now, as one indivisible step. `metrics` carries alignment duration, start delay and processed bytes.
  virtual void triggerCheckpointOnBarrier(const CheckpointMetaData& checkpoint, const CheckpointOptions& options,
                                          const CheckpointMetrics& metrics) = 0;
  /// Declines `checkpointId` and forwards a cancellation marker.
  virtual void abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) = 0;
  /// Lets a channel go on that its barrier had blocked at the sender.
  virtual void resumeConsumption(int channel) = 0;

  // Where in-flight data may have to be stored: barriers that are unaligned or may turn so. ------------------------------------------
  /// Begins to store for this checkpoint: unaligned, what the task has of each channel in its hands comes first.
  virtual void initInputsCheckpoint(const CheckpointBarrier& barrier) = 0;
  /// Every input stores what it hands out from now on, until its barrier comes. Throws CheckpointException where a channel has seen a newer
  /// barrier.
  virtual void checkpointStarted(const CheckpointBarrier& barrier) = 0;
  virtual void checkpointStopped(int64_t checkpointId) = 0;
  /// The announced barrier with this number overtakes what is queued in front of it.
  virtual void convertToPriorityEvent(int channel, int32_t sequenceNumber) = 0;
  /// Every open channel has delivered its barrier, whether or not the checkpoint was triggered before. `alignment` is its final duration
  /// and bytes.
  virtual void allBarriersReceived(int64_t checkpointId, const CheckpointMetrics& alignment) = 0;
  /// Calls the handler's onAlignmentTimeout(checkpointId) between two records, not before `delay`. One timer: setting replaces.
  virtual void setAlignmentTimer(int64_t checkpointId, Millis delay) = 0;
  virtual void cancelAlignmentTimer() = 0;

 protected:
  ~CheckpointableTask() = default;
};

/// Decides, from the barriers, markers and ends that arrive on the channels of one task, when the task takes its snapshot.
///
/// Channels are numbered through all gates of the task: gate after gate. Lives on the task alone; no locks.
///
/// Flink: CheckpointBarrierHandler.
class CheckpointBarrierHandler {
 public:
  CheckpointBarrierHandler(CheckpointableTask& task, const Clock& clock, Logger log, std::string taskName)
      : task_(task), clock_(clock), log_(std::move(log)), taskName_(std::move(taskName)) {}
  virtual ~CheckpointBarrierHandler() = default;

  /// `rpcTriggered`: the coordinator stands in for a barrier that no upstream will send; nothing is blocked then.
  virtual void processBarrier(const CheckpointBarrier& barrier, int channel, bool rpcTriggered) = 0;
  virtual void processCancellationBarrier(int64_t checkpointId, int channel) = 0;
  /// The barrier lies further back in the channel, at this sequence number.
  virtual void processBarrierAnnouncement(const CheckpointBarrier& announced, int channel, int32_t sequenceNumber) = 0;
  /// The timer of CheckpointableTask::setAlignmentTimer.
  virtual void onAlignmentTimeout(int64_t checkpointId) = 0;
  virtual void processEndOfPartition(int channel) = 0;
  /// -1 before the first barrier.
  virtual int64_t latestCheckpointId() const = 0;
  virtual bool isCheckpointPending() const = 0;

  /// Null: none. It outlives this.
  void setTrace(BarrierTracer* trace) { trace_ = trace; }
  /// A data buffer was read: counts as processed in flight while barriers are awaited.
  void addProcessedBytes(int64_t bytes) {
    if (alignmentStart_ != kNotAligning) bytesProcessedDuringAlignment_ += bytes;
  }
  /// Nanoseconds of the alignment under way, else of the last one: Flink's gauge checkpointAlignmentTime.
  int64_t alignmentDurationNanos() const;
  /// Flink's gauge checkpointStartDelayNanos.
  int64_t startDelayNanos() const { return startDelayNanos_; }

 protected:
  void markAlignmentStart(int64_t checkpointId, int64_t barrierTimestampMs);
  void markAlignmentEnd();
  void markAlignmentStartAndEnd(int64_t checkpointId, int64_t barrierTimestampMs);
  void resetAlignment();
  void notifyCheckpoint(const CheckpointBarrier& barrier);
  /// Duration, start delay and bytes of this checkpoint, as far as they are known now.
  CheckpointMetrics alignmentMetrics(int64_t checkpointId) const;
  void notifyAbort(int64_t checkpointId, const CheckpointException& why);

  CheckpointableTask& task_;
  const Clock& clock_;
  Logger log_;
  std::string taskName_;
  BarrierTracer* trace_ = nullptr;

 private:
  static constexpr Nanos kNotAligning = Nanos::min();
  Nanos alignmentStart_ = kNotAligning;
  int64_t startedCheckpointId_ = -1;  ///< whose alignment the numbers below belong to
  int64_t lastAlignmentNanos_ = 0;
  int64_t startDelayNanos_ = 0;
  int64_t bytesProcessedDuringAlignment_ = 0;
};

}  // namespace weir
