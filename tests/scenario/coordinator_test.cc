#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/in_flight.h"

// A coordinator that dies, and the one that goes on from the checkpoint that is written down.
namespace weir {
namespace {

struct MortalJob : InFlightJob {
  explicit MortalJob(uint64_t seed) : InFlightJob(Edge::kHash, {2, 3}, 20, seed) {}

  /// The whole process is gone at once: nobody cleans up, nothing is told to anybody.
  void die() {
    runner.executor().kill("jobmanager");
    runner.executor().kill("tm1");
  }
  /// What is written down of the latest run that completed a checkpoint: its newest folder with a `_metadata` file.
  std::string storedPointer() {
    const auto completed = linesWith("Completed checkpoint ").back().message;  // Completed checkpoint 4 for job 5c83... (
    const std::string job = completed.substr(completed.find("job ") + 4, 32);
    for (const std::string& base : {std::string("/checkpoints"), "/restored-" + std::to_string(runs.size())}) {
      const auto newest = loadNewestCheckpoint(runner.files(), base + "/" + job);
      if (newest.has_value()) return newest->checkpoint.folder;
    }
    ADD_FAILURE() << "no checkpoint of job " << job;
    return {};
  }
  /// The ids that were triggered from line `from` of the log on.
  std::vector<int64_t> triggeredSince(size_t from) {
    std::vector<int64_t> ids;
    const auto lines = linesWith("Triggering checkpoint ");
    for (size_t i = from; i < lines.size(); ++i)
      ids.push_back(std::stoll(lines[i].message.substr(std::string("Triggering checkpoint ").size())));
    return ids;
  }
};

TEST(Coordinator, GoesOnFromTheStoredPointerAfterADeathInACheckpointAndTwoInRecovery) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MortalJob s(seed);
    Random random(seed);
    s.run(
        [&] {
          ASSERT_TRUE(s.waitForFirstCheckpoint());
          s.sleep(60 * kMillisecond);
          ASSERT_EQ(s.triggerCheckpoint(), 2);
          ASSERT_TRUE(s.waitForLog("Completed checkpoint 2 "));
          s.sleep(20 * kMillisecond);  // its transactions are committed
          FileFault slow;
          slow.effect = FileFault::Effect::kDelay;
          slow.path = "*/chk-3/*";
          slow.latency = 20 * kMillisecond;
          s.runner.faults().add(slow);
          ASSERT_EQ(s.triggerCheckpoint(), 3);
          s.sleep(Nanos(static_cast<int64_t>(random.below(30'000'000))));
          s.die();
        },
        false);
    const std::string pointer = s.storedPointer();
    const int64_t id = std::stoll(pointer.substr(pointer.rfind('-') + 1));
    EXPECT_GE(id, 2);
    for (int death = 0; death < 2; ++death) {
      s.restoreFrom(pointer, {2, static_cast<int32_t>(2 + random.below(3))});
      s.run(
          [&] {
            ASSERT_TRUE(
                s.waitUntil([&] { return s.anyIn("work", ExecutionState::kInitializing); }, kSecond, std::chrono::microseconds(10)));
            s.sleep(Nanos(static_cast<int64_t>(random.below(3'000'000))));
            s.die();
          },
          false);
    }
    const size_t before = s.linesWith("Triggering checkpoint ").size();
    s.restoreFrom(pointer, {2, 2});
    s.env.configure("execution.checkpointing.interval", "50 ms");
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
    s.expectExactlyOnce();
    const auto ids = s.triggeredSince(before);
    ASSERT_GE(ids.size(), 2u);
    EXPECT_GT(ids.front(), id) << "ids rise beyond the checkpoint that it began with";
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(Coordinator, ALateUploadOfASubsumedCheckpointLeavesNothing) {
  Scenario s;
  s.env.configure("execution.checkpointing.max-concurrent-checkpoints", "2");
  const auto hooks = std::make_shared<ProbeHooks>();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 100)
      .rebalance()
      .map(StatefulProbe(hooks))
      .name("stateful")
      .setParallelism(2)
      .addSink([](const Row&) {});
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    s.sleep(kSecond);
    FileFault slow;
    slow.effect = FileFault::Effect::kDelay;
    slow.path = "*/chk-2/*";
    slow.latency = kSecond;
    s.runner.faults().add(slow);
    ASSERT_EQ(s.triggerCheckpoint(), 2);
    s.sleep(100 * kMillisecond);
    ASSERT_EQ(s.triggerCheckpoint(), 3);
    ASSERT_TRUE(s.waitForLog("Completed checkpoint 3 "));
    EXPECT_EQ(s.checkpoint(2)->status, CheckpointStatus::kFailed) << "subsumed";
    s.sleep(10 * kSecond);
    EXPECT_TRUE(s.filesUnder("/checkpoints", "chk-2").empty());
    EXPECT_FALSE(s.filesUnder("/checkpoints", "chk-3").empty());
    ASSERT_EQ(s.triggerCheckpoint(), 4);
    ASSERT_TRUE(s.waitForLog("Completed checkpoint 4 "));
  });
}

}  // namespace
}  // namespace weir
