#include <gtest/gtest.h>

#include "scenario/scenario.h"

namespace weir {
namespace {

const char* kLate = "Received late message for now expired checkpoint attempt ";

/// Epoch milliseconds of the lines with this text.
std::vector<int64_t> timesOf(Scenario& s, const std::string& text) {
  std::vector<int64_t> times;
  for (const auto& line : s.linesWith(text)) times.push_back(line.epochMillis);
  return times;
}

/// The coordinator's lines `Checkpoint N of job J expired before completing.`; others quote their end.
std::vector<MemoryLogSink::Line> expiries(Scenario& s) {
  auto lines = s.linesWith("expired before completing.");
  std::erase_if(lines, [](const auto& line) { return !line.message.starts_with("Checkpoint ") || line.message.find(" of job ") > 30; });
  return lines;
}

bool waitForExpiries(Scenario& s, size_t times) {
  return s.waitUntil([&] { return expiries(s).size() >= times; }, std::chrono::minutes(10), 10 * kMillisecond);
}

/// `<execution graph>_<vertex>_<subtask>_<attempt>`, as log lines print it, taken apart.
struct LateLine {
  std::string vertex;
  int32_t subtask;
  int64_t epochMillis;
};
std::vector<LateLine> lateLines(Scenario& s, int64_t checkpointId) {
  std::vector<LateLine> found;
  for (const auto& line : s.linesWith(kLate + std::to_string(checkpointId) + " from task ")) {
    const size_t at = line.message.find(" from task ") + 11;
    const std::string id = line.message.substr(at, line.message.find(' ', at) - at);
    const size_t vertex = id.find('_') + 1, subtask = id.find('_', vertex) + 1;
    found.push_back({id.substr(vertex, subtask - 1 - vertex), std::stoi(id.substr(subtask)), line.epochMillis});
  }
  return found;
}

// late-acks-after-expiry: tasks that are in the middle of their part when the deadline passes
TEST(FailureMode, LateAcksAfterExpiry) {
  Scenario s;
  s.env.configure("execution.checkpointing.timeout", "2 s").configure("execution.checkpointing.interval", "5 s");
  s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "10");
  auto hooks = std::make_shared<ProbeHooks>();
  // Subtasks 5 and 6 are on the slow machine: they acknowledge after 1.5 times the timeout.
  hooks->onSnapshot = [](ProbeContext& at, int64_t) {
    if (at.subtask == 5 || at.subtask == 6) at.execution->spend(3 * kSecond, CostMode::kSleep);
  };
  auto work = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 100)
                  .rebalance()
                  .map(Probe(hooks))
                  .name("work")
                  .setParallelism(8);
  hashed(work).addSink([](const Row&) {}).setParallelism(8);
  s.run([&] {
    ASSERT_TRUE(s.waitForLog("Triggering checkpoint 2 "));
    const JobSnapshot job = s.snapshot();
    const CheckpointStats& failed = *job.checkpoints->find(1);
    EXPECT_EQ(failed.status, CheckpointStatus::kFailed);
    EXPECT_EQ(failed.acknowledged, failed.subtasks - 2);
    const auto work = s.subtasksOf(1, "work");
    for (int i = 0; i < 8; ++i) {
      EXPECT_TRUE(work[i].reported) << i << ": what came late is filled in";
      EXPECT_EQ(work[i].completed, i != 5 && i != 6) << i;
    }
    EXPECT_GE(work[5].syncMs, 3000);
  });
  const int64_t triggered = s.timeOf("Triggering checkpoint 1 "), expired = expiries(s).front().epochMillis,
                next = s.timeOf("Triggering checkpoint 2 ");
  EXPECT_NEAR(static_cast<double>(expired - triggered), 2000, 5);
  EXPECT_NEAR(static_cast<double>(next - expired), 3000, 5);
  const auto late = lateLines(s, 1);
  ASSERT_EQ(late.size(), 2u) << s.log().text();
  EXPECT_EQ(std::set<int32_t>({late[0].subtask, late[1].subtask}), std::set<int32_t>({5, 6}));
  for (const LateLine& line : late) {
    EXPECT_GT(line.epochMillis, expired);
    EXPECT_LT(line.epochMillis, next);
  }
}

// late-acks-after-expiry, as measured on Flink 2.3.0: a hot subtask drains for 9.3 s, and every round expires after 4 s. The second expiry
// makes the task forget that the first round was aborted, so that it takes part in it and all that stand behind it do.
TEST(FailureMode, LateAcksAfterExpiryNameTheSuspectFirst) {
  Scenario s;
  s.env.configure("execution.checkpointing.timeout", "4 s").configure("execution.checkpointing.interval", "1 s");
  s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "100");
  auto hooks = std::make_shared<ProbeHooks>();
  Nanos stall = Nanos::zero();
  hooks->onRow = [&](ProbeContext& at, const Row& row) {
    if (at.subtask == 3 && row.number > 1000) at.execution->spend(std::exchange(stall, Nanos::zero()), CostMode::kSleep);
  };
  auto agg = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 1000)
                 .rebalance()
                 .map(StatefulProbe(hooks))
                 .name("agg")
                 .setParallelism(16);
  hashed(agg).addSink([](const Row&) {}).name("board").setParallelism(16);
  std::map<std::string, std::string> vertexOf;  // by name
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    s.sleep(2 * kSecond);
    stall = 9300 * kMillisecond;
    ASSERT_TRUE(s.waitForLog(kLate));
    s.sleep(kSecond);
    EXPECT_EQ(s.filesUnder("/checkpoints", "chk-2/").size(), 0u) << "state that was written late is deleted";
    const JobSnapshot job = s.snapshot();
    for (const JobVertex& v : job.graph->vertices()) vertexOf[v.name] = v.id.toString();
  });
  const auto expired = expiries(s);
  ASSERT_GE(expired.size(), 2u);
  const int64_t id = std::stoll(expired.front().message.substr(std::string("Checkpoint ").size()));
  // At once: the interval has long passed, and there is no min-pause.
  EXPECT_NEAR(static_cast<double>(s.timeOf("Triggering checkpoint " + std::to_string(id + 1) + " ") - expired[0].epochMillis), 0, 50);
  const auto late = lateLines(s, id);
  ASSERT_EQ(late.size(), 17u) << "the hot subtask and all of the sink" << s.log().text();
  // The suspect is the only one of its vertex; the vertex that is complete only waited for it.
  std::map<std::string, std::set<int32_t>> subtasks;
  for (const LateLine& line : late) subtasks[line.vertex].insert(line.subtask);
  EXPECT_EQ(subtasks[vertexOf["agg"]], std::set<int32_t>{3});
  EXPECT_EQ(subtasks[vertexOf["Sink: board"]].size(), 16u);
  EXPECT_NEAR(static_cast<double>(late.front().epochMillis - expired[0].epochMillis), 5300, 1100) << "drain less timeout";
  EXPECT_LE(late.back().epochMillis - late.front().epochMillis, 100);
  // Rounds whose barrier came after the news of their abort stay silent.
  EXPECT_GE(s.linesWith("has been notified as aborted, would not trigger any checkpoint.").size(), 1u);
}

/// source(2) -> rebalance -> slow map(2, 5 ms a row) -> sink, overloaded: every buffer in front of the map is full of 64-byte rows.
void slowMap(Scenario& s) {
  s.env.setParallelism(2).disableOperatorChaining();
  s.env.configure("execution.checkpointing.mode", "AT_LEAST_ONCE");
  s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "100");
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), SwitchedReader::kEndless, 45), "source", 10'000)
      .rebalance()
      .map([](const Row& row) { return row; })
      .name("slow")
      .cost(5 * kMillisecond)
      .addSink([](const Row&) {});
}

// at-least-once-still-expires
TEST(FailureMode, AtLeastOnceStillExpires) {
  Scenario s;
  slowMap(s);
  s.env.configure("execution.checkpointing.timeout", "2 s").configure("execution.checkpointing.interval", "3 s");
  s.run([&] {
    s.sleep(100 * kSecond);
    const auto counts = s.snapshot().checkpoints->counts;
    EXPECT_GE(counts.failed, 30);
    EXPECT_LE(counts.completed, 1) << "only the first one, before the buffers were full";
  });
  EXPECT_GE(expiries(s).size(), 30u);
}

TEST(FailureMode, AtLeastOnceStillExpiresBecauseTheBarrierQueuesBehindRows) {
  Scenario s;
  slowMap(s);
  s.env.configure("execution.checkpointing.timeout", "10 min");
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    s.sleep(60 * kSecond);
    const int64_t id = s.triggerCheckpoint();
    // The rows that lie in front of the map, as they would on a wire: what it has not polled yet.
    ASSERT_TRUE(s.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
    for (const SubtaskCheckpointStats& slow : s.subtasksOf(id, "slow")) {
      // Up to 11 buffers of 32 KiB, two channels, 81 bytes a row with its length and tag: 5 ms each.
      EXPECT_GT(slow.startDelayMs, 5000);
      EXPECT_LT(slow.startDelayMs, 2 * 11 * (32 * 1024 / 60) * 5);
    }
  });
}

void stalledOperator(Scenario& s, const std::shared_ptr<ProbeHooks>& hooks) {
  s.env.disableOperatorChaining();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 100)
      .map(Probe(hooks))
      .name("stalled")
      .addSink([](const Row&) {});
}

// expired-not-counted
TEST(FailureMode, ExpiredNotCounted) {
  Scenario s;
  s.env.configure("execution.checkpointing.timeout", "1 s").configure("execution.checkpointing.interval", "2 s");
  s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "2");
  auto hooks = std::make_shared<ProbeHooks>();
  hooks->onRow = [](ProbeContext& at, const Row& row) {
    if (row.number == 100) at.execution->spend(60 * kSecond, CostMode::kSleep);
  };
  stalledOperator(s, hooks);
  s.run();
  EXPECT_EQ(s.result.status, JobStatus::kFailed);
  EXPECT_EQ(expiries(s).size(), 3u) << "the third in a row fails the job";
  EXPECT_NE(s.failure().find("Exceeded checkpoint tolerable failure threshold. The latest checkpoint failed due to Checkpoint expired "
                             "before completing."),
            std::string::npos)
      << s.failure();
  EXPECT_EQ(s.linesWith("(0 consecutive failed attempts so far)").size(), 1u);
  EXPECT_EQ(s.linesWith("(2 consecutive failed attempts so far)").size(), 1u);
}

TEST(FailureMode, ExpiredNotCountedAfterASuccess) {
  Scenario s;
  s.env.configure("execution.checkpointing.timeout", "1 s").configure("execution.checkpointing.interval", "2 s");
  s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "2");
  auto hooks = std::make_shared<ProbeHooks>();
  Nanos stall = Nanos::zero();
  hooks->onRow = [&](ProbeContext& at, const Row&) { at.execution->spend(std::exchange(stall, Nanos::zero()), CostMode::kSleep); };
  stalledOperator(s, hooks);
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    for (int round = 1; round <= 5; ++round) {
      const size_t completed = s.log().count("Completed checkpoint");
      stall = 5500 * kMillisecond;  // over two rounds: one begins every 2 s
      ASSERT_TRUE(waitForExpiries(s, static_cast<size_t>(2 * round)));
      ASSERT_TRUE(s.waitForLog("Completed checkpoint", completed + 1));
    }
    EXPECT_EQ(s.snapshot().status, JobStatus::kRunning) << "ten have expired, but never three in a row";
  });
}

// barrier-stuck-metric-gap
TEST(FailureMode, BarrierStuckMetricGap) {
  Scenario s;
  auto hooks = std::make_shared<ProbeHooks>();
  Nanos stall = Nanos::zero();
  hooks->onRow = [&](ProbeContext& at, const Row&) { at.execution->spend(std::exchange(stall, Nanos::zero()), CostMode::kSleep); };
  stalledOperator(s, hooks);
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    stall = 30 * kSecond;
    ASSERT_TRUE(s.waitUntil([&] { return stall == Nanos::zero(); }));
    s.triggerCheckpoint();
    const auto gauge = [&](const std::function<int64_t(const CheckpointGauges&)>& read) {
      return s.ask<int64_t>([&](CheckpointCoordinator& c) { return read(c.stats().gauges()); });
    };
    const auto duration = [&] { return gauge([](const CheckpointGauges& g) { return g.lastCheckpointDuration.load(); }); };
    const int64_t before = duration();
    for (int second = 1; second < 30; ++second) {
      s.sleep(kSecond);
      EXPECT_EQ(duration(), before) << "what is measured at the end shows nothing meanwhile";
      const int64_t age = gauge([&](const CheckpointGauges& g) { return g.oldestPendingAge(s.now()).count(); });
      EXPECT_NEAR(static_cast<double>(age), 1000.0 * second, 50) << "rises a second per second";
    }
    ASSERT_TRUE(s.waitForLog("Completed checkpoint 2 "));
    EXPECT_EQ(gauge([&](const CheckpointGauges& g) { return g.oldestPendingAge(s.now()).count(); }), 0);
    EXPECT_NEAR(static_cast<double>(duration()), 30'000, 100);
  });
}

struct FanOut {
  void processElement1(const Row& row, ProcessContext&, Collector<Row>& out) {
    for (int i = 0; i < 200; ++i) out.collect(row);
  }
  void processElement2(const Row&, ProcessContext&, Collector<Row>&) {}
};

// slow-not-stuck
TEST(FailureMode, SlowNotStuck) {
  Scenario s;
  s.env.configure("execution.checkpointing.interval", "1 s").configure("execution.checkpointing.max-concurrent-checkpoints", "40");
  auto switches = std::make_shared<SourceSwitches>();
  auto orders = s.env.fromSource(SwitchedReader(switches), "orders", 10);
  auto payments = s.env.fromSource(SwitchedReader(switches), "payments", 10);
  orders.connect(payments).process<Row>(FanOut{}).name("join").rebalance().map([](const Row& r) { return r; }).name("agg").cost(
      kMillisecond).disableChaining().addSink([](const Row&) {});
  s.run([&] {
    s.sleep(60 * kSecond);  // 2,000 rows a second for an operator that does half of that
    const int64_t pending = s.snapshot().checkpoints->counts.inProgress;
    EXPECT_GE(pending, 10) << "barriers pile up";
    switches->paused = true;
    std::vector<int64_t> ids;
    while (s.snapshot().checkpoints->counts.inProgress > 1 && ids.size() < 600) {
      s.sleep(2 * kSecond);
      ids.push_back(s.ask<int64_t>([](CheckpointCoordinator& c) { return c.stats().gauges().lastCompletedCheckpointId.load(); }));
    }
    ASSERT_GE(ids.size(), 5u);
    EXPECT_LT(ids.size(), 600u) << "it drains";
    // Slow, not stuck: the latest completed id advances all the time. In a deadlock it would not move at all.
    int standing = 0;
    for (size_t i = 1; i < ids.size(); ++i) standing += ids[i] <= ids[i - 1];
    EXPECT_LE(standing, static_cast<int>(ids.size()) / 3) << testing::PrintToString(ids);
  });
}

/// A job that never completes a checkpoint, with a min-pause of 5 s: how long after each expiry the next one is triggered, in ms.
std::vector<int64_t> pausesAfterExpiry(const char* timeout) {
  Scenario s;
  s.env.configure("execution.checkpointing.timeout", timeout).configure("execution.checkpointing.interval", "1 s");
  s.env.configure("execution.checkpointing.min-pause", "5 s").configure("execution.checkpointing.tolerable-failed-checkpoints", "100");
  auto hooks = std::make_shared<ProbeHooks>();
  hooks->onRow = [](ProbeContext& at, const Row&) { at.execution->spend(3600 * kSecond, CostMode::kSleep); };
  stalledOperator(s, hooks);
  s.run([&] { ASSERT_TRUE(waitForExpiries(s, 5)); });
  const auto expired = expiries(s);
  const auto triggered = timesOf(s, "Triggering checkpoint");
  std::vector<int64_t> pauses;
  for (size_t i = 0; i + 1 < expired.size(); ++i) pauses.push_back(triggered[i + 1] - expired[i].epochMillis);
  return pauses;
}

// min-pause-after-failure: the pause is counted from the latest completed checkpoint, so an expired one is followed at once.
TEST(FailureMode, MinPauseAfterFailure) {
  const auto pauses = pausesAfterExpiry("7 s");
  EXPECT_GE(pauses.size(), 4u);
  for (const int64_t pause : pauses) EXPECT_LE(pause, 50) << "the next one starts directly after the expiry";
}

// The same with the numbers of the entry: the interval is never below min-pause, so the next one is due 5 s after the last trigger.
TEST(FailureMode, MinPauseAfterFailureIsShorterThanAsked) {
  const auto pauses = pausesAfterExpiry("1 s");
  EXPECT_GE(pauses.size(), 4u);
  for (const int64_t pause : pauses) EXPECT_NEAR(static_cast<double>(pause), 4000, 50);
}

}  // namespace
}  // namespace weir
