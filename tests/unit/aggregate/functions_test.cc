#include <gtest/gtest.h>

#include "support/aggregate_laws.h"
#include "weir/aggregate/collections.h"
#include "weir/aggregate/distinct.h"
#include "weir/aggregate/percentile.h"

namespace weir {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Order {
  std::string user;
  int64_t amount = 0, pieces = 1;
  WEIR_FIELDS(user, amount, pieces)
};

TEST(AggregateFunctions, TakeAPartOfEachRecord) {
  const std::vector<Order> orders{{"a", 3, 2}, {"b", 4, 5}};
  EXPECT_EQ(aggregateAll(on(&Order::amount, Sum<int64_t>()), orders), 7);
  EXPECT_EQ(aggregateAll(on<Order>([](const Order& o) { return o.amount * o.pieces; }, Sum<int64_t>()), orders), 26);
  EXPECT_TRUE((MergeableAggregate<decltype(on(&Order::amount, Sum<int64_t>()))>));
  EXPECT_FALSE((MergeableAggregate<decltype(on<Order>([](const Order&) { return 1.0; }, ExponentialAverage()))>));
}

TEST(AggregateFunctions, SumWrapsLikeJava) {
  EXPECT_EQ(aggregateAll(Sum<int32_t>(), std::vector<int32_t>{std::numeric_limits<int32_t>::max(), 1}),
            std::numeric_limits<int32_t>::min());
  EXPECT_EQ(aggregateAll(Sum<int8_t>(), std::vector<int8_t>{100, 100}), -56);
}

TEST(AggregateFunctions, AverageOfWholeNumbersIsADouble) {
  EXPECT_EQ(aggregateAll(Avg<int64_t>(), std::vector<int64_t>{1, 2}), 1.5);
  EXPECT_EQ(aggregateAll(Avg<int32_t>(), std::vector<int32_t>{2'000'000'000, 2'000'000'000}), 2e9);
  EXPECT_TRUE(std::isnan(Avg<double>().getResult({})));
}

TEST(AggregateFunctions, CompensatedSumKeepsWhatASumLoses) {
  const std::vector<double> values{1e16, 1, 1, -1e16};
  EXPECT_EQ(aggregateAll(CompensatedSum(), values), 2);
  EXPECT_NE(aggregateAll(Sum<double>(), values), 2);
  EXPECT_EQ(aggregateAll(CompensatedSum(), std::vector<double>{1e308, 1e308}), std::numeric_limits<double>::infinity());
}

TEST(AggregateFunctions, MinAndMaxPutNegativeZeroFirstAndNanLast) {
  EXPECT_TRUE(std::signbit(aggregateAll(Min<double>(), std::vector<double>{0.0, -0.0})));
  EXPECT_EQ(aggregateAll(Min<double>(), std::vector<double>{kNan, 5.0}), 5.0);
  EXPECT_TRUE(std::isnan(aggregateAll(Max<double>(), std::vector<double>{kNan, 5.0})));
  EXPECT_THROW(Max<int64_t>().getResult({}), Throwable);
}

TEST(AggregateFunctions, FirstByTimeIsTheMinOfPairs) {
  using Timed = std::pair<int64_t, std::string>;
  EXPECT_EQ(aggregateAll(Min<Timed>(), std::vector<Timed>{{20, "late"}, {10, "early"}}).second, "early");
}

TEST(AggregateFunctions, VarianceOfAPopulationAndOfASample) {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(aggregateAll(Variance<>(), values), 4);
  EXPECT_DOUBLE_EQ(aggregateAll(Variance<true>(), values), 32.0 / 7);
  EXPECT_TRUE(std::isnan(aggregateAll(Variance<true>(), std::vector<double>{1})));
}

TEST(AggregateFunctions, VarianceDoesNotCancel) {
  EXPECT_NEAR(aggregateAll(Variance<>(), std::vector<double>{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}), 22.5, 1e-6);
}

TEST(AggregateFunctions, DistinctCountsNanOnceAndZerosTwice) {
  EXPECT_EQ(aggregateAll(DistinctExact<double>(), std::vector<double>{kNan, kNan, 0.0, -0.0, 0.0}), 3);
  EXPECT_EQ(aggregateAll(DistinctExact<std::string>(), std::vector<std::string>{"x", "y", "x"}), 2);
}

TEST(AggregateFunctions, SketchIsWithinThreeStandardErrors) {
  for (int64_t distinct : {1, 100, 5'000, 20'000, 300'000}) {
    const DistinctSketch<int64_t> sketch;
    auto acc = sketch.createAccumulator();
    for (int64_t i = 0; i < distinct; ++i) sketch.add(acc, i * 7919);
    EXPECT_NEAR(static_cast<double>(sketch.getResult(acc)), static_cast<double>(distinct), 3 * 1.04 / 64 * static_cast<double>(distinct))
        << distinct;
  }
}

TEST(AggregateFunctions, SketchesOfStringsAreTheSameOnEveryMachine) {
  const DistinctSketch<std::string> sketch;
  auto acc = sketch.createAccumulator();
  for (const char* word : {"a", "b", "the", "quick brown fox"}) sketch.add(acc, word);
  EXPECT_EQ(sketch.getResult(acc), 4);
}

TEST(AggregateFunctions, PercentileIsWithinItsRelativeAccuracy) {
  for (double quantile : {0.0, 0.25, 0.5, 0.99, 1.0}) {
    const Percentile percentile{.quantile = quantile, .accuracy = 0.01};
    auto acc = percentile.createAccumulator();
    for (int i = -5000; i <= 5000; ++i) percentile.add(acc, i);
    const double right = -5000 + quantile * 10000;
    EXPECT_NEAR(percentile.getResult(acc), right, std::fabs(right) * 0.0101) << quantile;
  }
  EXPECT_TRUE(std::isnan(Percentile().getResult({})));
}

TEST(AggregateFunctions, TopNKeepsTies) {
  EXPECT_EQ(aggregateAll(TopN<int64_t>{.n = 3}, std::vector<int64_t>{5, 9, 9, 1, 7}), (std::vector<int64_t>{9, 9, 7}));
  EXPECT_TRUE(aggregateAll(TopN<int64_t>{.n = 0}, std::vector<int64_t>{5}).empty());
}

TEST(AggregateFunctions, TraitsInWords) {
  EXPECT_EQ(toString(Count<int64_t>::kTraits), "associative, commutative, mergeable, exact");
  EXPECT_EQ(toString(ExponentialAverage::kTraits), "order-sensitive");
  EXPECT_TRUE(Sum<int64_t>::kTraits.splitsExactly());
  EXPECT_TRUE(Sum<double>::kTraits.splitsUpToRounding());
  EXPECT_FALSE(Collect<int64_t>::kTraits.splitsExactly() || Collect<int64_t>::kTraits.splitsUpToRounding());
}

}  // namespace
}  // namespace weir
