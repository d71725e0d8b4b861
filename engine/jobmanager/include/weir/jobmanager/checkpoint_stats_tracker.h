#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/clock.h"
#include "weir/jobmanager/checkpoint_environment.h"
#include "weir/jobmanager/checkpoint_stats.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

/// Flink: CheckpointStatsCounts.
struct CheckpointCounts {
  int64_t restored = 0, total = 0, completed = 0, failed = 0;
  int64_t notTriggered = 0;  ///< of the failed ones: requests that came to nothing, mostly because not all tasks ran yet
  int32_t inProgress = 0;
};

/// Flink: RestoredCheckpointStats.
struct RestoredCheckpointStats {
  int64_t id = 0;
  int64_t restoreTimestampMs = 0;
  bool savepoint = false;
  std::string externalPath;
};

/// Everything that REST shows of a job's checkpoints, as one immutable value.
struct CheckpointStatsSnapshot {
  CheckpointCounts counts;
  /// Over completed checkpoints only.
  StatsSummarySnapshot checkpointedSize, stateSize, endToEndMs, processedData, persistedData;
  std::shared_ptr<const CheckpointStats> latestCompleted, latestSavepoint, latestFailed;  ///< null: none
  std::optional<RestoredCheckpointStats> latestRestored;
  std::vector<std::shared_ptr<const CheckpointStats>> history;  ///< newest first

  /// From the history or one of the latest; null if it is in neither.
  std::shared_ptr<const CheckpointStats> find(int64_t id) const;
};

/// The job-level gauges, readable from any thread. -1: nothing to show yet. Flink: the gauges of DefaultCheckpointStatsTracker.
struct CheckpointGauges {
  std::atomic<int64_t> numberOfInProgressCheckpoints{0}, numberOfCompletedCheckpoints{0}, numberOfFailedCheckpoints{0},
      totalNumberOfCheckpoints{0};
  std::atomic<int64_t> lastCheckpointDuration{-1}, lastCheckpointSize{-1}, lastCheckpointFullSize{-1}, lastCheckpointProcessedData{-1},
      lastCheckpointPersistedData{-1}, lastCompletedCheckpointId{-1}, lastCheckpointCompletedTimestamp{-1},
      lastCheckpointRestoreTimestamp{-1};
  std::atomic<int64_t> oldestPendingSinceNanos{-1};  ///< monotonic

  /// Age of the oldest pending checkpoint; 0 if none is pending. Weir's own: every gauge of Flink stands still while a barrier is stuck.
  Millis oldestPendingAge(Nanos now) const;
};

/// Keeps the statistics of a job's checkpoints.
///
/// Flink: DefaultCheckpointStatsTracker, CheckpointStatsHistory. Differs: knows who answered late, and how long the oldest pending
/// checkpoint has been waiting.
///
/// Threads: the JobMaster's actor; gauges() may be read by any. An acknowledgement costs O(1): nothing is summed up again.
class CheckpointStatsTracker {
 public:
  CheckpointStatsTracker(const Clock& clock, std::shared_ptr<const CheckpointTopology> topology, int32_t historySize);

  /// A new checkpoint. Its entry is then fed by PendingCheckpoint through CheckpointStats::report.
  std::shared_ptr<CheckpointStats> reportPending(int64_t id, int64_t triggerTimestampMs, const CheckpointProperties& properties);
  void reportCompleted(const std::shared_ptr<CheckpointStats>& stats, const CompletedCheckpoint& checkpoint);
  void reportFailed(const std::shared_ptr<CheckpointStats>& stats, const CheckpointException& why);
  /// A request that failed before it became a checkpoint counts as well.
  void reportFailedWithoutInProgress();
  void reportRestored(const CompletedCheckpoint& checkpoint);
  /// The files of a completed checkpoint are gone.
  void reportDiscarded(int64_t id);
  /// Numbers of a task whose checkpoint failed here; complete that entry while the history has it.
  void reportIncomplete(int64_t id, const ExecutionAttemptID& task, const CheckpointMetrics& metrics, bool lateAcknowledgement);

  const CheckpointCounts& counts() const { return counts_; }
  const CheckpointGauges& gauges() const { return gauges_; }
  /// Copies what has changed since the last call.
  CheckpointStatsSnapshot snapshot();

 private:
  struct Entry {
    std::shared_ptr<CheckpointStats> stats;
    std::shared_ptr<const CheckpointStats> published;
    Nanos since{};
  };
  using EntryPtr = std::shared_ptr<Entry>;

  EntryPtr findEntry(int64_t id) const;
  void endPending(int64_t id);
  void publishCounts();
  static std::shared_ptr<const CheckpointStats> publish(const EntryPtr& entry);

  const Clock& clock_;
  const std::shared_ptr<const CheckpointTopology> topology_;
  const size_t historySize_;
  CheckpointCounts counts_;
  CheckpointGauges gauges_;
  std::deque<EntryPtr> history_;  ///< newest first
  std::deque<EntryPtr> pending_;  ///< oldest first; they may have left the history
  EntryPtr latestCompleted_, latestSavepoint_, latestFailed_;
  std::optional<RestoredCheckpointStats> latestRestored_;
  StatsHistogram checkpointedSize_, stateSize_, endToEndMs_, processedData_, persistedData_;
  CheckpointStatsSnapshot summaries_;  ///< only its summaries: they are sorted anew only after a completion
  int64_t summarized_ = -1;
};

}  // namespace weir
