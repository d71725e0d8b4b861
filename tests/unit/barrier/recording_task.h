#pragma once

#include <string>
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
  void triggerCheckpointOnBarrier(const CheckpointMetaData& checkpoint, const CheckpointOptions&,
                                  const CheckpointMetrics& metrics) override {
    events.push_back("trigger " + std::to_string(checkpoint.checkpointId));
    lastMetrics = metrics;
  }
  void abortCheckpointOnBarrier(int64_t checkpointId, const CheckpointException& why) override {
    events.push_back("abort " + std::to_string(checkpointId));
    lastReason = why.reason();
  }
  void resumeConsumption(int channel) override { events.push_back("resume " + std::to_string(channel)); }

  /// What was asked for since the last call.
  std::vector<std::string> take() { return std::exchange(events, {}); }
  std::vector<std::string> events;
  CheckpointMetrics lastMetrics;
  CheckpointFailureReason lastReason{};
};

inline CheckpointBarrier barrier(int64_t id, int64_t timestamp = 1000, AlignmentType alignment = AlignmentType::kAligned) {
  CheckpointOptions options;
  options.alignment = alignment;
  return {id, timestamp, options};
}

using Events = std::vector<std::string>;

}  // namespace weir
