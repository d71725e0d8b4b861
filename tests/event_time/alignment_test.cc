#include <gtest/gtest.h>

#include "event_time/windowed_job.h"
#include "weir/time/watermark_alignment.h"

// Sources that wait for each other.
namespace weir {
namespace {

struct EveryTenMillis {
  int64_t key;
  Event operator()(int64_t index) const { return Event{key, index * 10, 1}; }
};

/// A fast source and a slow one, both 10 ms of event time a record. How far the fast one was ahead at most.
int64_t largestLead(bool aligned) {
  Scenario s;
  s.env.configure("pipeline.auto-watermark-interval", "20 ms");
  auto last = std::make_shared<std::map<int64_t, int64_t>>();
  auto lead = std::make_shared<int64_t>(0);
  const auto source = [&](int64_t key, int64_t count, double rate) {
    auto strategy = WatermarkStrategy::forMonotonousTimestamps().withTimestampAssigner(&Event::time);
    if (aligned) strategy = strategy.withWatermarkAlignment("both", Millis(2000), Millis(100));
    return s.env.fromGenerator(count, EveryTenMillis{key}, rate).assignTimestampsAndWatermarks(strategy);
  };
  source(0, 2000, 1000).rebalance().unionWith(source(1, 1000, 100).rebalance()).addSink([=](const Event& event) {
    (*last)[event.key] = event.time;
    if (last->size() == 2 && (*last)[1] < 9000) *lead = std::max(*lead, (*last)[0] - (*last)[1]);
  });
  EXPECT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ((*last)[0], 19'990) << "the fast one comes to its end all the same";
  return *lead;
}

TEST(WatermarkAlignment, TheFastSourceStaysWithinTheDriftOfTheSlowOne) {
  EXPECT_GT(largestLead(false), 15'000);
  // What it reads between two watermarks and until it has asked for the others comes on top.
  EXPECT_LT(largestLead(true), 2000 + 1500);
}

// alignment-without-split
TEST(WatermarkAlignment, AlignmentWithoutSplit) {
  Scenario s;
  auto rows = std::make_shared<int64_t>(0);
  s.env.fromGenerator(3, EveryTenMillis{0}, 100)  // four subtasks: one has nothing
      .setParallelism(4)
      .assignTimestampsAndWatermarks(
          WatermarkStrategy::forMonotonousTimestamps().withTimestampAssigner(&Event::time).withWatermarkAlignment("g", Millis(1000)))
      .setParallelism(4)
      .addSink([rows](const Event&) { ++*rows; });
  ASSERT_EQ(s.run().status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(*rows, 3);
}

TEST(WatermarkAlignment, OnlyASourceCanWait) {
  Scenario s;
  s.env.fromGenerator(3, EveryTenMillis{0})
      .rebalance()
      .assignTimestampsAndWatermarks(
          WatermarkStrategy::forMonotonousTimestamps().withTimestampAssigner(&Event::time).withWatermarkAlignment("g", Millis(1000)))
      .addSink([](const Event&) {});
  ASSERT_EQ(s.run().status, JobStatus::kFailed);
  EXPECT_NE(s.failure().find("Watermark alignment holds back a source"), std::string::npos) << s.failure();
}

ExecutionAttemptID attempt(int32_t subtask, int32_t number = 0) {
  return {ExecutionGraphID::of(0, 1), JobVertexID::of(0, 2), subtask, number};
}
WatermarkReport at(int64_t watermark, bool idle = false) { return {"g", watermark, idle, 100}; }

TEST(WatermarkAlignment, TheSlowestThatIsNeitherIdleNorAtItsEndSaysHowFarAllMayGo) {
  WatermarkAligner aligner;
  EXPECT_EQ(aligner.report(attempt(0), at(500)), 600);
  EXPECT_EQ(aligner.report(attempt(1), at(50)), 150);
  EXPECT_EQ(aligner.report(attempt(0), at(500)), 150);
  EXPECT_EQ(aligner.report(attempt(1), at(50, true)), 600) << "idle";
  EXPECT_EQ(aligner.report(attempt(1, 1), at(80)), 180) << "a new attempt";
  EXPECT_EQ(aligner.report(attempt(1, 1), at(kMaxWatermark)), 600) << "ended";
  EXPECT_EQ(aligner.report(attempt(0), at(kMaxWatermark)), kMaxWatermark);
  EXPECT_EQ(aligner.report(attempt(0), {"other", 1, false, 5}), 6) << "groups have nothing to do with each other";
}

}  // namespace
}  // namespace weir
