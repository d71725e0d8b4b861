#include "checkpoint_fixture.h"

// Which request runs next, and when none may.
namespace weir::checkpointtest {
namespace {

using namespace std::chrono_literals;

CheckpointTriggerRequest request(SnapshotType type, bool periodic, bool forced, Nanos at, std::vector<Reason>* failed = nullptr) {
  CheckpointTriggerRequest r;
  r.properties.type = type;
  r.properties.forced = forced;
  r.periodic = periodic;
  r.requestedAt = at;
  if (failed)
    r.done = [failed](const CheckpointOutcome& o) { failed->push_back(std::get<std::shared_ptr<const CheckpointException>>(o)->reason()); };
  return r;
}

struct DeciderTest : testing::Test {
  ManualClock clock;
  MemoryLogSink log{clock};
  std::vector<Nanos> rescheduled;
  CheckpointRequestDecider decider{log, clock, 1, 50ms, [this](Nanos delay) { rescheduled.push_back(delay); }, 4};
};

TEST_F(DeciderTest, SavepointsThenForcedThenOnDemandThenPeriodicThenByTime) {
  decider.submit(request(SnapshotType::kCheckpoint, true, false, 1ms));
  decider.submit(request(SnapshotType::kCheckpoint, false, false, 4ms));
  decider.submit(request(SnapshotType::kCheckpoint, false, false, 3ms));
  decider.submit(request(SnapshotType::kSavepoint, false, true, 5ms));
  std::vector<Nanos> order;
  while (auto next = decider.choose({})) order.push_back(next->requestedAt);
  EXPECT_EQ(order, (std::vector<Nanos>{5ms, 3ms, 4ms, 1ms}));
}

TEST_F(DeciderTest, NothingWhileATriggerIsInProgressOrTooMuchIsBeingCleaned) {
  decider.submit(request(SnapshotType::kSavepoint, false, true, 0ms));
  EXPECT_FALSE(decider.choose({.triggering = true}));
  EXPECT_FALSE(decider.choose({.cleaning = 2}));
  EXPECT_TRUE(decider.choose({.cleaning = 1}));
}

TEST_F(DeciderTest, AtTheLimitOnlyAForcedRequestRuns) {
  decider.submit(request(SnapshotType::kCheckpoint, false, false, 0ms));
  EXPECT_FALSE(decider.choose({.pending = 1}));
  EXPECT_EQ(decider.queued(), 1u) << "it stays queued";
  decider.submit(request(SnapshotType::kSavepoint, false, true, 1ms));
  EXPECT_TRUE(decider.choose({.pending = 1}));
}

TEST_F(DeciderTest, AnUnforcedSavepointWaits) {
  decider.submit(request(SnapshotType::kSavepoint, false, false, 1ms));
  EXPECT_FALSE(decider.choose({.pending = 1}));
  EXPECT_TRUE(decider.choose({.pending = 0}));
}

TEST_F(DeciderTest, TooEarlyFailsTheRequestAndSetsTheTimer) {
  std::vector<Reason> failed;
  clock.now = 120ms;
  decider.submit(request(SnapshotType::kCheckpoint, true, false, 120ms, &failed));
  EXPECT_FALSE(decider.choose({.lastCompletion = 100ms}));
  EXPECT_EQ(failed, (std::vector{Reason::kMinimumTimeBetweenCheckpoints}));
  EXPECT_EQ(rescheduled, (std::vector<Nanos>{30ms}));
  EXPECT_EQ(decider.queued(), 0u);
}

TEST_F(DeciderTest, AFullQueueDropsAPeriodicRequestFirst) {
  std::vector<Reason> periodic, late;
  decider.submit(request(SnapshotType::kCheckpoint, true, false, 0ms, &periodic));
  for (int i = 1; i < 4; ++i) decider.submit(request(SnapshotType::kCheckpoint, false, false, i * 1ms));
  EXPECT_TRUE(decider.submit(request(SnapshotType::kCheckpoint, false, false, 9ms, &late)));
  EXPECT_EQ(periodic, (std::vector{Reason::kTooManyCheckpointRequests}));
  EXPECT_TRUE(late.empty());
  EXPECT_FALSE(decider.submit(request(SnapshotType::kSavepoint, false, true, 10ms, &late)));
  EXPECT_EQ(late, (std::vector{Reason::kTooManyCheckpointRequests})) << "only on-demand ones are left: the new one fails";
  EXPECT_EQ(decider.queued(), 4u);
}

TEST_F(DeciderTest, LongWaitsAreLogged) {
  decider.submit(request(SnapshotType::kCheckpoint, false, false, 0ms));
  clock.now = 100ms;
  decider.submit(request(SnapshotType::kCheckpoint, false, false, 0ms));
  decider.choose({});
  EXPECT_EQ(log.count("checkpoint request time in queue"), 0u);
  clock.now = 2013ms;
  decider.choose({});
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_EQ(log.lines()[0].message, "checkpoint request time in queue: 2013");
  EXPECT_EQ(log.lines()[0].logger, "org.apache.flink.runtime.checkpoint.CheckpointRequestDecider");
}

TEST(CheckpointQueue, RequestsThatFallDueDuringALongCheckpointRunAfterIt) {
  // max-concurrent 1 and a checkpoint lasting 25 s: due at 10 and 20 stay queued; one runs at 25, the other when that one is done.
  Job job(every(10s));
  job.coordinator->startCheckpointScheduler();
  job.coordinator->startCheckpointScheduler();
  job.advance(25s);
  EXPECT_EQ(job.lastTriggered(), 1);
  EXPECT_EQ(job.coordinator->queuedRequests(), 2u);
  job.complete(1);
  EXPECT_EQ(job.lastTriggered(), 2);
  job.advance(1s);
  job.complete(2);
  EXPECT_EQ(job.lastTriggered(), 3);
}

TEST(CheckpointQueue, CleaningHoldsBackNewCheckpoints) {
  auto config = every(3600s);
  Job job(config);
  const auto trigger = [&] { job.coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, nullptr); };
  for (int64_t id = 1; id <= 2; ++id) {  // two aborted ones whose folders are not deleted yet
    trigger();
    job.io.workOne(job.io.waiting() - 1);
    job.io.deliverOne();
    job.coordinator->abortPendingCheckpoints(Reason::kJobFailoverRegion);
  }
  EXPECT_EQ(job.coordinator->checkpointsBeingCleaned(), 2);
  trigger();
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 0);
  job.io.workOne();
  job.io.deliverOne();
  EXPECT_EQ(job.coordinator->pendingCheckpoints(), 1) << "more than max-concurrent being cleaned no longer";
}

}  // namespace
}  // namespace weir::checkpointtest
