#include "weir/jobmanager/checkpoint_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weir {
namespace {

constexpr int64_t kNanosPerMilli = 1'000'000;

/// Between the two nearest of n sorted values at position p (n + 1), as commons-math estimates percentiles.
double percentile(const std::vector<int64_t>& sorted, double p) {
  if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(sorted.size());
  const double position = p * (n + 1);
  const double below = std::floor(position);
  if (position < 1) return static_cast<double>(sorted.front());
  if (position >= n) return static_cast<double>(sorted.back());
  const auto lower = static_cast<double>(sorted[static_cast<size_t>(below) - 1]);
  const auto upper = static_cast<double>(sorted[static_cast<size_t>(below)]);
  return lower + (position - below) * (upper - lower);
}

}  // namespace

void StatsSummary::add(int64_t value) {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  sum_ += value;
  ++count_;
}

SubtaskCheckpointStats SubtaskCheckpointStats::finished(int64_t nowMs) {
  SubtaskCheckpointStats stats;
  stats.reported = stats.completed = true;
  stats.ackTimestampMs = nowMs;
  return stats;
}

SubtaskCheckpointStats SubtaskCheckpointStats::of(const CheckpointMetrics& metrics, int64_t ackTimestampMs, bool completed) {
  SubtaskCheckpointStats stats;
  stats.reported = true;
  stats.completed = completed;
  stats.unaligned = metrics.unalignedCheckpoint;
  stats.ackTimestampMs = ackTimestampMs;
  stats.checkpointedSize = metrics.bytesPersistedOfThisCheckpoint;
  stats.stateSize = metrics.totalBytesPersisted;
  stats.syncMs = metrics.syncDurationMillis;
  stats.asyncMs = metrics.asyncDurationMillis;
  stats.processedData = metrics.bytesProcessedDuringAlignment;
  stats.persistedData = metrics.bytesPersistedDuringAlignment;
  stats.alignmentMs = metrics.alignmentDurationNanos / kNanosPerMilli;
  stats.startDelayMs = metrics.checkpointStartDelayNanos / kNanosPerMilli;
  return stats;
}

bool TaskCheckpointStats::report(int32_t subtask, const SubtaskCheckpointStats& stats) {
  if (subtask < 0 || subtask >= static_cast<int32_t>(subtasks.size()) || subtasks[subtask].reported) return false;
  subtasks[subtask] = stats;
  if (stats.completed) {
    ++acknowledged;
    latestAckTimestampMs = stats.ackTimestampMs;
    ackTimestamp.add(stats.ackTimestampMs);
  }
  checkpointedSize.add(stats.checkpointedSize);
  stateSize.add(stats.stateSize);
  syncMs.add(stats.syncMs);
  asyncMs.add(stats.asyncMs);
  processedData.add(stats.processedData);
  persistedData.add(stats.persistedData);
  alignmentMs.add(stats.alignmentMs);
  startDelayMs.add(stats.startDelayMs);
  return true;
}

int64_t TaskCheckpointStats::endToEndMs(int64_t triggerTimestampMs) const {
  return latestAckTimestampMs < 0 ? -1 : std::max<int64_t>(0, latestAckTimestampMs - triggerTimestampMs);
}

int64_t CheckpointStats::endToEndMs() const {
  if (status == CheckpointStatus::kFailed) return std::max<int64_t>(0, failureTimestampMs - triggerTimestampMs);
  return latestAckTimestampMs < 0 ? -1 : std::max<int64_t>(0, latestAckTimestampMs - triggerTimestampMs);
}

bool CheckpointStats::report(int32_t vertex, int32_t subtask, const SubtaskCheckpointStats& stats) {
  if (!tasks[vertex].report(subtask, stats)) return false;
  ++version;
  if (stats.completed) {
    ++acknowledged;
    latestAckTimestampMs = stats.ackTimestampMs;
  }
  checkpointedSize += stats.checkpointedSize;
  stateSize += stats.stateSize;
  processedData += stats.processedData;
  persistedData += stats.persistedData;
  unaligned = unaligned || stats.unaligned;
  return true;
}

void StatsHistogram::add(int64_t value) {
  summary_.add(value);
  if (window_.size() < kWindow) {
    window_.push_back(value);
  } else {
    window_[next_] = value;
    next_ = (next_ + 1) % kWindow;
  }
}

StatsSummarySnapshot StatsHistogram::snapshot() const {
  std::vector<int64_t> sorted = window_;
  std::sort(sorted.begin(), sorted.end());
  return {summary_.min(),          summary_.max(),           summary_.average(),       percentile(sorted, 0.5),
          percentile(sorted, 0.9), percentile(sorted, 0.95), percentile(sorted, 0.99), percentile(sorted, 0.999)};
}

}  // namespace weir
