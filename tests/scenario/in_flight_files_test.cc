#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/in_flight.h"

// The files that subtasks share for their in-flight data: who waits for whom, and what an aborted checkpoint leaves.
namespace weir {
namespace {

// One subtask of four is stuck in a call while a checkpoint is taken; who has acknowledged it when it expires?
struct StuckJob : Scenario {
  bool stuck = false;

  StuckJob() {
    env.configure("execution.checkpointing.unaligned.enabled", "true")
        .configure("execution.checkpointing.timeout", "10 s")
        .configure("execution.checkpointing.tolerable-failed-checkpoints", "100");
    auto hooks = std::make_shared<ProbeHooks>();
    hooks->onRow = [this](ProbeContext& context, const Row&) {
      if (stuck && context.subtask == 1) context.execution->spend(30 * kSecond, CostMode::kSleep);
    };
    hashed(env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 400).setParallelism(4))
        .map(Probe(hooks))
        .name("agg")
        .setParallelism(4)
        .rebalance()
        .addSink([](const Row&) {})
        .name("board")
        .setParallelism(4);
  }
  /// Of each vertex the subtasks that had not acknowledged when the checkpoint expired.
  std::map<std::string, std::vector<int>> pending;
  void go() {
    run([&] {
      ASSERT_TRUE(waitForFirstCheckpoint());
      stuck = true;
      sleep(kSecond);
      const int64_t id = triggerCheckpoint();
      sleep(9 * kSecond);
      for (const char* vertex : {"source", "agg", "board"}) {
        const auto subtasks = subtasksOf(id, vertex);
        auto& missing = pending[vertex];
        for (size_t i = 0; i < subtasks.size(); ++i)
          if (!subtasks[i].completed) missing.push_back(static_cast<int>(i));
      }
      stuck = false;
    });
  }
};

TEST(InFlight, AStuckSubtaskHoldsUpThoseThatShareItsFileAsInFlink) {
  StuckJob together;
  together.go();
  EXPECT_THAT(together.pending["board"], ::testing::SizeIs(4)) << "all wait for its barrier";
  EXPECT_THAT(together.pending["agg"], ::testing::Contains(1));
  EXPECT_GT(together.pending["agg"].size() + together.pending["source"].size(), 1u) << "and its neighbours for the file";

  StuckJob apart;
  apart.env.configure("execution.checkpointing.unaligned.max-subtasks-per-channel-state-file", "1");
  apart.go();
  EXPECT_THAT(apart.pending["source"], ::testing::IsEmpty());
  EXPECT_THAT(apart.pending["agg"], ::testing::ElementsAre(1));

  StuckJob independent;
  independent.env.configure("weir.channel-state.independent-acks", "true");
  independent.go();
  EXPECT_EQ(independent.pending, apart.pending) << "the same without a file for each";
}

TEST(InFlight, OfIndependentAcknowledgementsIsTheSame) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    InFlightJob s(Edge::kHash, {2, 3}, 20, seed);
    s.env.configure("weir.channel-state.independent-acks", "true");
    const std::string folder = s.cancelWithDataInFlight();
    EXPECT_GT(s.capturedBytes(folder), 1000);
    s.restoreFrom(folder, {2, static_cast<int32_t>(2 + seed % 2)});
    s.env.configure("weir.channel-state.independent-acks", "true");
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
    s.expectExactlyOnce();
  }
}

TEST(FailureMode, AbortedCheckpointMergesFiles) {
  // Checkpoint 2 is given up after the sinks have closed its transactions; 3 commits both, in the order of the checkpoints: who reads the
  // rows as upserts ends with the last row of each producer.
  Scenario s;
  const auto collected = std::make_shared<TransactionalCollectResult<Row>>();
  s.env.configure("execution.checkpointing.unaligned.enabled", "true")
      .configure("execution.checkpointing.tolerable-failed-checkpoints", "10");
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 1000), "source", 100)
      .setParallelism(2)
      .keyBy(&Row::producer)
      .reduce([](Row& all, const Row& one) { all.number = one.number; })
      .name("last")
      .setParallelism(2)
      .sinkTo("rows", Batching::kBatches, TransactionalCollectSink<Row>(collected))
      .setParallelism(2);
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        s.sleep(kSecond);
        FileFault broken;
        broken.path = "*/chk-2/*-*-*-*-*";
        broken.operations = {FileOperation::kCreate};
        s.runner.faults().add(broken);
        ASSERT_EQ(s.triggerCheckpoint(), 2);
        ASSERT_TRUE(s.waitUntil([&] { return s.checkpoint(2)->status == CheckpointStatus::kFailed; }));
        EXPECT_TRUE(s.filesUnder("/checkpoints", "chk-2").empty()) << "an aborted checkpoint leaves no file";
        const size_t before = collected->values().size();
        s.sleep(kSecond);
        ASSERT_EQ(s.triggerCheckpoint(), 3);
        ASSERT_TRUE(s.waitForLog("Completed checkpoint 3 "));
        s.sleep(10 * kMillisecond);
        EXPECT_GT(collected->values().size(), before + 150) << "what 2 held back is committed with 3";
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  std::map<int32_t, int64_t> last;
  for (const Row& row : collected->values()) {
    const auto [known, isNew] = last.try_emplace(row.producer, row.number);
    if (isNew) continue;
    EXPECT_GT(row.number, known->second) << "no row comes behind a later one";
    known->second = row.number;
  }
  for (const auto& [producer, number] : last) EXPECT_EQ(number, 999);
  EXPECT_EQ(collected->values().size(), 2000u);
}

TEST(InFlight, AnAbortedCheckpointLeavesNoFileOfItsInFlightData) {
  // One write fails, of in-flight data or of another state of the same subtask; those that share its file, and those that do not, have
  // written by then or write later.
  int aborted = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    InFlightJob s(Edge::kHash, {2, 3}, 20, seed);
    s.env.configure("weir.channel-state.independent-acks", seed % 2 ? "true" : "false");
    s.run([&] {
      ASSERT_TRUE(s.waitForFirstCheckpoint());
      s.sleep(60 * kMillisecond);
      FileFault broken;
      broken.path = "*/chk-2/*-*-*-*-*";
      broken.operations = {FileOperation::kAppend};
      broken.afterCalls = seed / 2;
      broken.times = 1;
      s.runner.faults().add(broken);
      ASSERT_EQ(s.triggerCheckpoint(), 2);
      ASSERT_TRUE(s.waitUntil([&] { return s.checkpoint(2)->status != CheckpointStatus::kInProgress; }));
      if (s.checkpoint(2)->status == CheckpointStatus::kCompleted) return;  // it wrote less often than that
      ++aborted;
      s.sleep(kSecond);
      EXPECT_THAT(s.filesUnder("/checkpoints", "chk-2"), ::testing::IsEmpty()) << "seed " << seed;
      ASSERT_EQ(s.triggerCheckpoint(), 3);
      ASSERT_TRUE(s.waitForLog("Completed checkpoint 3 "));
    });
  }
  EXPECT_GE(aborted, 10);
}

TEST(InFlight, AnExpiredCheckpointLeavesNoFileWhereTheStateBesideItCannotBeWritten) {
  // The disk is slow, so that its folder has gone when the subtasks write and make it anew; and one of them fails to write its state after
  // its in-flight data was written, or before.
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    InFlightJob s(Edge::kHash, {2, 3}, 20, seed);
    s.env.configure("weir.channel-state.independent-acks", seed % 2 ? "true" : "false")
        .configure("execution.checkpointing.timeout", "100 ms");
    s.run([&] {
      ASSERT_TRUE(s.waitForFirstCheckpoint());
      s.sleep(60 * kMillisecond);
      FileFault slow;
      slow.path = "*/chk-2/*";
      slow.effect = FileFault::Effect::kDelay;
      slow.operations = {FileOperation::kCreate};
      slow.latency = 150 * kMillisecond;
      FileFault broken;
      broken.path = "*/chk-2/*-*-*-*-*";
      broken.operations = {FileOperation::kAppend};
      broken.afterCalls = seed / 2;
      broken.times = 1;
      s.runner.faults().add(slow);
      s.runner.faults().add(broken);
      ASSERT_EQ(s.triggerCheckpoint(), 2);
      ASSERT_TRUE(s.waitUntil([&] { return s.checkpoint(2)->status == CheckpointStatus::kFailed; }));
      s.sleep(kSecond);
      EXPECT_THAT(s.filesUnder("/checkpoints", "chk-2"), ::testing::IsEmpty()) << "seed " << seed;
    });
  }
}

}  // namespace
}  // namespace weir
