#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "weir/base/clock.h"

namespace weir {

/// taskmanager.network.memory.buffer-debloat.* and the sizes between which it moves.
struct BufferDebloatSettings {
  bool enabled = false;
  Millis period{200};
  int32_t samples = 20;
  Millis target{1000};             ///< in-flight data should take this long to process
  int32_t thresholdPercentages = 25;
  int32_t minSize = 256;           ///< taskmanager.memory.min-segment-size
  int32_t startingSize = 1024;     ///< taskmanager.memory.starting-segment-size
  int32_t maxSize = 32 * 1024;     ///< taskmanager.memory.segment-size
};

/// Bytes per second of one gate while it has something to read: the meter runs from the first poll that finds data to the first that does
/// not, so that idle time does not count. Used by the consuming task.
///
/// Flink: ThroughputCalculator.
class ThroughputCalculator {
 public:
  explicit ThroughputCalculator(const Clock& clock) : clock_(clock) {}

  /// A poll has found `bytes`.
  void received(int64_t bytes) {
    bytes_ += bytes;
    if (isRunning_) return;
    isRunning_ = true;
    since_ = clock_.monotonic();
  }
  /// A poll has found nothing.
  void pause() {
    if (!isRunning_) return;
    active_ += clock_.monotonic() - since_;
    isRunning_ = false;
  }
  /// Of the time since the last call; the same as before where there was none.
  int64_t calculate() {
    if (isRunning_) {
      const Nanos now = clock_.monotonic();
      active_ += now - since_;
      since_ = now;
    }
    const int64_t millis = std::chrono::duration_cast<Millis>(active_).count();
    if (millis > 0) throughput_ = static_cast<int64_t>(static_cast<double>(bytes_) * 1000 / static_cast<double>(millis));
    if (millis > 0) active_ = Nanos(0), bytes_ = 0;
    return throughput_;
  }

 private:
  const Clock& clock_;
  bool isRunning_ = false;
  Nanos since_{0}, active_{0};
  int64_t bytes_ = 0, throughput_ = 0;
};

/// How large the buffers of one gate should be, so that what is in flight in front of it takes the target time to process.
///
/// Flink: BufferDebloater with BufferSizeEMA. Threads: one. Units: bytes.
class BufferDebloater {
 public:
  explicit BufferDebloater(const BufferDebloatSettings& settings)
      : settings_(settings), average_(settings.startingSize), announced_(settings.startingSize) {}

  /// Once per period. The size to announce to the producers; nothing if it has hardly changed. The average moves in any case.
  std::optional<int32_t> recalculate(int64_t bytesPerSecond, int32_t buffersInUse) {
    const int64_t buffers = std::max(1, buffersInUse);
    const auto inFlight = static_cast<int64_t>(static_cast<double>(bytesPerSecond) * static_cast<double>(settings_.target.count()) / 1000);
    const double wanted = std::min(static_cast<double>(inFlight / buffers), 2 * average_);
    average_ += 2.0 / (settings_.samples + 1) * (wanted - average_);
    average_ = std::clamp(average_, static_cast<double>(settings_.minSize), static_cast<double>(settings_.maxSize));
    const auto size = static_cast<int32_t>(std::lround(average_));
    const int32_t current = isWorthwhile(size) ? size : announced_;
    estimatedTimeToConsume_ = Millis(int64_t{current} * buffers * 1000 / std::max<int64_t>(1, bytesPerSecond));
    if (current == announced_) return std::nullopt;
    return announced_ = current;
  }

  /// debloatedBufferSize.
  int32_t bufferSize() const { return announced_; }
  /// estimatedTimeToConsumeBuffersMs.
  Millis estimatedTimeToConsume() const { return estimatedTimeToConsume_; }

 private:
  bool isWorthwhile(int32_t size) const {
    if (size == announced_) return false;
    if (size <= settings_.minSize || size >= settings_.maxSize) return true;
    return std::abs(size - announced_) >= static_cast<int32_t>(int64_t{announced_} * settings_.thresholdPercentages / 100);
  }

  const BufferDebloatSettings settings_;
  double average_;
  int32_t announced_;
  Millis estimatedTimeToConsume_{0};
};

}  // namespace weir
