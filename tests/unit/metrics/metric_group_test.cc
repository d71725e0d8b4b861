#include "weir/metrics/metric_group.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(MeterView, TellsTheRateOfTheLastMinute) {
  MeterView meter;
  for (int64_t second = 0; second <= 200; second += MeterView::kIntervalSeconds) meter.update(second * 30);
  EXPECT_DOUBLE_EQ(meter.rate(), 30);
}

TEST(MeterView, WithinItsFirstMinuteWhatIsMissingCountsAsZero) {
  MeterView meter;
  EXPECT_DOUBLE_EQ(meter.rate(), 0);
  meter.update(600);
  EXPECT_DOUBLE_EQ(meter.rate(), 10) << "600 within a minute";
}

TEST(MeterView, ForgetsWhatIsOlderThanAMinute) {
  MeterView meter;
  meter.update(600);
  for (int i = 0; i < 11; ++i) {
    meter.update(600);
    EXPECT_DOUBLE_EQ(meter.rate(), 10);
  }
  meter.update(600);
  EXPECT_DOUBLE_EQ(meter.rate(), 0);
}

TEST(MetricGroup, ReadsWhatIsSoNow) {
  MetricGroup group;
  int64_t length = 3;
  group.gauge("queue", [&] { return MetricValue(length); });
  group.gauge("a ratio", [] { return MetricValue(0.5); });
  length = 4;
  const auto all = group.read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a ratio") << "by name";
  EXPECT_DOUBLE_EQ(asDouble(all[0].value), 0.5);
  EXPECT_EQ(std::get<int64_t>(all[1].value), 4);
  EXPECT_FALSE(group.read("something else"));
}

TEST(MetricGroup, ACounterWithARateHasBoth) {
  MetricGroup group;
  int64_t count = 0;
  group.counterAndRate("numBytesIn", [&] { return count; });
  count = 120;
  EXPECT_EQ(std::get<int64_t>(*group.read("numBytesIn")), 120);
  EXPECT_DOUBLE_EQ(asDouble(*group.read("numBytesInPerSecond")), 0) << "not looked at yet";
  group.update();
  EXPECT_DOUBLE_EQ(asDouble(*group.read("numBytesInPerSecond")), 2);
}

TEST(MetricGroup, ClosedItAsksNobody) {
  MetricGroup group;
  int asked = 0;
  group.counterAndRate("count", [&] { return ++asked; });
  group.close();
  group.update();
  EXPECT_TRUE(group.read().empty());
  EXPECT_FALSE(group.read("count"));
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace weir
