#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/record/stream_element.h"

namespace weir {

/// What comes out where watermarks are merged. Going idle comes behind the watermark, becoming active in front of it.
struct MergedWatermark {
  std::optional<int64_t> watermark{};
  std::optional<WatermarkStatus> status{};
  bool operator==(const MergedWatermark&) const = default;
};

/// Merges the watermarks of the channels of one input: the smallest of all active channels, never backwards, none before every active
/// channel has one. A channel that comes back from idleness behind what is out already does not count until it has caught up. When the last
/// active channel goes idle, and held the output back, the largest watermark of all comes out, so that none is lost. A channel at MAX has
/// finished: it neither holds the others back nor speaks for those that are merely idle, so that MAX comes out only when all have it.
///
/// Flink: StatusWatermarkValve, where an end beside idle channels is the end of event time. Here O(log channels) per watermark. Lives on
/// its task.
class StatusWatermarkValve {
 public:
  explicit StatusWatermarkValve(int channels);

  MergedWatermark inputWatermark(int channel, int64_t watermark);
  MergedWatermark inputStatus(int channel, WatermarkStatus status);
  /// Another sender writes to the channel from here on, as after a recovery: it is active, has no watermark yet, and is waited for. What is
  /// out already stays out.
  MergedWatermark restart(int channel);
  bool isIdle() const { return active_ == 0 && unfinished_ > 0; }

 private:
  struct Channel {
    int64_t watermark = kNoTimestamp;
    bool idle = false;
    bool aligned = true;
    bool isFinished() const { return watermark == kMaxWatermark; }
  };
  MergedWatermark finished(size_t channel);
  int64_t largestUnfinished() const;
  void setAligned(size_t channel, bool aligned);
  void place(size_t channel);
  std::optional<int64_t> newMinimum();
  std::optional<int64_t> advanceTo(int64_t watermark);

  std::vector<Channel> channels_;
  std::vector<int64_t> minima_;  ///< a tree: node i has the smaller of 2i and 2i+1; the leaves are the channels, MAX where not aligned
  size_t firstLeaf_ = 1;
  int unfinished_;       ///< channels that are not at MAX
  int active_, aligned_;  ///< of these
  int64_t lastOutput_ = kNoTimestamp;
};

/// Merges the watermarks of the inputs of an operator, which are merged over their channels already: the smallest of the active inputs;
/// with all of them idle the largest. An input at MAX has finished: it neither holds the others back nor speaks for those that are merely
/// idle, so that MAX comes out only when all inputs have it.
///
/// Flink: IndexedCombinedWatermarkStatus. Lives on its task.
class CombinedWatermarkStatus {
 public:
  explicit CombinedWatermarkStatus(int inputs) : inputs_(static_cast<size_t>(inputs)) {}

  MergedWatermark updateWatermark(int input, int64_t watermark);
  MergedWatermark updateStatus(int input, WatermarkStatus status);

 private:
  struct Input {
    int64_t watermark = kNoTimestamp;
    bool idle = false;
  };
  std::optional<int64_t> combine();

  std::vector<Input> inputs_;
  int64_t combined_ = kNoTimestamp;
  bool idle_ = false;
};

}  // namespace weir
