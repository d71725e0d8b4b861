#include <cmath>

#include "checkpoint_fixture.h"
#include "support/golden.h"

// The numbers that REST, gauges and people see.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;

CheckpointMetrics metricsOf(int64_t checkpointed, int64_t full, int64_t processed, int64_t persisted, int64_t sync, int64_t async,
                            int64_t alignmentMs, int64_t startDelayMs) {
  CheckpointMetrics m;
  m.bytesPersistedOfThisCheckpoint = checkpointed;
  m.totalBytesPersisted = full;
  m.bytesProcessedDuringAlignment = processed;
  m.bytesPersistedDuringAlignment = persisted;
  m.syncDurationMillis = sync;
  m.asyncDurationMillis = async;
  m.alignmentDurationNanos = alignmentMs * 1'000'000;
  m.checkpointStartDelayNanos = startDelayMs * 1'000'000;
  m.unalignedCheckpoint = persisted > 0;
  return m;
}

TEST(CheckpointStatsTest, SubtasksVerticesAndTheWholeOfACompletedCheckpoint) {
  Triggered job(every(1h), {{"a", 1, {}}, {"b", 2, {{0, DistributionPattern::kAllToAll}}}});
  const auto ack = [&](int32_t task, Millis after, const CheckpointMetrics& metrics) {
    job.clock.now = after;
    job.metrics = metrics;
    job.ack(1, task);
  };
  ack(0, 5ms, metricsOf(530, 900, 0, 0, 1, 2, 0, 3));
  EXPECT_EQ(job.stats().history[0]->endToEndMs(), 5) << "in progress: to the latest acknowledgement";
  ack(2, 58ms, metricsOf(34'751, 50'000, 568, 0, 1, 32, 7, 12));
  ack(1, 61ms, metricsOf(29'947, 40'000, 0, 77, 0, 25, 1, 12));
  job.io.drain();
  const auto stats = job.stats().latestCompleted;
  ASSERT_NE(stats, nullptr);
  EXPECT_EQ(stats->status, CheckpointStatus::kCompleted);
  EXPECT_EQ(stats->subtasks, 3);
  EXPECT_EQ(stats->acknowledged, 3);
  EXPECT_EQ(stats->checkpointedSize, 65'228);
  EXPECT_EQ(stats->stateSize, 90'900);
  EXPECT_EQ(stats->processedData, 568);
  EXPECT_EQ(stats->persistedData, 77);
  EXPECT_TRUE(stats->unaligned);
  EXPECT_EQ(stats->latestAckTimestampMs, ManualClock::kStartMs + 61);
  EXPECT_EQ(stats->endToEndMs(), 61);
  EXPECT_EQ(stats->externalPath, "file:/checkpoints/job/chk-1");
  const TaskCheckpointStats& b = stats->tasks[1];
  EXPECT_EQ(b.vertex, JobVertexID::of(0xabc, 1));
  EXPECT_EQ(b.acknowledged, 2);
  EXPECT_EQ(b.endToEndMs(stats->triggerTimestampMs), 61);
  EXPECT_EQ(b.checkpointedSize.min(), 29'947);
  EXPECT_EQ(b.checkpointedSize.max(), 34'751);
  EXPECT_EQ(b.checkpointedSize.average(), 32'349);
  EXPECT_EQ(b.syncMs.average(), 0);
  EXPECT_EQ(b.asyncMs.average(), 28);
  EXPECT_EQ(b.alignmentMs.max(), 7);
  EXPECT_EQ(b.startDelayMs.min(), 12);
  EXPECT_EQ(b.subtasks[1].ackTimestampMs, ManualClock::kStartMs + 58);
  EXPECT_EQ(b.subtasks[0].asyncMs, 25);
}

TEST(CheckpointStatsTest, AFailedCheckpointEndsAtItsFailureAndShowsOnlyWhoAnswered) {
  auto config = every(1h);
  config.timeout = 3s;
  Triggered job(config);
  job.advance(16ms);
  job.ack(1, 0);
  job.advance(3s);
  const auto failed = job.stats().latestFailed;
  EXPECT_EQ(failed->endToEndMs(), 3000) << "although the last acknowledgement came after 16 ms";
  EXPECT_EQ(failed->latestAckTimestampMs, ManualClock::kStartMs + 16);
  EXPECT_EQ(failed->tasks[0].endToEndMs(failed->triggerTimestampMs), 16);
  EXPECT_EQ(failed->tasks[1].endToEndMs(failed->triggerTimestampMs), -1);
  EXPECT_TRUE(failed->tasks[0].subtasks[0].reported);
  EXPECT_FALSE(failed->tasks[0].subtasks[1].reported);
}

TEST(CheckpointStatsTest, NumbersOfALateTaskFillItsRowAsAborted) {
  // As of a real Flink: checkpoint 17 of case B2, subtask 0 reported 2 s after the expiry.
  auto config = every(1h);
  config.timeout = 3s;
  Triggered job(config, {{"slow snapshot", 2, {}}});
  job.advance(20ms);
  job.metrics = metricsOf(0, 0, 0, 0, 0, 4, 0, 13);
  job.ack(1, 1);
  job.advance(5s);
  job.coordinator->reportCheckpointMetrics({job.attemptOf(0, 0), 1, metricsOf(0, 0, 13, 0, 5000, 5, 0, 12)});
  const auto failed = job.stats().latestFailed;
  const TaskCheckpointStats& task = failed->tasks[0];
  EXPECT_TRUE(task.subtasks[0].reported);
  EXPECT_FALSE(task.subtasks[0].completed);
  EXPECT_EQ(task.subtasks[0].endToEndMs(failed->triggerTimestampMs), 5020);
  EXPECT_EQ(task.acknowledged, 1);
  EXPECT_EQ(task.endToEndMs(failed->triggerTimestampMs), 20);
  EXPECT_EQ(task.ackTimestamp.count(), 1);
  EXPECT_EQ(task.syncMs.max(), 5000);
  EXPECT_EQ(task.syncMs.average(), 2500);
  EXPECT_EQ(failed->acknowledged, 1);
  EXPECT_EQ(failed->processedData, 13);
  EXPECT_TRUE(failed->lateAnswers.empty()) << "an aborted snapshot is no late acknowledgement";
}

TEST(CheckpointStatsTest, FailedRequestsCountInTotalAndFailed) {
  Job job(every(1h));
  job.executions.tasks[0].state = ExecutionState::kInitializing;
  job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr);
  const auto counts = job.stats().counts;
  EXPECT_EQ(counts.total, 1);
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(counts.inProgress, 0);
  EXPECT_TRUE(job.stats().history.empty());
}

TEST(CheckpointStatsTest, HistoryKeepsTheNewestTenAndTheLatestOfEachKind) {
  Triggered job;
  job.decline(1, 0);
  job.coordinator->triggerSavepoint("/savepoints", SavepointFormat::kCanonical, nullptr);
  job.complete(2);
  for (int64_t id = 3; id <= 20; ++id) {
    job.trigger();
    job.complete(id);
  }
  const auto stats = job.stats();
  ASSERT_EQ(stats.history.size(), 10u);
  EXPECT_EQ(stats.history.front()->id, 20);
  EXPECT_EQ(stats.history.back()->id, 11);
  EXPECT_EQ(stats.latestCompleted->id, 20);
  EXPECT_EQ(stats.latestSavepoint->id, 2);
  EXPECT_EQ(stats.latestFailed->id, 1);
  EXPECT_EQ(stats.find(2)->externalPath, "file:/savepoints/savepoint-2");
  EXPECT_EQ(stats.find(5), nullptr);
  EXPECT_FALSE(stats.history[0]->discarded);
  EXPECT_TRUE(stats.history[1]->discarded) << "num-retained 1";
  EXPECT_EQ(stats.counts.completed, 19);
}

TEST(CheckpointStatsTest, ASnapshotDoesNotChangeLater) {
  Triggered job;
  const auto before = job.stats();
  job.ack(1, 0);
  EXPECT_EQ(before.history[0]->acknowledged, 0);
  const auto after = job.stats();
  EXPECT_EQ(after.history[0]->acknowledged, 1);
  EXPECT_EQ(job.stats().history[0], after.history[0]) << "what has not changed is shared";
}

TEST(CheckpointStatsTest, GaugesFollowTheNewestCompletedCheckpoint) {
  Triggered job;
  const auto& gauges = job.coordinator->stats().gauges();
  EXPECT_EQ(gauges.lastCompletedCheckpointId, -1);
  EXPECT_EQ(gauges.lastCheckpointRestoreTimestamp, -1);
  EXPECT_EQ(gauges.numberOfInProgressCheckpoints, 1);
  job.metrics = metricsOf(10, 20, 3, 4, 0, 0, 0, 0);
  job.advance(7ms);
  job.complete(1);
  EXPECT_EQ(gauges.lastCompletedCheckpointId, 1);
  EXPECT_EQ(gauges.lastCheckpointDuration, 7);
  EXPECT_EQ(gauges.lastCheckpointSize, 60);
  EXPECT_EQ(gauges.lastCheckpointFullSize, 120);
  EXPECT_EQ(gauges.lastCheckpointProcessedData, 18);
  EXPECT_EQ(gauges.lastCheckpointPersistedData, 24);
  EXPECT_EQ(gauges.lastCheckpointCompletedTimestamp, ManualClock::kStartMs + 7);
  EXPECT_EQ(gauges.numberOfCompletedCheckpoints, 1);
  EXPECT_EQ(gauges.numberOfInProgressCheckpoints, 0);
  EXPECT_EQ(gauges.totalNumberOfCheckpoints, 1);
}

/// `"key": <number>` after position `from`; the position moves behind it.
double numberAfter(const std::string& text, const std::string& key, size_t& from) {
  from = text.find("\"" + key + "\":", from);
  if (from == std::string::npos) {
    ADD_FAILURE() << "no " << key;
    return 0;
  }
  from += key.size() + 3;
  return std::stod(text.substr(from, 40));
}

TEST(CheckpointStatsTest, PercentilesAreThoseOfARealFlink) {
  // A run whose whole history fits into the answer: 8 completed checkpoints.
  const std::string text = golden::readText("rest/H-restored/job-checkpoints.json");
  const size_t history = text.find("\"history\"");
  for (const char* key : {"end_to_end_duration", "checkpointed_size", "processed_data"}) {
    StatsHistogram histogram;
    size_t at = history;
    for (int i = 0; i < 8; ++i) histogram.add(static_cast<int64_t>(numberAfter(text, key, at)));
    size_t from = text.find(std::string("\"") + key + "\"", text.find("\"summary\""));
    const StatsSummarySnapshot s = histogram.snapshot();
    EXPECT_EQ(static_cast<double>(s.min), numberAfter(text, "min", from)) << key;
    EXPECT_EQ(static_cast<double>(s.max), numberAfter(text, "max", from)) << key;
    EXPECT_EQ(static_cast<double>(s.average), numberAfter(text, "avg", from)) << key;
    EXPECT_DOUBLE_EQ(s.p50, numberAfter(text, "p50", from)) << key;
    EXPECT_DOUBLE_EQ(s.p90, numberAfter(text, "p90", from)) << key;
    EXPECT_DOUBLE_EQ(s.p95, numberAfter(text, "p95", from)) << key;
    EXPECT_DOUBLE_EQ(s.p99, numberAfter(text, "p99", from)) << key;
    EXPECT_DOUBLE_EQ(s.p999, numberAfter(text, "p999", from)) << key;
  }
}

TEST(CheckpointStatsTest, PercentilesInterpolateAndAreNanWithoutValues) {
  StatsHistogram histogram;
  EXPECT_TRUE(std::isnan(histogram.snapshot().p50));
  EXPECT_EQ(histogram.snapshot().max, 0);
  for (int64_t i = 1; i <= 19; ++i) histogram.add(i * 10);
  EXPECT_DOUBLE_EQ(histogram.snapshot().p50, 100);
  EXPECT_DOUBLE_EQ(histogram.snapshot().p90, 180);
  EXPECT_DOUBLE_EQ(histogram.snapshot().p99, 190);
  histogram.add(200);
  EXPECT_DOUBLE_EQ(histogram.snapshot().p50, 105);
  EXPECT_NEAR(histogram.snapshot().p90, 189, 1e-9);
}

TEST(CheckpointStatsTest, PercentilesForgetWhatIsOlderThanTheWindow) {
  StatsHistogram histogram;
  histogram.add(1'000'000);
  for (size_t i = 0; i < StatsHistogram::kWindow; ++i) histogram.add(5);
  EXPECT_DOUBLE_EQ(histogram.snapshot().p999, 5);
  EXPECT_EQ(histogram.snapshot().max, 1'000'000);
}

}  // namespace
}  // namespace weir::checkpointtest
