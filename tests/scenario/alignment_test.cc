#include <gtest/gtest.h>

#include "scenario/scenario.h"
#include "support/seeds.h"

namespace weir {
namespace {

/// How many rows of each producer were on either side of a barrier.
using Cut = std::map<int64_t, std::map<int32_t, int64_t>>;  // by checkpoint, by producer

/// Counts the rows that pass a vertex, and remembers the counts at each snapshot.
struct Counting {
  std::shared_ptr<ProbeHooks> hooks = std::make_shared<ProbeHooks>();
  std::map<int32_t, std::map<int32_t, int64_t>> counts;  // by subtask, by producer
  Cut cuts;
  std::map<int64_t, int> snapshots;  // subtasks that have taken part

  Counting() {
    hooks->onRow = [this](ProbeContext& at, const Row& row) { ++counts[at.subtask][row.producer]; };
    hooks->onSnapshot = [this](ProbeContext& at, int64_t id) {
      ++snapshots[id];
      for (const auto& [producer, count] : counts[at.subtask]) cuts[id][producer] += count;
    };
  }
};

// barrier-must-not-pass-open-buffer
TEST(FailureMode, BarrierMustNotPassOpenBuffer) {
  Scenario s;
  s.env.configure("execution.checkpointing.interval", "1 s").setBufferTimeout(-1);
  auto switches = std::make_shared<SourceSwitches>();
  Counting sent;
  std::map<int32_t, std::vector<std::string>> seen;  // by channel
  Counting received;
  auto consumer = std::make_shared<ProbeHooks>(*received.hooks);
  consumer->onRow = [&](ProbeContext& at, const Row& row) {
    received.hooks->onRow(at, row);
    seen[at.subtask].push_back("record");
  };
  consumer->onSnapshot = [&](ProbeContext& at, int64_t id) {
    received.hooks->onSnapshot(at, id);
    seen[at.subtask].push_back("barrier " + std::to_string(id));
  };
  // One record a second for each of four channels, and no flush: every buffer is still open when the barrier comes.
  s.env.fromSource(SwitchedReader(switches), "source", 4)
      .map(Probe(sent.hooks))
      .rebalance()
      .addSink(Probe(consumer))
      .setParallelism(4);
  s.run([&] { s.waitForLog("Completed checkpoint 10 "); });

  for (int64_t id = 1; id <= 10; ++id) EXPECT_EQ(received.cuts[id], sent.cuts[id]) << "checkpoint " << id;
  ASSERT_EQ(seen.size(), 4u);
  for (const auto& [channel, events] : seen) {
    for (size_t i = 0; i + 1 < events.size() && events[i] != "barrier 10"; ++i) {
      if (events[i] == "record") continue;
      EXPECT_EQ(events[i + 1], "record") << "channel " << channel << ": the records of an interval come behind its barrier";
    }
  }
}

// barrier-must-not-pass-open-buffer, "count after restore exact"
TEST(FailureMode, BarrierMustNotPassOpenBufferAndTheCountAfterARestoreIsExact) {
  Scenario s;
  s.env.configure("execution.checkpointing.interval", "1 s").setBufferTimeout(-1);
  s.env.configure("restart-strategy.type", "fixed-delay");
  auto collected = std::make_shared<TransactionalCollectResult<Row>>();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 60), "source", 4)
      .rebalance()
      .sinkTo("collect", Batching::kBatches, TransactionalCollectSink<Row>(collected))
      .setParallelism(4);
  s.run(
      [&] {
        s.waitForLog("Completed checkpoint 5 ");
        s.sleep(kSecond / 2);
        EXPECT_TRUE(s.kill("Sink: collect", 1));
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(s.result.restarts, 1);
  std::map<int64_t, int> times;
  for (const Row& row : collected->values()) ++times[row.number];
  EXPECT_EQ(times.size(), 60u);
  for (const auto& [number, count] : times) EXPECT_EQ(count, 1) << "row " << number;
}

/// What a checkpoint shows of the consumers of an edge whose producer 3 sends its barrier 2 s late.
struct EdgeWait {
  std::set<int> channels;  // per consumer
  int aligning = 0;        // consumers that aligned for 2 s
  int delayed = 0;         // consumers whose first barrier came 2 s late
};

EdgeWait waitBehindLateProducer(int32_t producers, int32_t consumers, const std::function<DataStream<Row>(const DataStream<Row>&)>& edge) {
  Scenario s;
  s.env.disableOperatorChaining();
  auto switches = std::make_shared<SourceSwitches>();
  auto source = s.env.fromSource(SwitchedReader(switches), "source", 1000).setParallelism(producers);
  edge(source).addSink([](const Row&) {}).name("consumer").setParallelism(consumers);
  EdgeWait wait;
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    s.sleep(kSecond);
    switches->stalls[3] = 2200 * kMillisecond;
    ASSERT_TRUE(s.waitUntil([&] { return switches->stalls.empty(); })) << "producer 3 does not stall";
    const int64_t id = s.triggerCheckpoint();
    ASSERT_TRUE(s.waitForLog("Completed checkpoint 2 ")) << s.log().text();
    for (const auto& task : s.tasks("consumer")) wait.channels.insert(task->environment().gates.front()->numberOfChannels());
    for (const SubtaskCheckpointStats& subtask : s.subtasksOf(id, "consumer")) {
      wait.aligning += subtask.alignmentMs >= 2000;
      wait.delayed += subtask.startDelayMs >= 2000;
    }
  });
  return wait;
}

// pointwise-versus-all-to-all-wait
TEST(FailureMode, PointwiseVersusAllToAllWait) {
  struct Case {
    const char* name;
    int32_t producers, consumers;
    std::function<DataStream<Row>(const DataStream<Row>&)> edge;
    int channels, aligning, delayed;
  };
  const auto forward = [](const DataStream<Row>& s) { return s.forward(); };
  const auto rescale = [](const DataStream<Row>& s) { return s.rescale(); };
  const auto hash = [](const DataStream<Row>& s) { return hashed(s); };
  const auto rebalance = [](const DataStream<Row>& s) { return s.rebalance(); };
  const auto broadcast = [](const DataStream<Row>& s) { return s.broadcast(); };
  for (const Case& c : {Case{"forward", 8, 8, forward, 1, 0, 1}, Case{"rescale 8 to 8", 8, 8, rescale, 1, 0, 1},
                        Case{"rescale 8 to 4", 8, 4, rescale, 2, 1, 0}, Case{"rescale 4 to 8", 4, 8, rescale, 1, 0, 2},
                        Case{"hash", 8, 8, hash, 8, 8, 0}, Case{"rebalance", 8, 8, rebalance, 8, 8, 0},
                        Case{"broadcast", 8, 8, broadcast, 8, 8, 0}}) {
    const EdgeWait wait = waitBehindLateProducer(c.producers, c.consumers, c.edge);
    EXPECT_EQ(wait.channels, std::set<int>{c.channels}) << c.name;
    EXPECT_EQ(wait.aligning, c.aligning) << c.name;
    EXPECT_EQ(wait.delayed, c.delayed) << c.name;
  }
}

// item-overtakes-barrier-in-drain
TEST(FailureMode, ItemOvertakesBarrierInDrain) {
  for (const uint64_t seed : testing::seeds(60)) {
    Scenario s(seed);
    s.env.setParallelism(2).setBufferTimeout(1).configure("execution.checkpointing.interval", "10 ms");
    Counting sent, received;
    s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 2000), "source", 40'000)
        .map(Probe(sent.hooks))
        .rebalance()
        .addSink(Probe(received.hooks));
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << "seed " << seed << ": " << s.failure();
    ASSERT_GE(s.log().count("Completed checkpoint"), 3u) << "seed " << seed;
    for (const auto& [id, subtasks] : received.snapshots) {
      if (subtasks < 2) continue;  // aborted on its way
      ASSERT_EQ(received.cuts[id], sent.cuts[id]) << "seed " << seed << ", checkpoint " << id << ": the cut is not consistent";
    }
  }
}

struct Join {
  void processElement1(const Row& row, ProcessContext&, Collector<Row>& out) { out.collect(row); }
  void processElement2(const Row& row, ProcessContext&, Collector<Row>& out) { out.collect(row); }
};

// alignment-buffer-limit-and-cancel: the cancellation markers. (Channels are blocked, not buffered, so that there is no limit to exceed.)
TEST(FailureMode, AlignmentBufferLimitAndCancel) {
  Scenario s(1, LogLevel::kDebug);
  s.env.disableOperatorChaining();
  s.env.configure("execution.checkpointing.timeout", "2 s").configure("execution.checkpointing.tolerable-failed-checkpoints", "10");
  auto switches = std::make_shared<SourceSwitches>();
  std::map<std::string, Nanos> stalls;  // what the next row costs, once
  const auto stalling = [&](const std::string& name) {
    auto hooks = std::make_shared<ProbeHooks>();
    hooks->onRow = [&, name](ProbeContext& at, const Row&) {
      if (const auto stall = stalls.extract(name)) at.execution->spend(stall.mapped(), CostMode::kSleep);
    };
    return Probe(hooks);
  };
  auto left = s.env.fromSource(SwitchedReader(switches, 8000), "left", 1000).map(stalling("short")).name("short");
  auto right = s.env.fromSource(SwitchedReader(switches, 8000), "right", 1000).map(stalling("long")).name("long");
  auto collected = std::make_shared<TransactionalCollectResult<Row>>();
  left.connect(right)
      .process<Row>(Join{})
      .name("join")
      .sinkTo("after", Batching::kBatches, TransactionalCollectSink<Row>(collected));
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        stalls = {{"short", 2500 * kMillisecond}, {"long", 4500 * kMillisecond}};
        ASSERT_TRUE(s.waitUntil([&] { return stalls.empty(); }));
        s.triggerCheckpoint();
        // Expires after 2 s. Both maps hear of that before they get to its barrier, 2.5 and 4.5 s after it was sent: in its place each
        // sends a marker. The barrier of the next checkpoint reaches the join between the two markers of this one.
        ASSERT_TRUE(s.waitForLog("Checkpoint 2 of job"));
        s.sleep(kSecond);
        s.triggerCheckpoint();
        ASSERT_TRUE(s.waitForLog("Completed checkpoint 3 ")) << s.log().text();
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(s.linesWith("Checkpoint 2 has been notified as aborted, would not trigger any checkpoint.").size(), 2u);
  EXPECT_EQ(s.linesWith("join (1/1)#0: Received cancellation 2.").size(), 2u) << "one from each input";
  EXPECT_EQ(s.linesWith("Sink: after (1/1)#0: Received cancellation 2.").size(), 1u) << "and one marker on to those behind";
  const int64_t barrier = s.timeOf("join (1/1)#0: Received barrier from channel 0 @ 3.");
  const auto markers = s.linesWith("join (1/1)#0: Received cancellation 2.");
  ASSERT_EQ(markers.size(), 2u);
  EXPECT_GT(barrier, markers.front().epochMillis);
  EXPECT_LT(barrier, markers.back().epochMillis) << "else this test shows nothing";
  EXPECT_GE(s.linesWith("Task received cancellation from one of its inputs").size(), 1u);
  EXPECT_EQ(collected->values().size(), 16'000u);
}

}  // namespace
}  // namespace weir
