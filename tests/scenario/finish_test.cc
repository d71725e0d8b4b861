#include <gtest/gtest.h>

#include "scenario/scenario.h"

namespace weir {
namespace {

// task-finishes-between-plan-and-trigger: over many seeds, as it is a race by design.
TEST(FailureMode, TaskFinishesBetweenPlanAndTrigger) {
  int hit = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Scenario s(seed);
    s.env.configure("execution.checkpointing.tolerable-failed-checkpoints", "1");
    auto endless = std::make_shared<SourceSwitches>();
    s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 20), "short", 1000).addSink([](const Row&) {}).name("one");
    s.env.fromSource(SwitchedReader(endless), "endless", 1000).addSink([](const Row&) {}).name("two");
    s.run([&] {
      // Requests wait in a queue, so that a checkpoint begins in the moment in which the tasks hear that they may end with the one before.
      for (int i = 0; i < 40; ++i) {
        for (int k = 0; k < 3; ++k) s.requestCheckpoint();
        s.sleep(kMillisecond);
      }
      EXPECT_EQ(s.snapshot().status, JobStatus::kRunning) << "seed " << seed << ": " << s.failure();
      const size_t completed = s.log().count("Completed checkpoint");
      s.requestCheckpoint();
      ASSERT_TRUE(s.waitForLog("Completed checkpoint", completed + 1)) << "seed " << seed;
    });
    const size_t refused = s.linesWith("for unknown task").size() + s.linesWith("Checkpoint was declined (tasks not ready)").size();
    EXPECT_LE(refused, 6u) << "seed " << seed << ": once, not again and again";
    hit += refused > 0;
  }
  EXPECT_GT(hit, 0) << "no seed came upon the race";
}

// trigger-on-finished-source
TEST(FailureMode, TriggerOnFinishedSource) {
  Scenario s;
  s.env.configure("execution.checkpointing.interval", "1 s");
  s.env.configure("execution.checkpointing.checkpoints-after-tasks-finish", "false");
  auto endless = std::make_shared<SourceSwitches>();
  auto one = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 350), "short", 100);
  auto two = s.env.fromSource(SwitchedReader(endless), "endless", 100);
  one.rebalance().unionWith(two.rebalance()).addSink([](const Row&) {});
  s.run([&] {
    ASSERT_TRUE(s.waitForLog("Completed checkpoint 3 "));
    s.sleep(600 * kSecond);
    EXPECT_EQ(s.snapshot().status, JobStatus::kRunning);
  });
  EXPECT_EQ(s.linesWith("Some tasks of the job have already finished and checkpointing with finished tasks is not enabled.").size(), 1u)
      << "one message, not one at every interval";
}

/// Three hash edges in a row on 64 network buffers.
JobResult threeHashEdges(int32_t parallelism) {
  Scenario s;
  s.env.configure("taskmanager.memory.network.min", "2 mb").configure("taskmanager.memory.network.max", "2 mb");
  s.env.setParallelism(parallelism);
  auto stream = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), 100), "source");
  for (int edge = 1; edge <= 3; ++edge) stream = hashed(stream).map([](const Row& row) { return row; }).name("map");
  stream.addSink([](const Row&) {});
  return s.run();
}

// insufficient-buffers-by-one
TEST(FailureMode, InsufficientBuffersByOne) {
  int32_t parallelism = 1;
  JobResult result = threeHashEdges(parallelism);
  while (result.status == JobStatus::kFinished && parallelism < 64) result = threeHashEdges(++parallelism);
  // At p: 3 edges x p producers x (p + 1 buffers) on one side; one buffer for each of the 3 p gates on the other.
  EXPECT_EQ(parallelism, 4) << "3 runs, 4 is too much";
  ASSERT_EQ(result.status, JobStatus::kFailed);
  const std::string text = result.failure->trace();
  EXPECT_NE(text.find("Insufficient number of network buffers: required "), std::string::npos) << text;
  EXPECT_NE(text.find(", but only "), std::string::npos) << text;
  EXPECT_NE(text.find("The total number of network buffers is currently set to 64 of 32768 bytes each."), std::string::npos) << text;
  for (const char* key : {"taskmanager.memory.network.fraction", "taskmanager.memory.network.min", "taskmanager.memory.network.max"})
    EXPECT_NE(text.find(key), std::string::npos) << text;
}

}  // namespace
}  // namespace weir
