#include "weir/barrier/checkpoint_barrier_handler.h"

#include <algorithm>

namespace weir {

int64_t CheckpointBarrierHandler::alignmentDurationNanos() const {
  return alignmentStart_ == kNotAligning ? lastAlignmentNanos_ : (clock_.monotonic() - alignmentStart_).count();
}

void CheckpointBarrierHandler::markAlignmentStart(int64_t checkpointId, int64_t barrierTimestampMs) {
  startDelayNanos_ = 1'000'000 * std::max<int64_t>(0, clock_.epochMillis() - barrierTimestampMs);
  alignmentStart_ = clock_.monotonic();
  startedCheckpointId_ = checkpointId;
  bytesProcessedDuringAlignment_ = 0;
}

void CheckpointBarrierHandler::markAlignmentEnd() {
  lastAlignmentNanos_ = (clock_.monotonic() - alignmentStart_).count();
  alignmentStart_ = kNotAligning;
  if (trace_) trace_->record(BarrierStep::kAligned, startedCheckpointId_, {.durationNanos = lastAlignmentNanos_});
}

void CheckpointBarrierHandler::markAlignmentStartAndEnd(int64_t checkpointId, int64_t barrierTimestampMs) {
  markAlignmentStart(checkpointId, barrierTimestampMs);
  lastAlignmentNanos_ = 0;  // one channel has nothing to align with
  alignmentStart_ = kNotAligning;
  if (trace_) trace_->record(BarrierStep::kAligned, startedCheckpointId_, {.durationNanos = 0});
}

void CheckpointBarrierHandler::resetAlignment() {
  alignmentStart_ = kNotAligning;
  lastAlignmentNanos_ = 0;
  startDelayNanos_ = 0;
  bytesProcessedDuringAlignment_ = 0;
}

CheckpointMetrics CheckpointBarrierHandler::alignmentMetrics(int64_t checkpointId) const {
  CheckpointMetrics metrics;
  if (checkpointId != startedCheckpointId_) return metrics;
  metrics.alignmentDurationNanos = alignmentDurationNanos();
  metrics.bytesProcessedDuringAlignment = bytesProcessedDuringAlignment_;
  metrics.checkpointStartDelayNanos = startDelayNanos_;
  return metrics;
}

void CheckpointBarrierHandler::notifyCheckpoint(const CheckpointBarrier& barrier) {
  task_.triggerCheckpointOnBarrier({barrier.id, barrier.timestamp}, barrier.options, alignmentMetrics(barrier.id));
}

void CheckpointBarrierHandler::notifyAbort(int64_t checkpointId, const CheckpointException& why) {
  if (checkpointId == startedCheckpointId_) resetAlignment();
  task_.abortCheckpointOnBarrier(checkpointId, why);
}

}  // namespace weir
