#include "weir/jobmanager/checkpoint_stats_tracker.h"

#include <algorithm>

namespace weir {

Millis CheckpointGauges::oldestPendingAge(Nanos now) const {
  const int64_t since = oldestPendingSinceNanos.load(std::memory_order_relaxed);
  return since < 0 ? Millis::zero() : std::chrono::duration_cast<Millis>(now - Nanos(since));
}

std::shared_ptr<const CheckpointStats> CheckpointStatsSnapshot::find(int64_t id) const {
  for (const auto& stats : history)
    if (stats->id == id) return stats;
  for (const auto& stats : {latestCompleted, latestSavepoint, latestFailed})
    if (stats && stats->id == id) return stats;
  return nullptr;
}

CheckpointStatsTracker::CheckpointStatsTracker(const Clock& clock, std::shared_ptr<const CheckpointTopology> topology, int32_t historySize)
    : clock_(clock), topology_(std::move(topology)), historySize_(static_cast<size_t>(std::max(0, historySize))) {}

std::shared_ptr<CheckpointStats> CheckpointStatsTracker::reportPending(int64_t id, int64_t triggerTimestampMs,
                                                                       const CheckpointProperties& properties) {
  auto entry = std::make_shared<Entry>();
  entry->since = clock_.monotonic();
  entry->stats = std::make_shared<CheckpointStats>();
  CheckpointStats& stats = *entry->stats;
  stats.id = id;
  stats.properties = properties;
  stats.triggerTimestampMs = triggerTimestampMs;
  stats.subtasks = topology_->taskCount();
  stats.tasks.resize(topology_->vertices.size());
  for (size_t v = 0; v < stats.tasks.size(); ++v) {
    stats.tasks[v].vertex = topology_->vertices[v].id;
    stats.tasks[v].subtasks.resize(topology_->vertices[v].parallelism);
  }
  stats.version = 1;
  pending_.push_back(entry);
  history_.push_front(entry);
  if (history_.size() > historySize_) history_.pop_back();
  ++counts_.total;
  ++counts_.inProgress;
  publishCounts();
  return entry->stats;
}

void CheckpointStatsTracker::reportCompleted(const std::shared_ptr<CheckpointStats>& stats, const CompletedCheckpoint& checkpoint) {
  const EntryPtr entry = findEntry(stats->id);
  stats->status = CheckpointStatus::kCompleted;
  stats->externalPath = checkpoint.externalPointer();
  stats->completionTimestampMs = checkpoint.completionTimestampMs;
  ++stats->version;
  EntryPtr& latest = isSavepoint(checkpoint.properties.type) ? latestSavepoint_ : latestCompleted_;
  if (!latest || latest->stats->id < stats->id) latest = entry;
  checkpointedSize_.add(stats->checkpointedSize);
  stateSize_.add(stats->stateSize);
  endToEndMs_.add(stats->endToEndMs());
  processedData_.add(stats->processedData);
  persistedData_.add(stats->persistedData);
  gauges_.lastCheckpointDuration = stats->endToEndMs();
  gauges_.lastCheckpointSize = stats->checkpointedSize;
  gauges_.lastCheckpointFullSize = stats->stateSize;
  gauges_.lastCheckpointProcessedData = stats->processedData;
  gauges_.lastCheckpointPersistedData = stats->persistedData;
  gauges_.lastCompletedCheckpointId = stats->id;
  gauges_.lastCheckpointCompletedTimestamp = stats->completionTimestampMs;
  ++counts_.completed;
  endPending(stats->id);
}

void CheckpointStatsTracker::reportFailed(const std::shared_ptr<CheckpointStats>& stats, const CheckpointException& why) {
  const EntryPtr entry = findEntry(stats->id);
  stats->status = CheckpointStatus::kFailed;
  stats->failureTimestampMs = clock_.epochMillis();
  stats->failureMessage = why.message();
  ++stats->version;
  if (!latestFailed_ || latestFailed_->stats->id < stats->id) latestFailed_ = entry;
  ++counts_.failed;
  endPending(stats->id);
}

void CheckpointStatsTracker::reportFailedWithoutInProgress() {
  ++counts_.total;
  ++counts_.failed;
  ++counts_.notTriggered;
  publishCounts();
}

void CheckpointStatsTracker::reportRestored(const CompletedCheckpoint& checkpoint) {
  latestRestored_ = {checkpoint.id, clock_.epochMillis(), isSavepoint(checkpoint.properties.type), checkpoint.externalPointer()};
  gauges_.lastCheckpointRestoreTimestamp = latestRestored_->restoreTimestampMs;
  ++counts_.restored;
}

void CheckpointStatsTracker::reportDiscarded(int64_t id) {
  if (const EntryPtr entry = findEntry(id)) {
    entry->stats->discarded = true;
    ++entry->stats->version;
  }
}

void CheckpointStatsTracker::reportIncomplete(int64_t id, const ExecutionAttemptID& task, const CheckpointMetrics& metrics,
                                              bool lateAcknowledgement) {
  const EntryPtr entry = findEntry(id);
  const auto vertex = topology_->indexOf.find(task.vertex);
  if (!entry || vertex == topology_->indexOf.end() || entry->stats->status == CheckpointStatus::kCompleted) return;
  CheckpointStats& stats = *entry->stats;
  const int64_t now = clock_.epochMillis();
  stats.report(vertex->second, task.subtask, SubtaskCheckpointStats::of(metrics, now, false));
  if (lateAcknowledgement && stats.lateAnswers.size() < static_cast<size_t>(topology_->taskCount())) {
    stats.lateAnswers.push_back({task, now});
    ++stats.version;
  }
}

CheckpointStatsTracker::EntryPtr CheckpointStatsTracker::findEntry(int64_t id) const {
  const auto isIt = [id](const EntryPtr& entry) { return entry && entry->stats->id == id; };
  if (const auto found = std::find_if(pending_.begin(), pending_.end(), isIt); found != pending_.end()) return *found;
  if (const auto found = std::find_if(history_.begin(), history_.end(), isIt); found != history_.end()) return *found;
  for (const EntryPtr* latest : {&latestCompleted_, &latestSavepoint_, &latestFailed_})
    if (isIt(*latest)) return *latest;
  return nullptr;
}

void CheckpointStatsTracker::endPending(int64_t id) {
  std::erase_if(pending_, [id](const EntryPtr& entry) { return entry->stats->id == id; });
  --counts_.inProgress;
  publishCounts();
}

void CheckpointStatsTracker::publishCounts() {
  gauges_.numberOfInProgressCheckpoints = counts_.inProgress;
  gauges_.numberOfCompletedCheckpoints = counts_.completed;
  gauges_.numberOfFailedCheckpoints = counts_.failed;
  gauges_.totalNumberOfCheckpoints = counts_.total;
  gauges_.oldestPendingSinceNanos = pending_.empty() ? -1 : pending_.front()->since.count();
}

std::shared_ptr<const CheckpointStats> CheckpointStatsTracker::publish(const EntryPtr& entry) {
  if (!entry) return nullptr;
  if (!entry->published || entry->published->version != entry->stats->version)
    entry->published = std::make_shared<CheckpointStats>(*entry->stats);
  return entry->published;
}

CheckpointStatsSnapshot CheckpointStatsTracker::snapshot() {
  if (summarized_ != counts_.completed) {
    summarized_ = counts_.completed;
    summaries_.checkpointedSize = checkpointedSize_.snapshot();
    summaries_.stateSize = stateSize_.snapshot();
    summaries_.endToEndMs = endToEndMs_.snapshot();
    summaries_.processedData = processedData_.snapshot();
    summaries_.persistedData = persistedData_.snapshot();
  }
  CheckpointStatsSnapshot all = summaries_;
  all.counts = counts_;
  all.latestCompleted = publish(latestCompleted_);
  all.latestSavepoint = publish(latestSavepoint_);
  all.latestFailed = publish(latestFailed_);
  all.latestRestored = latestRestored_;
  all.history.reserve(history_.size());
  for (const EntryPtr& entry : history_) all.history.push_back(publish(entry));
  return all;
}

}  // namespace weir
