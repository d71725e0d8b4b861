#include <gtest/gtest.h>

#include "scenario/scenario.h"

namespace weir {
namespace {

std::map<int64_t, int> timesOfRows(const std::vector<Row>& rows) {
  std::map<int64_t, int> times;
  for (const Row& row : rows) ++times[row.number];
  return times;
}

void expectExactlyOnce(const std::vector<Row>& rows, size_t expected) {
  const auto times = timesOfRows(rows);
  EXPECT_EQ(times.size(), expected);
  for (const auto& [number, count] : times) ASSERT_EQ(count, 1) << "row " << number;
}

/// source -> rebalance -> three subtasks of a two-phase commit sink, restarting at once.
struct CommitJob : Scenario {
  std::shared_ptr<TransactionalCollectResult<Row>> collected = std::make_shared<TransactionalCollectResult<Row>>();
  std::shared_ptr<SourceSwitches> switches = std::make_shared<SourceSwitches>();

  explicit CommitJob(int64_t rows) {
    env.configure("restart-strategy.type", "fixed-delay").configure("restart-strategy.fixed-delay.delay", "1 ms");
    env.configure("restart-strategy.fixed-delay.attempts", "10");
    env.configure("execution.checkpointing.tolerable-failed-checkpoints", "10");
    env.fromSource(SwitchedReader(switches, rows), "source", 100)
        .rebalance()
        .sinkTo("collect", Batching::kBatches, TransactionalCollectSink<Row>(collected))
        .setParallelism(3);
  }
};

// subsumed-notification: checkpoint 2 hangs at one subtask and is overtaken by checkpoint 3, so that nobody is ever told of 2.
TEST(FailureMode, SubsumedNotification) {
  CommitJob s(1500);
  s.env.configure("execution.checkpointing.max-concurrent-checkpoints", "2");
  FileFault slow;
  slow.effect = FileFault::Effect::kDelay;
  slow.path = "*/chk-2/*-*-*-*-*";
  slow.operations = {FileOperation::kCreate};
  slow.latency = 30 * kSecond;
  slow.times = 1;
  s.runner.faults().add(slow);
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        s.sleep(2 * kSecond);
        ASSERT_EQ(s.triggerCheckpoint(), 2);
        s.sleep(2 * kSecond);
        const size_t before = s.collected->values().size();
        EXPECT_LT(before, 30u) << "nothing was committed but what the first one covers";
        ASSERT_EQ(s.triggerCheckpoint(), 3);
        ASSERT_TRUE(s.waitForLog("Completed checkpoint 3 "));
        s.sleep(100 * kMillisecond);
        EXPECT_GE(s.collected->values().size(), 350u) << "the notice of 3 commits what was pending for 2 as well";
        EXPECT_EQ(s.checkpoint(2)->status, CheckpointStatus::kFailed);
        EXPECT_NE(s.checkpoint(2)->failureMessage.find("subsumed"), std::string::npos) << s.checkpoint(2)->failureMessage;
        s.sleep(2 * kSecond);
        ASSERT_TRUE(s.kill("Sink: collect", 0));
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(s.linesWith("Completed checkpoint 2 ").size(), 0u);
  expectExactlyOnce(s.collected->values(), 1500);
}

// flush-on-next-record: one of three subtasks declines a checkpoint.
TEST(FailureMode, FlushOnNextRecord) {
  CommitJob s(2000);
  FileFault broken;
  broken.path = "*/chk-4/*-*-*-*-*";
  broken.operations = {FileOperation::kCreate};
  broken.afterCalls = 2;
  broken.times = 1;
  const int rule = s.runner.faults().add(broken);
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        for (int64_t id = 2; id <= 3; ++id) {
          s.sleep(2 * kSecond);
          ASSERT_EQ(s.triggerCheckpoint(), id);
          ASSERT_TRUE(s.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
        }
        s.sleep(2 * kSecond);
        const size_t before = s.collected->values().size();
        ASSERT_EQ(s.triggerCheckpoint(), 4);
        ASSERT_TRUE(s.waitForLog("Decline checkpoint 4 by task"));
        EXPECT_EQ(s.runner.faults().fired(rule), 1u);
        s.sleep(2 * kSecond);
        EXPECT_EQ(s.collected->values().size(), before) << "rows flow on, and still nothing of a checkpoint that failed shows";
        ASSERT_TRUE(s.kill("Sink: collect", 2));
        ASSERT_TRUE(s.waitForLog("Restoring job"));
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_NE(s.linesWith("Restoring job").front().message.find("from Checkpoint 3 @"), std::string::npos);
  expectExactlyOnce(s.collected->values(), 2000);
}

/// What not to do: the rows become visible when the subtask takes its snapshot, before anybody knows whether the checkpoint will complete.
class CommitsInSnapshot {
 public:
  explicit CommitsInSnapshot(std::shared_ptr<std::vector<Row>> visible) : visible_(std::move(visible)) {}
  void invoke(const Row& row) { open_.push_back(row); }
  void snapshotState(int64_t) {
    visible_->insert(visible_->end(), open_.begin(), open_.end());
    open_.clear();
  }

 private:
  std::shared_ptr<std::vector<Row>> visible_;
  std::vector<Row> open_;
};

/// Runs source -> map -> sink; a checkpoint per 100 rows, the fifth of which fails at the map's state, then the map is killed.
template <class Attach>
void failAfterTheSnapshotOfTheSink(Attach attachSink) {
  Scenario s;
  s.env.configure("restart-strategy.type", "fixed-delay").configure("restart-strategy.fixed-delay.delay", "1 ms");
  s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "10");
  s.env.disableOperatorChaining();
  auto map = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 1000), "source", 100)
                 .map(StatefulProbe(std::make_shared<ProbeHooks>()))
                 .name("map");
  attachSink(map);
  FileFault slow;
  slow.effect = FileFault::Effect::kDelay;
  slow.path = "*/chk-5/*-*-*-*-*";
  slow.operations = {FileOperation::kCreate};
  slow.latency = 60 * kSecond;
  s.runner.faults().add(slow);
  s.run(
      [&] {
        ASSERT_TRUE(s.waitForFirstCheckpoint());
        for (int64_t id = 2; id <= 5; ++id) {
          s.sleep(kSecond);
          ASSERT_EQ(s.triggerCheckpoint(), id);
          ASSERT_TRUE(id == 5 || s.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
        }
        s.sleep(100 * kMillisecond);
        ASSERT_TRUE(s.kill("map", 0));
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(s.result.restarts, 1);
}

// single-phase-commit
TEST(FailureMode, SinglePhaseCommit) {
  auto visible = std::make_shared<std::vector<Row>>();
  failAfterTheSnapshotOfTheSink([&](DataStream<Row>& stream) { stream.addSink(CommitsInSnapshot(visible)).name("sink"); });
  size_t twice = 0;
  for (const auto& [number, count] : timesOfRows(*visible)) twice += count == 2;
  EXPECT_NEAR(static_cast<double>(twice), 100, 15) << "the rows of one interval came out twice";

  auto collected = std::make_shared<TransactionalCollectResult<Row>>();
  failAfterTheSnapshotOfTheSink([&](DataStream<Row>& stream) {
    stream.sinkTo("sink", Batching::kBatches, TransactionalCollectSink<Row>(collected));
  });
  expectExactlyOnce(collected->values(), 1000);
}

// tail-data-never-committed: 1,050 rows, a checkpoint each second, 100 rows a second.
TEST(FailureMode, TailDataNeverCommitted) {
  CommitJob without(1050);
  without.env.configure("execution.checkpointing.interval", "1 s");
  without.env.configure("execution.checkpointing.checkpoints-after-tasks-finish", "false");
  ASSERT_EQ(without.run().status, JobStatus::kFinished);
  EXPECT_NEAR(static_cast<double>(without.collected->values().size()), 1000, 25) << "what came after the last checkpoint is missing";

  CommitJob with(1050);
  with.env.configure("execution.checkpointing.interval", "1 s");
  ASSERT_EQ(with.run().status, JobStatus::kFinished);
  expectExactlyOnce(with.collected->values(), 1050);
}

TEST(FailureMode, TailDataNeverCommittedAndATaskFailsBeforeTheFinalCheckpoint) {
  CommitJob s(1050);
  s.env.configure("execution.checkpointing.interval", "10 s");
  s.run(
      [&] {
        s.sleep(10'800 * kMillisecond);  // the input has ended, the final checkpoint is still to come
        ASSERT_TRUE(s.kill("Sink: collect", 1));
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(s.result.restarts, 1);
  expectExactlyOnce(s.collected->values(), 1050);
}

}  // namespace
}  // namespace weir
