#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/jobmanager/completed_checkpoint.h"
#include "weir/snapshot/checkpoint_metrics.h"

namespace weir {

/// Least, largest and mean of a series. Flink: StatsSummary without its histogram.
class StatsSummary {
 public:
  void add(int64_t value);
  int64_t min() const { return min_; }  ///< 0 without values, as max and average
  int64_t max() const { return max_; }
  int64_t sum() const { return sum_; }
  int64_t count() const { return count_; }
  int64_t average() const { return count_ == 0 ? 0 : sum_ / count_; }

 private:
  int64_t min_ = 0, max_ = 0, sum_ = 0, count_ = 0;
};

/// What one subtask reported of one checkpoint. Flink: SubtaskStateStats. Durations in ms, sizes in bytes.
struct SubtaskCheckpointStats {
  bool reported = false;   ///< false: pending, or it never answered
  bool completed = false;  ///< acknowledged in time; false with `reported`: aborted, numbers of a task that answered too late
  bool unaligned = false;
  int64_t ackTimestampMs = -1;
  int64_t checkpointedSize = 0;
  int64_t stateSize = 0;
  int64_t syncMs = 0, asyncMs = 0;
  int64_t processedData = 0, persistedData = 0;
  int64_t alignmentMs = 0, startDelayMs = 0;

  /// Of a subtask that had finished before the checkpoint.
  static SubtaskCheckpointStats finished(int64_t nowMs);
  static SubtaskCheckpointStats of(const CheckpointMetrics& metrics, int64_t ackTimestampMs, bool completed);
  int64_t endToEndMs(int64_t triggerTimestampMs) const { return std::max<int64_t>(0, ackTimestampMs - triggerTimestampMs); }
};

/// One vertex in one checkpoint. Flink: TaskStateStats.
struct TaskCheckpointStats {
  JobVertexID vertex;
  int32_t acknowledged = 0;
  int64_t latestAckTimestampMs = -1;
  std::vector<SubtaskCheckpointStats> subtasks;
  /// Over what was reported; ackTimestamp over what was acknowledged in time.
  StatsSummary checkpointedSize, stateSize, ackTimestamp, syncMs, asyncMs, processedData, persistedData, alignmentMs, startDelayMs;

  /// False, without effect, if the subtask has reported before or there is none.
  bool report(int32_t subtask, const SubtaskCheckpointStats& stats);
  /// Trigger to its latest acknowledgement; -1 without one.
  int64_t endToEndMs(int64_t triggerTimestampMs) const;
};

enum class CheckpointStatus { kInProgress, kCompleted, kFailed };

/// One checkpoint of the history. Flink: AbstractCheckpointStats with its three heirs.
struct CheckpointStats {
  int64_t id = 0;
  CheckpointStatus status = CheckpointStatus::kInProgress;
  CheckpointProperties properties;
  int64_t triggerTimestampMs = 0;
  int32_t subtasks = 0, acknowledged = 0;
  int64_t checkpointedSize = 0, stateSize = 0, processedData = 0, persistedData = 0;
  int64_t latestAckTimestampMs = -1;
  bool unaligned = false;                  ///< some subtask stored in-flight data
  std::vector<TaskCheckpointStats> tasks;  ///< all vertices, in topological order

  // completed
  std::string externalPath;
  int64_t completionTimestampMs = -1;
  bool discarded = false;
  // failed
  int64_t failureTimestampMs = -1;
  std::string failureMessage;
  /// Who answered after the checkpoint was gone, in this order: the first one is the suspect.
  struct LateAnswer {
    ExecutionAttemptID task;
    int64_t timestampMs = 0;
  };
  std::vector<LateAnswer> lateAnswers;

  uint64_t version = 0;  ///< grows with every change

  /// Completed: trigger to latest acknowledgement. Failed: trigger to failure. In progress: trigger to latest acknowledgement, -1 without.
  int64_t endToEndMs() const;
  /// O(1). False as TaskCheckpointStats::report.
  bool report(int32_t vertex, int32_t subtask, const SubtaskCheckpointStats& stats);
};

/// The numbers of REST's `S`: percentiles are NaN without values.
struct StatsSummarySnapshot {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  int64_t min = 0, max = 0, average = 0;
  double p50 = kNone, p90 = kNone, p95 = kNone, p99 = kNone, p999 = kNone;
};

/// Of a series with its newest `kWindow` values. Flink: StatsSummary with its histogram (DescriptiveStatisticsHistogram).
class StatsHistogram {
 public:
  static constexpr size_t kWindow = 10'000;
  void add(int64_t value);
  const StatsSummary& summary() const { return summary_; }
  StatsSummarySnapshot snapshot() const;

 private:
  StatsSummary summary_;
  std::vector<int64_t> window_;
  size_t next_ = 0;
};

}  // namespace weir
