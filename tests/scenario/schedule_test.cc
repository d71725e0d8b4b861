#include <gtest/gtest.h>

#include "scenario/scenario.h"

namespace weir {
namespace {

/// Pairs of (end, next start) in ms, from the log.
std::vector<std::pair<int64_t, int64_t>> gaps(Scenario& s) {
  std::vector<std::pair<int64_t, int64_t>> found;
  int64_t ended = -1;
  for (const auto& line : s.log().lines()) {
    if (line.message.starts_with("Completed checkpoint")) ended = line.epochMillis;
    if (!line.message.starts_with("Triggering checkpoint") || ended < 0) continue;
    found.push_back({ended, line.epochMillis});
    ended = -1;
  }
  return found;
}

// min-pause-ignored
TEST(FailureMode, MinPauseIgnored) {
  Scenario s;
  s.env.setBufferTimeout(-1);
  s.env.configure("execution.checkpointing.interval", "100 ms").configure("execution.checkpointing.min-pause", "500 ms");
  auto hooks = std::make_shared<ProbeHooks>();
  hooks->onSnapshot = [](ProbeContext& at, int64_t) { at.execution->spend(300 * kMillisecond, CostMode::kSleep); };
  auto switches = std::make_shared<SourceSwitches>();
  s.env.fromSource(SwitchedReader(switches), "source", 1).addSink(Probe(hooks));
  s.run([&] {
    // A request of somebody's own now and then: it is no reason to begin a periodic one earlier.
    for (int i = 0; i < 100; ++i) {
      s.sleep(80 * kSecond);
      s.triggerCheckpoint();
    }
  });
  const auto all = gaps(s);
  EXPECT_GE(all.size(), 9000u);
  size_t early = 0;
  for (const auto& [ended, next] : all) early += next - ended < 500;
  EXPECT_LE(early, 100u) << "only those that were asked for";
}

// checkpoint-queue-up. Each checkpoint keeps the task busy for 100 ms and the disk for 900 ms more.
struct QueueUp {
  int64_t pending = 0, completed = 0, rows = 0;
};
QueueUp queueUp(const char* maxConcurrent) {
  Scenario s;
  s.env.configure("execution.checkpointing.interval", "100 ms")
      .configure("execution.checkpointing.max-concurrent-checkpoints", maxConcurrent);
  FileFault slowDisk;
  slowDisk.effect = FileFault::Effect::kDelay;
  slowDisk.path = "*/chk-*/????????" "-*";
  slowDisk.operations = {FileOperation::kCreate};
  slowDisk.latency = 900 * kMillisecond;
  s.runner.faults().add(slowDisk);
  auto hooks = std::make_shared<ProbeHooks>();
  QueueUp seen;
  hooks->onSnapshot = [](ProbeContext& at, int64_t) { at.execution->spend(100 * kMillisecond, CostMode::kSleep); };
  hooks->onRow = [&](ProbeContext&, const Row&) { ++seen.rows; };
  s.env.disableOperatorChaining();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 1000)
      .map(StatefulProbe(hooks))
      .name("work")
      .cost(800 * std::chrono::microseconds(1))
      .addSink([](const Row&) {});
  s.run([&] {
    s.sleep(30 * kSecond);
    const auto counts = s.snapshot().checkpoints->counts;
    seen.pending = counts.inProgress;
    seen.completed = counts.completed;
  });
  return seen;
}

TEST(FailureMode, CheckpointQueueUp) {
  const QueueUp one = queueUp("1");
  EXPECT_LE(one.pending, 1);
  EXPECT_GE(one.completed, 27) << "the rate adjusts itself to one a second";
  EXPECT_LE(one.completed, 31);
  const QueueUp unlimited = queueUp("1000");
  EXPECT_GE(unlimited.pending, 10);
  EXPECT_LT(unlimited.rows, one.rows / 2) << "the task does little else";
}

// not-ready-decline-counts
TEST(FailureMode, NotReadyDeclineCounts) {
  Scenario s;
  s.env.configure("execution.checkpointing.interval", "10 ms").configure("execution.checkpointing.tolerable-failed-checkpoints", "0");
  auto hooks = std::make_shared<ProbeHooks>();
  hooks->onOpen = [](ProbeContext& at) { at.execution->spend(2 * kSecond, CostMode::kSleep); };
  s.env.disableOperatorChaining();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 100).addSink(Probe(hooks));
  s.run([&] {
    ASSERT_TRUE(s.waitForLog("Completed checkpoint", 3)) << s.log().text();
    EXPECT_EQ(s.snapshot().status, JobStatus::kRunning);
    EXPECT_GE(s.snapshot().checkpoints->counts.failed, 100) << "each is counted in the statistics, and in nothing else";
    EXPECT_EQ(s.ask<int64_t>([](CheckpointCoordinator& c) { return c.consecutiveFailures(); }), 0);
  });
  EXPECT_GE(s.linesWith("Not all required tasks are currently running.").size(), 100u);
}

// late-ack-vs-restart-race: the last write of a checkpoint takes long, and the job restarts meanwhile.
TEST(FailureMode, LateAckVsRestartRace) {
  Scenario s;
  s.env.configure("restart-strategy.type", "fixed-delay").configure("restart-strategy.fixed-delay.delay", "1 ms");
  s.env.configure("restart-strategy.fixed-delay.attempts", "2");
  auto collected = std::make_shared<TransactionalCollectResult<Row>>();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 3000), "source", 100)
      .rebalance()
      .sinkTo("collect", Batching::kBatches, TransactionalCollectSink<Row>(collected))
      .setParallelism(2);
  FileFault slow;
  slow.effect = FileFault::Effect::kDelay;
  slow.path = "*/chk-2/*_metadata*";
  slow.operations = {FileOperation::kCreate};
  slow.latency = 5 * kSecond;
  s.runner.faults().add(slow);
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        s.sleep(kSecond);
        ASSERT_EQ(s.triggerCheckpoint(), 2);
        s.sleep(kSecond);
        ASSERT_TRUE(s.kill("Sink: collect", 1));
        ASSERT_TRUE(s.waitForLog("Restoring job"));
        s.sleep(10 * kSecond);
        EXPECT_TRUE(s.filesUnder("/checkpoints", "chk-2/").empty()) << "the abort won: the files that came later are gone";
        s.triggerCheckpoint();
        ASSERT_TRUE(s.waitForLog("Completed checkpoint", 2));
        s.sleep(kSecond);
        ASSERT_TRUE(s.kill("Sink: collect", 0));
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  const auto restores = s.linesWith("Restoring job");
  ASSERT_EQ(restores.size(), 2u);
  EXPECT_NE(restores[0].message.find("from Checkpoint 1 @"), std::string::npos) << restores[0].message;
  EXPECT_EQ(s.linesWith("Completed checkpoint 2 ").size(), 0u) << "nobody has heard of its completion";
  std::map<int64_t, int> times;
  for (const Row& row : collected->values()) ++times[row.number];
  EXPECT_EQ(times.size(), 3000u);
  for (const auto& [number, count] : times) ASSERT_EQ(count, 1) << "row " << number;
}

}  // namespace
}  // namespace weir
