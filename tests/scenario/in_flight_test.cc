#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/in_flight.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(InFlight, OfABackPressuredJobComesBackAtTheSameParallelism) {
  InFlightJob s;
  const std::string folder = s.cancelWithDataInFlight();
  const int64_t captured = s.capturedBytes(folder);
  EXPECT_GT(captured, 5'000);
  s.restoreFrom(folder);
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
  EXPECT_TRUE(*s.runs.back().inOrder) << "what was received, what was queued at the sender, what is new";
}

TEST(InFlight, ComesBackAtAnyOtherParallelism) {
  for (const auto edge : {Edge::kHash, Edge::kRebalance, Edge::kShuffle, Edge::kGlobal, Edge::kCustom, Edge::kUnion}) {
    for (const auto& [before, after] :
         {std::pair{Parallelism{2, 3}, Parallelism{2, 2}}, {{2, 2}, {2, 3}}, {{3, 2}, {1, 4}}, {{1, 4}, {3, 3}}}) {
      InFlightJob s(edge, before);
      const std::string folder = s.cancelWithDataInFlight();
      s.restoreFrom(folder, after);
      ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
      s.expectExactlyOnce();
    }
  }
}

TEST(InFlight, ComesBackOverRemoteChannelsAtAnyOtherParallelism) {
  for (const auto edge : {Edge::kHash, Edge::kRebalance, Edge::kCustom, Edge::kUnion}) {
    for (const auto& [before, after] : {std::pair{Parallelism{2, 3}, Parallelism{2, 3}}, {{2, 2}, {2, 3}}, {{3, 2}, {1, 4}}}) {
      InFlightJob s(edge, before);
      s.env.configure("minicluster.number-of-taskmanagers", "2");
      const std::string folder = s.cancelWithDataInFlight();
      s.restoreFrom(folder, after);
      s.env.configure("minicluster.number-of-taskmanagers", "2");
      ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
      s.expectExactlyOnce();
    }
  }
}

TEST(InFlight, OfRecordsLargerThanABufferIsPutTogetherAgain) {
  InFlightJob s(Edge::kHash, {2, 3}, 5000);
  s.restoreFrom(s.cancelWithDataInFlight(), {3, 2});
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(InFlight, SurvivesTwoRescalesInARow) {
  InFlightJob s(Edge::kHash, {2, 2});
  std::string folder = s.cancelWithDataInFlight();
  s.restoreFrom(folder, {3, 4});
  folder = s.cancelWithDataInFlight();
  s.restoreFrom(folder, {1, 3});
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(FailureMode, CheckpointBeforeRecoveryComplete) {
  // Checkpoints come every 100 ms while ten seconds of recovered data are worked off, and the job fails in the middle of it, twice.
  InFlightJob s(Edge::kHash, {2, 3}, 20, 1, 100 * kMillisecond);
  const std::string folder = s.cancelWithDataInFlight();
  s.restoreFrom(folder, {2, 3});
  s.env.configure("execution.checkpointing.interval", "100 ms");
  s.run(
      [&] {
        for (int round = 0; round < 2; ++round) {
          s.sleep(500 * kMillisecond);
          ASSERT_TRUE(s.kill("work", 1));
          ASSERT_TRUE(s.waitForJob(JobStatus::kRunning));
        }
      },
      false);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(FailureMode, HoursInRecoveryNoProgress) {
  // After a rescale the first checkpoint comes when all captured data has been processed; those before are declined, and a failure in the
  // middle begins from zero, and loses nothing.
  constexpr Nanos kCost = 20 * kMillisecond;
  InFlightJob s(Edge::kHash, {2, 3}, 20, 1, kCost);
  const std::string folder = s.cancelWithDataInFlight();
  const Nanos service = s.serviceTimeOfCaptured(folder, 2);
  EXPECT_GT(service, 500 * kMillisecond);
  s.restoreFrom(folder, {2, 2});
  s.env.configure("execution.checkpointing.interval", "10 ms");
  s.run(
      [&] {
        ASSERT_TRUE(s.waitUntil([&] { return s.allRunning(); }));
        s.sleep(service / 2);
        EXPECT_EQ(s.log().count("Completed checkpoint"), s.completedBefore);
        ASSERT_TRUE(s.kill("work", 0));
        const Nanos began = s.now();
        ASSERT_TRUE(s.waitUntil([&] { return s.log().count("Completed checkpoint") > s.completedBefore; }));
        EXPECT_GT(s.now() - began, service * 8 / 10);
        EXPECT_LT(s.now() - began, service * 3);
      },
      false);
  EXPECT_GT(s.log().count("Checkpoint was declined (tasks not ready)"), 0u);
  EXPECT_EQ(s.log().count("expired before completing"), 0u);
  ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(InFlight, SurvivesFailuresAtAnyTime) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    InFlightJob s(seed % 2 ? Edge::kHash : Edge::kUnion, {2, 3}, 20, seed);
    s.restoreFrom(s.cancelWithDataInFlight(), {2, static_cast<int32_t>(2 + seed % 3)});
    s.env.configure("execution.checkpointing.interval", "10 ms");
    Random random(seed);
    try {
      s.run(
          [&] {
            for (int kills = 0; kills < 3; ++kills) {
              s.sleep(static_cast<int64_t>(random.below(200)) * kMillisecond);
              s.kill(random.below(2) ? "work" : "count", static_cast<int32_t>(random.below(2)));
            }
          },
          false);
    } catch (const SimulationError& error) {
      const std::string log = s.log().text();
      FAIL() << "seed " << seed << "\n" << log.substr(log.size() - std::min<size_t>(log.size(), 6000)) << error.what();
    }
    ASSERT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
    s.expectExactlyOnce();
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(FailureMode, RecoveryLivelockLocalChannel) {
  // As few buffers as the tasks can start with, and much more captured data than that: recovery takes none of them.
  InFlightJob s;
  const std::string folder = s.cancelWithDataInFlight();
  s.restoreFrom(folder);
  s.env.configure("taskmanager.network.memory.floating-buffers-per-gate", "1")
      .configure("taskmanager.network.memory.buffers-per-channel", "1")
      .configure("taskmanager.network.memory.max-overdraft-buffers-per-gate", "0");
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(FailureMode, StatelessOperatorWithChannelState) {
  // source -> hash -> a map without state -> hash -> count: the map's in-flight data is state as well.
  InFlightJob s(Edge::kHash, {2, 4});
  const std::string folder = s.cancelWithDataInFlight();
  EXPECT_GT(s.capturedBytes(folder, "work"), 0);
  s.restoreFrom(folder, {2, 3});
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(FailureMode, CustomPartitionerRestore) {
  for (const int32_t after : {3, 5}) {
    InFlightJob s(Edge::kCustom, {2, 3});
    s.restoreFrom(s.cancelWithDataInFlight(), {2, after});
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
    s.expectExactlyOnce();
    s.expectAtTheirSubtask(after, [](const Row& row, int32_t n) { return static_cast<int32_t>(row.number % n); });
  }
}

TEST(FailureMode, MixedPointwiseAndHashEdges) {
  // The source's other output is a forward edge: without captured data it is not asked to redistribute any.
  InFlightJob s(Edge::kHashAndForward, {2, 2});
  s.restoreFrom(s.cancelWithDataInFlight(), {3, 3});
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(FailureMode, AmbiguousChannelRecordFilter) {
  for (const auto edge : {Edge::kHash, Edge::kRebalance, Edge::kShuffle}) {
    InFlightJob s(edge, {2, 4});
    s.restoreFrom(s.cancelWithDataInFlight(), {2, 6});
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
    s.expectExactlyOnce();
  }
}

TEST(FailureMode, RareLossOnDownscale) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    InFlightJob s(Edge::kUnion, {3, 7}, 20, seed);
    s.restoreFrom(s.cancelWithDataInFlight(), {3, 2});
    ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
    s.expectExactlyOnce();
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(FailureMode, MustScaleDownFromUnaligned) {
  InFlightJob s(Edge::kHash, {4, 8});
  s.restoreFrom(s.cancelWithDataInFlight(), {3, 6});
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  s.expectExactlyOnce();
}

TEST(FailureMode, RestoreWithoutInFlight) {
  InFlightJob s;
  const std::string folder = s.cancelWithDataInFlight();
  const auto damaged = s.damageALength(folder);
  s.restoreFrom(folder);
  EXPECT_EQ(s.run().status, JobStatus::kFailed);
  EXPECT_EQ(s.result.restarts, 0);
  EXPECT_THAT(s.failure(), AllOf(HasSubstr(damaged.path), HasSubstr(std::to_string(damaged.offset)), HasSubstr("of subtask")));

  s.restoreFrom(folder);
  s.env.configure("execution.state-recovery.without-channel-state.checkpoint-id", folder.substr(folder.rfind('-') + 1));
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  EXPECT_THAT(s.log().text(), HasSubstr("without its in-flight data"));
  s.expectLost();
}

TEST(FailureMode, RestoreWithoutInFlightFallsBackWhereItMay) {
  InFlightJob s;
  const std::string folder = s.cancelWithDataInFlight();
  const auto damaged = s.damageALength(folder);
  s.restoreFrom(folder);
  s.env.configure("weir.recovery.fall-back", "true");
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  EXPECT_THAT(s.log().text(), AllOf(HasSubstr("as weir.recovery.fall-back allows"), HasSubstr(damaged.path)));
}

TEST(FailureMode, ForwardAfterParallelismChange) {
  // An edge that nobody has chosen is a forward edge while both ends have the same parallelism. When that changes it becomes a rebalance:
  // all four consumers get rows, also of a checkpoint of before, whose forward edge holds none.
  std::map<int32_t, int> rowsOf;
  auto hooks = std::make_shared<ProbeHooks>();
  hooks->onRow = [&](ProbeContext& context, const Row&) { ++rowsOf[context.subtask]; };
  Scenario s;
  const auto program = [&](int32_t parallelism) {
    s.newProgram();
    s.env.configure("execution.checkpointing.unaligned.enabled", "true")
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    s.env.fromSource(SplitsReader(0, 500, 20), "source", 1000)
        .uid("source")
        .setParallelism(2)
        .map(Probe(hooks))
        .uid("b")
        .name("b")
        .setParallelism(parallelism)
        .disableChaining()
        .addSink([](const Row&) {});
  };
  std::string folder;
  program(2);
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    s.sleep(500 * kMillisecond);
    ASSERT_EQ(s.triggerCheckpoint(), 2);
    ASSERT_TRUE(s.waitForLog("Completed checkpoint 2 "));
    folder = s.folderOf(2);
  });
  EXPECT_EQ(rowsOf.size(), 2u);
  rowsOf.clear();
  program(4);
  s.env.configure("execution.state-recovery.path", folder).configure("execution.checkpointing.dir", "/restored");
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(rowsOf.size(), 4u);
  for (const auto& [subtask, rows] : rowsOf) EXPECT_GT(rows, 200) << subtask;
}

}  // namespace
}  // namespace weir
