#include "weir/metrics/latency_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "weir/base/random.h"

namespace weir {
namespace {

TEST(LatencyHistogram, SmallValuesAreExact) {
  LatencyHistogram histogram;
  for (int64_t i = 0; i <= 255; ++i) histogram.record(i);
  for (int64_t i = 0; i <= 255; ++i) EXPECT_EQ(histogram.quantile(static_cast<double>(i + 1) / 256), i);
}

TEST(LatencyHistogram, EveryPercentileIsRightToAHundredTwentyEighthOfItself) {
  Random random(7, "latencies");
  std::vector<int64_t> values;
  LatencyHistogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<int64_t>(random.next() >> (16 + random.below(40))));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(share * static_cast<double>(values.size()) - 1e-6)));
    const int64_t truth = values[rank - 1], told = histogram.quantile(share);
    EXPECT_GE(told, truth);
    EXPECT_LE(told, truth + truth / 128 + 1) << share;
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(LatencyHistogram, WhatIsOutOfRangeCountsAtTheEdge) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.quantile(0.5), 0);
  histogram.record(-5);
  histogram.record(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_EQ(histogram.quantile(1), (int64_t{1} << 48) - 1);
  EXPECT_EQ(histogram.count(), 2);
}

TEST(LatencyHistogram, TwoAddUp) {
  LatencyHistogram a, b;
  for (int i = 0; i < 10; ++i) a.record(10), b.record(1'000'000);
  a.add(b);
  EXPECT_EQ(a.count(), 20);
  EXPECT_EQ(a.quantile(0.5), 10);
  EXPECT_EQ(a.max(), 1'000'000);
}

}  // namespace
}  // namespace weir
