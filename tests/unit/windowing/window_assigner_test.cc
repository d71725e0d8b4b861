#include "weir/windowing/window_assigner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "print_window.h"
#include "weir/base/error.h"
#include "weir/base/random.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Windows = std::vector<TimeWindow>;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

Windows assign(const WindowAssignerResult& assigner, int64_t timestamp, int64_t now = 0) {
  Windows windows;
  (*assigner)->assignWindows(ElementRef(timestamp), timestamp, now, windows);
  return windows;
}
std::string mistake(const WindowAssignerResult& assigner) { return assigner.has_error() ? assigner.error().message : "none"; }

TEST(TumblingEventTimeWindows, HoldTheirStartAndNotTheirEnd) {
  const auto windows = TumblingEventTimeWindows::of(Millis(1000));
  EXPECT_THAT(assign(windows, 0), ElementsAre(TimeWindow{0, 1000}));
  EXPECT_THAT(assign(windows, 999), ElementsAre(TimeWindow{0, 1000}));
  EXPECT_THAT(assign(windows, 1000), ElementsAre(TimeWindow{1000, 2000}));
}

TEST(TumblingEventTimeWindows, BeforeTheEpochRoundDownToo) {
  const auto windows = TumblingEventTimeWindows::of(Millis(1000));
  EXPECT_THAT(assign(windows, -1), ElementsAre(TimeWindow{-1000, 0}));
  EXPECT_THAT(assign(windows, -1000), ElementsAre(TimeWindow{-1000, 0}));
  EXPECT_THAT(assign(windows, -1001), ElementsAre(TimeWindow{-2000, -1000}));
}

TEST(TumblingEventTimeWindows, AnOffsetShiftsTheGrid) {
  EXPECT_THAT(assign(TumblingEventTimeWindows::of(Millis(1000), Millis(250)), 249), ElementsAre(TimeWindow{-750, 250}));
  EXPECT_THAT(assign(TumblingEventTimeWindows::of(Millis(1000), Millis(250)), 250), ElementsAre(TimeWindow{250, 1250}));
  EXPECT_THAT(assign(TumblingEventTimeWindows::of(Millis(1000), Millis(-300)), 699), ElementsAre(TimeWindow{-300, 700}));
  EXPECT_THAT(assign(TumblingEventTimeWindows::of(Millis(1000), Millis(200)), -801), ElementsAre(TimeWindow{-1800, -800}));
}

TEST(TumblingEventTimeWindows, AtTheEndOfTimeTheEndOfAWindowWrapsAroundAsInJava) {
  EXPECT_THAT(assign(TumblingEventTimeWindows::of(Millis(1000)), kMax - 1),
              ElementsAre(TimeWindow{9223372036854775000, -9223372036854775616}));
}

TEST(TumblingEventTimeWindows, ARecordWithoutTimestampFailsTheTask) {
  try {
    assign(TumblingEventTimeWindows::of(Millis(1000)), kMin);
    FAIL();
  } catch (const Throwable& failure) {
    EXPECT_EQ(failure.className(), "java.lang.RuntimeException");
    EXPECT_EQ(failure.message(),
              "Record has Long.MIN_VALUE timestamp (= no timestamp marker). Did you forget to call "
              "'DataStream.assignTimestampsAndWatermarks(...)'?");
  }
}

TEST(SlidingEventTimeWindows, AnElementIsInOneWindowPerSlide) {
  EXPECT_THAT(assign(SlidingEventTimeWindows::of(Millis(1000), Millis(500)), 999), ElementsAre(TimeWindow{500, 1500}, TimeWindow{0, 1000}));
  EXPECT_THAT(assign(SlidingEventTimeWindows::of(Millis(1000), Millis(500)), -501),
              ElementsAre(TimeWindow{-1000, 0}, TimeWindow{-1500, -500}));
}

TEST(SlidingEventTimeWindows, WhoseSizeIsNoMultipleOfTheSlideDifferInHowManyHoldAnElement) {
  EXPECT_EQ(assign(SlidingEventTimeWindows::of(Millis(1000), Millis(300)), 0).size(), 4u);
  EXPECT_EQ(assign(SlidingEventTimeWindows::of(Millis(1000), Millis(300)), 299).size(), 3u);
}

TEST(SlidingEventTimeWindows, WithASlideAboveTheSizeHaveGaps) {
  const auto windows = SlidingEventTimeWindows::of(Millis(300), Millis(1000));
  EXPECT_THAT(assign(windows, 299), ElementsAre(TimeWindow{0, 300}));
  EXPECT_THAT(assign(windows, 300), IsEmpty());
}

TEST(ProcessingTimeWindows, GoByTheClockAndNotByTheTimestamp) {
  EXPECT_THAT(assign(TumblingProcessingTimeWindows::of(Millis(1000)), kMin, 1500), ElementsAre(TimeWindow{1000, 2000}));
  EXPECT_THAT(assign(TumblingProcessingTimeWindows::of(Millis(1000), Millis(300)), 77, 299), ElementsAre(TimeWindow{-700, 300}));
  EXPECT_THAT(assign(SlidingProcessingTimeWindows::of(Millis(1000), Millis(500)), kMin, 100),
              ElementsAre(TimeWindow{0, 1000}, TimeWindow{-500, 500}));
  EXPECT_THAT(assign(ProcessingTimeSessionWindows::withGap(Millis(100)), 5, 1000), ElementsAre(TimeWindow{1000, 1100}));
}

TEST(SessionWindows, BeginWithTheElementAndEndAfterTheGap) {
  EXPECT_THAT(assign(EventTimeSessionWindows::withGap(Millis(100)), 42), ElementsAre(TimeWindow{42, 142}));
  EXPECT_TRUE((*EventTimeSessionWindows::withGap(Millis(100)))->isMerging());
}

TEST(SessionWindows, AnElementMayBringItsOwnGap) {
  const auto windows = DynamicSessionWindows::withDynamicGap<int64_t>([](const int64_t& value) { return Millis(value * 2); });
  EXPECT_THAT(assign(windows, 10), ElementsAre(TimeWindow{10, 30}));
  EXPECT_THROW(assign(windows, 0), Throwable);
  const auto byClock =
      DynamicSessionWindows::withDynamicGap<int64_t>([](const int64_t& value) { return Millis(value); }, TimeKind::kProcessingTime);
  EXPECT_THAT(assign(byClock, 10, 500), ElementsAre(TimeWindow{500, 510}));
}

TEST(GlobalWindows, AreOneWindowThatEndsWithTime) {
  EXPECT_THAT(assign(GlobalWindows::create(), 5), ElementsAre(kGlobalWindow));
  EXPECT_EQ(kGlobalWindow.maxTimestamp(), kMax);
}

TEST(WindowParameters, ThatCannotBeAreRefusedWithFlinksSentence) {
  EXPECT_THAT(mistake(TumblingEventTimeWindows::of(Millis(0))),
              HasSubstr("TumblingEventTimeWindows parameters must satisfy abs(offset) < size"));
  EXPECT_THAT(mistake(TumblingEventTimeWindows::of(Millis(-5))), HasSubstr("size is -5 ms"));
  EXPECT_THAT(mistake(TumblingEventTimeWindows::of(Millis(10), Millis(10))), HasSubstr("offset 10 ms"));
  EXPECT_THAT(mistake(TumblingEventTimeWindows::of(Millis(10), Millis(-10))), HasSubstr("abs(offset) < size"));
  EXPECT_EQ(mistake(TumblingEventTimeWindows::of(Millis(10), Millis(-9))), "none");
  EXPECT_THAT(mistake(TumblingProcessingTimeWindows::of(Millis(0))), HasSubstr("TumblingProcessingTimeWindows parameters must satisfy"));
  EXPECT_THAT(mistake(SlidingEventTimeWindows::of(Millis(10), Millis(0))),
              HasSubstr("SlidingEventTimeWindows parameters must satisfy abs(offset) < slide and size > 0"));
  EXPECT_THAT(mistake(SlidingProcessingTimeWindows::of(Millis(0), Millis(5))), HasSubstr("SlidingProcessingTimeWindows parameters"));
  EXPECT_THAT(mistake(EventTimeSessionWindows::withGap(Millis(0))), HasSubstr("EventTimeSessionWindows parameters must satisfy 0 < size"));
  EXPECT_THAT(mistake(ProcessingTimeSessionWindows::withGap(Millis(-1))), HasSubstr("ProcessingTimeSessionWindows parameters"));
}

TEST(WindowGrid, ACursorSaysTheSameAsTheDivision) {
  Random random(11);
  const WindowGrid grid{70, 30, 7};
  WindowGrid::Cursor cursor(grid);
  for (int i = 0; i < 10'000; ++i) {
    int64_t time = static_cast<int64_t>(random.below(2000)) - 1000;
    if (random.below(20) == 0) time = random.below(2) ? kMin + 1 + time + 1000 : kMax - 1000 + time;
    ASSERT_EQ(cursor.startOf(time), WindowGrid::windowStart(time, grid.offset, grid.slide)) << time;
  }
}

}  // namespace
}  // namespace weir
