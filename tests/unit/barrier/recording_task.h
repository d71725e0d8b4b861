#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/barrier/checkpoint_barrier_handler.h"
#include "weir/base/log_sinks.h"

namespace weir {

/// A clock that stands still until it is told.
class TestClock final : public Clock {
 public:
  int64_t epochMillis() const override { return millis; }
  Nanos monotonic() const override { return Millis(millis); }
  int64_t millis = 1000;
};

/// Writes down what a barrier handler asks for, in order.
class RecordingTask final : public CheckpointableTask {
 public:
  void triggerCheckpointOnBarrier(const CheckpointMetaData& checkpoint, const CheckpointOptions& options,
                                  const CheckpointMetrics& metrics) override {
    events.push_back("trigger " + std::to_string(checkpoint.checkpointId));
    lastMetrics = metrics;
    lastOptions = options;
  }
  void abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) override {
    events.push_back("abort " + std::to_string(checkpointId));
    lastReason = why.reason();
  }
  void resumeConsumption(int channel) override { events.push_back("resume " + std::to_string(channel)); }
  void initInputsCheckpoint(const CheckpointBarrier& barrier) override {
    // Without in-flight data there is nothing to begin.
    if (barrier.options.needsChannelState())
      events.push_back((barrier.options.isUnaligned() ? "init unaligned " : "init aligned ") + std::to_string(barrier.id));
  }
  void checkpointStarted(const CheckpointBarrier& barrier) override {
    if (refusesStart) throw CheckpointException("a newer barrier was seen", CheckpointFailureReason::kCheckpointSubsumed);
    events.push_back("start " + std::to_string(barrier.id));
  }
  void checkpointStopped(int64_t checkpointId) override { events.push_back("stop " + std::to_string(checkpointId)); }
  void convertToPriorityEvent(int channel, int32_t sequenceNumber) override {
    events.push_back("convert " + std::to_string(channel) + "@" + std::to_string(sequenceNumber));
  }
  void allBarriersReceived(int64_t checkpointId, const CheckpointMetrics& alignment) override {
    received.push_back(checkpointId);
    finalAlignment = alignment;
  }
  void setAlignmentTimer(int64_t checkpointId, Millis delay) override { timer = {checkpointId, delay.count()}; }
  void cancelAlignmentTimer() override { timer.reset(); }

  /// What was asked for since the last call.
  std::vector<std::string> take() { return std::exchange(events, {}); }
  std::vector<std::string> events;
  CheckpointMetrics lastMetrics, finalAlignment;
  CheckpointOptions lastOptions;
  std::vector<int64_t> received;                      ///< checkpoints whose barriers are all here
  std::optional<std::pair<int64_t, int64_t>> timer;  ///< checkpoint and delay in milliseconds
  bool refusesStart = false;
  CheckpointFailureReason lastReason{};
};

inline CheckpointBarrier barrier(int64_t id, int64_t timestamp = 1000, AlignmentType alignment = AlignmentType::kAligned) {
  CheckpointOptions options;
  options.alignment = alignment;
  return {id, timestamp, options};
}
/// Aligned, and unaligned from `timeoutMs` after its trigger on.
inline CheckpointBarrier timeoutable(int64_t id, int64_t timeoutMs, int64_t timestamp = 1000) {
  CheckpointBarrier made = barrier(id, timestamp);
  made.options.alignedTimeoutMs = timeoutMs;
  return made;
}

using Events = std::vector<std::string>;

}  // namespace weir
