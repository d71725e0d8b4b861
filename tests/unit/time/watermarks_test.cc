#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/operator_harness.h"
#include "weir/operators/watermarks.h"

// Where watermarks come from.
namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using weir::testing::HarnessOptions;
using weir::testing::OperatorHarness;
using weir::testing::OperatorMachine;

template <class Generator, class Assigner>
class Stream : private OperatorMachine, public OperatorHarness<int64_t> {
 public:
  explicit Stream(WatermarkStrategyOf<Generator, Assigner> strategy, Millis interval = Millis(200))
      : OperatorHarness<int64_t>(
            static_cast<OperatorMachine&>(*this),
            [strategy](OperatorSetup setup) {
              return std::make_unique<TimestampsAndWatermarksOperator<int64_t, Generator, Assigner>>(std::move(setup), strategy);
            },
            HarnessOptions{.autoWatermarkInterval = interval}) {
    start();
  }
  void record(int64_t value, int64_t timestamp) { processRecords({{value, timestamp}}); }
  void at(int64_t time) { this->time().advanceTo(time); }
};

TEST(WatermarksTest, ABoundedGeneratorIsTheBoundAndOneBehindTheHighestTimestamp) {
  Stream s(WatermarkStrategy::forBoundedOutOfOrderness(Millis(1000)));
  s.record(1, 5000);
  s.at(199);
  EXPECT_THAT(s.takeElements(), ElementsAre("1@5000")) << "not before the tick";
  s.at(200);
  EXPECT_THAT(s.takeElements(), ElementsAre("Watermark @ 3999"));
  s.record(2, 4000);
  s.at(400);
  EXPECT_THAT(s.takeElements(), ElementsAre("2@4000")) << "not where nothing advances";
  s.record(3, 6000);
  s.at(600);
  EXPECT_THAT(s.takeElements(), ElementsAre("3@6000", "Watermark @ 4999"));
}

TEST(WatermarksTest, NothingIsSaidBeforeTheFirstRecordAndNothingPeriodicWithAnIntervalOfZero) {
  Stream s(WatermarkStrategy::forMonotonousTimestamps());
  s.at(400);
  EXPECT_THAT(s.takeElements(), IsEmpty());
  Stream never(WatermarkStrategy::forMonotonousTimestamps(), Millis(0));
  never.record(1, 100);
  never.at(1000);
  EXPECT_THAT(never.takeElements(), ElementsAre("1@100"));
}

TEST(WatermarksTest, AnAssignerReplacesTheTimestampAndARecordWithoutOneGetsTheSmallest) {
  Stream s(WatermarkStrategy::forMonotonousTimestamps().withTimestampAssigner([](int64_t value) { return value * 10; }));
  s.record(7, 99);
  s.at(200);
  EXPECT_THAT(s.takeElements(), ElementsAre("7@70", "Watermark @ 69"));
  Stream none(WatermarkStrategy::forMonotonousTimestamps());
  none.process({7});
  none.at(200);
  EXPECT_THAT(none.takeElements(), ElementsAre("7@-9223372036854775808"));
}

TEST(WatermarksTest, AWatermarkOfARecordComesRightBehindItAlsoInsideABatch) {
  Stream s(WatermarkStrategy::forEveryRecord(Millis(10)));
  s.processRecords({{1, 100}, {2, 95}, {3, 120}, {4, 90}});
  EXPECT_THAT(s.takeElements(), ElementsAre("1@100", "Watermark @ 89", "2@95", "3@120", "Watermark @ 109", "4@90"));
}

TEST(WatermarksTest, WatermarksFromUpstreamEndHereButForMax) {
  Stream s(WatermarkStrategy::forMonotonousTimestamps());
  s.record(1, 5);
  s.watermark(100);
  s.status(true);
  s.at(200);
  s.watermark(kMaxWatermark);
  s.record(2, 200);
  s.at(400);
  EXPECT_THAT(s.takeElements(), ElementsAre("1@5", "Watermark @ 4", "Watermark @ end", "2@200"));
}

TEST(WatermarksTest, ACustomGeneratorSpeaksWhenItWants) {
  struct EveryThird {
    int64_t seen = 0;
    void onEvent(int64_t, int64_t timestamp, WatermarkOutput& output) {
      if (++seen % 3 == 0) output.emitWatermark(timestamp);
    }
    void onPeriodicEmit(WatermarkOutput&) {}
  };
  Stream s(WatermarkStrategy::forGenerator(EveryThird{}));
  s.processRecords({{1, 10}, {2, 20}, {3, 30}, {4, 40}});
  EXPECT_THAT(s.takeElements(), ElementsAre("1@10", "2@20", "3@30", "Watermark @ 30", "4@40"));
}

TEST(WatermarksTest, IdlenessDetectionDelay) {
  // The clock starts at the first look that finds nothing, and compares strictly: with a timeout of 10 ms and a look every 5 ms a stream
  // is idle 21 ms after its last record, not after 11 and not after 16.
  Stream s(WatermarkStrategy::forMonotonousTimestamps().withIdleness(Millis(10)), Millis(5));
  s.at(5);
  s.at(9);
  s.record(1, 100);
  s.at(10);  // 1 ms after it
  EXPECT_THAT(s.takeElements(), ElementsAre("1@100", "Watermark @ 99"));
  for (const int64_t after : {6, 11, 16}) {
    s.at(9 + after);
    EXPECT_THAT(s.takeElements(), IsEmpty()) << after;
  }
  s.at(9 + 21);
  EXPECT_THAT(s.takeElements(), ElementsAre("WatermarkStatus(IDLE)"));
}

TEST(WatermarksTest, AfterIdlenessTheNextWatermarkIsPrecededByActive) {
  Stream s(WatermarkStrategy::forMonotonousTimestamps().withIdleness(Millis(500)));
  s.record(1, 5);
  for (int64_t time = 200; time <= 800; time += 200) s.at(time);
  EXPECT_THAT(s.takeElements(), ElementsAre("1@5", "Watermark @ 4"));
  for (int64_t time = 1000; time <= 1600; time += 200) s.at(time);
  EXPECT_THAT(s.takeElements(), ElementsAre("WatermarkStatus(IDLE)")) << "once";
  s.record(2, 6);
  s.at(1800);
  EXPECT_THAT(s.takeElements(), ElementsAre("2@6", "WatermarkStatus(ACTIVE)", "Watermark @ 5"));
}

TEST(WatermarksTest, AnIdleStreamThatEndsIsActiveAgain) {
  Stream s(WatermarkStrategy::forMonotonousTimestamps().withIdleness(Millis(500)));
  for (int64_t time = 200; time <= 800; time += 200) s.at(time);
  s.watermark(kMaxWatermark);
  EXPECT_THAT(s.takeElements(), ElementsAre("WatermarkStatus(IDLE)", "WatermarkStatus(ACTIVE)", "Watermark @ end"));
}

TEST(WatermarksTest, IdleWhileBackPressured) {
  // Ten seconds without a record, nine and a half of them because nobody took the output: that is not idleness.
  Stream s(WatermarkStrategy::forMonotonousTimestamps().withIdleness(Millis(5000)));
  s.record(1, 5);
  s.at(200);
  s.at(400);
  s.time().pause(Millis(9500));
  s.at(10'000);
  EXPECT_THAT(s.takeElements(), ElementsAre("1@5", "Watermark @ 4"));
  s.at(15'000);
  EXPECT_THAT(s.takeElements(), ElementsAre("WatermarkStatus(IDLE)")) << "now it has had its time";
}

TEST(WatermarksTest, AggressiveIdlenessLosesData) {
  // Between two looks the subtask is busy with one record for 3 s. It has had a record: it is not idle, whatever the timeout.
  Stream s(WatermarkStrategy::forMonotonousTimestamps().withIdleness(Millis(1000)));
  for (int64_t i = 1; i <= 10; ++i) {
    s.record(i, i * 100);
    s.at(i * 3000);
  }
  EXPECT_THAT(s.takeElements(), ::testing::Not(::testing::Contains("WatermarkStatus(IDLE)")));
}

TEST(WatermarksTest, StrategiesThatCannotBeAreRefused) {
  EXPECT_THROW(WatermarkStrategy::forBoundedOutOfOrderness(Millis(-1)), Throwable);
  EXPECT_THROW(WatermarkStrategy::noWatermarks().withIdleness(Millis(0)), Throwable);
}

}  // namespace
}  // namespace weir
