#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "weir/base/ids.h"
#include "weir/base/units.h"
#include "weir/record/stream_element.h"

namespace weir {

/// Sources of one group keep together: one that is more than `maxDrift` ahead of the slowest waits for it.
/// Flink: WatermarkAlignmentParams.
struct WatermarkAlignmentParams {
  std::string group;
  Millis maxDrift{};
  Millis updateInterval{1000};
};

/// Where a source subtask is: what it tells the master of the job. Nothing is told before the first watermark.
struct WatermarkReport {
  std::string group;
  int64_t watermark = kNoTimestamp;
  bool idle = false;  ///< does not hold back the others; neither does one at MAX
  int64_t maxDriftMillis = 0;
};

/// The source of one task in its group. Lives on the task. Flink: the part of SourceOperator that waits.
class SourceAlignment {
 public:
  using Report = std::function<void(const WatermarkReport&)>;
  explicit SourceAlignment(Report report) : report_(std::move(report)) {}

  void report(const WatermarkReport& where) {
    current_ = where.watermark;
    report_(where);
  }
  void advanceTo(int64_t watermark) { current_ = watermark; }
  /// The master's answer: no source of the group may be further than this.
  void announce(int64_t maxAllowed) { maxAllowed_ = maxAllowed; }
  /// No record may be read. At MAX there is none.
  bool isPaused() const { return current_ > maxAllowed_ && current_ != kMaxWatermark; }

 private:
  Report report_;
  int64_t current_ = kNoTimestamp, maxAllowed_ = kMaxWatermark;
};

/// The groups of one job. Lives on the job's master. Flink: the watermark aggregator of SourceCoordinator and CoordinatorStore.
class WatermarkAligner {
 public:
  /// How far sources of the group may be now. A newer attempt of a subtask takes the place of the older one.
  int64_t report(const ExecutionAttemptID& who, const WatermarkReport& where);

 private:
  struct Member {
    int64_t watermark;
    bool idle;
  };
  std::map<std::string, std::map<std::pair<JobVertexID, int32_t>, Member>> groups_;
};

}  // namespace weir
