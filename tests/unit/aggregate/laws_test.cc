#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "support/aggregate_laws.h"
#include "weir/aggregate/collections.h"
#include "weir/aggregate/distinct.h"
#include "weir/aggregate/percentile.h"

namespace weir {
namespace {

using testing::brokenPromises;
using testing::Trial;

int64_t anyLong(Random& random) { return random.oneIn(4) ? static_cast<int64_t>(random.next()) : random.between(-9, 9); }
int64_t fewLongs(Random& random) { return random.between(0, 12); }
double anyDouble(Random& random) {
  if (random.oneIn(20)) return random.oneIn(2) ? -0.0 : 0.0;
  return (random.unit() - 0.5) * std::pow(10.0, static_cast<double>(random.between(-3, 6)));
}
std::vector<int64_t> sorted(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}
RoundingBound boundOf(const std::vector<double>& values) {
  RoundingBound bound;
  for (double value : values) bound.add(value);
  return bound;
}
/// Twice the bits of a double.
using Wide = __float128;
Wide wideSum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), Wide{0}); }

TEST(AggregateLaws, SumOfLongsWraps) {
  EXPECT_EQ(brokenPromises(Trial<Sum<int64_t>>{{}, anyLong, [](const auto& values) {
              uint64_t sum = 0;
              for (int64_t value : values) sum += static_cast<uint64_t>(value);
              return static_cast<int64_t>(sum);
            }}),
            "");
}
TEST(AggregateLaws, SumOfDoublesIsEqualWithinItsBound) {
  EXPECT_EQ(brokenPromises(
                Trial<Sum<double>>{{},
                                   anyDouble,
                                   [](const auto& values) { return static_cast<double>(wideSum(values)); },
                                   [](double a, double b, const auto& values) { return std::fabs(a - b) <= boundOf(values).ofSum(); }}),
            "");
}
TEST(AggregateLaws, CompensatedSumIsOffByOneUnitInTheLastPlace) {
  // Where large values cancel, more is lost than the one correction can carry.
  auto values = [](Random& random) {
    if (random.oneIn(2)) return anyDouble(random);
    return std::pow(10.0, 25.0 * static_cast<double>(random.below(4))) * (random.oneIn(2) ? 1 : -1);
  };
  auto near = [](double a, double b, const std::vector<double>& values) {
    const auto right = static_cast<double>(wideSum(values));
    const double unit = std::nextafter(std::fabs(right), 1e308) - std::fabs(right);
    const double allowed = unit + boundOf(values).ofSum() * static_cast<double>(values.size()) * std::numeric_limits<double>::epsilon();
    return std::fabs(a - right) <= allowed && std::fabs(b - right) <= allowed;
  };
  EXPECT_EQ(brokenPromises(Trial<CompensatedSum>{
                {}, values, [](const auto& values) { return static_cast<double>(wideSum(values)); }, near, 2000}),
            "");
}
TEST(AggregateLaws, Count) {
  EXPECT_EQ(brokenPromises(Trial<Count<int64_t>>{{}, anyLong, [](const auto& values) { return static_cast<int64_t>(values.size()); }}), "");
}
TEST(AggregateLaws, MinAndMaxInJavasOrder) {
  EXPECT_EQ(
      brokenPromises(Trial<Min<double>>{{}, anyDouble, [](const auto& v) { return *std::min_element(v.begin(), v.end(), JavaLess()); }}),
      "");
  EXPECT_EQ(brokenPromises(Trial<Max<int64_t>>{{}, anyLong, [](const auto& v) { return *std::max_element(v.begin(), v.end()); }}), "");
}
TEST(AggregateLaws, AverageOfLongsIsOneDivision) {
  EXPECT_EQ(
      brokenPromises(Trial<Avg<int64_t>>{{},
                                         [](Random& random) { return random.between(-100'000'000'000'000'000, 100'000'000'000'000'000); },
                                         [](const auto& values) {
                                           const int64_t sum = std::accumulate(values.begin(), values.end(), int64_t{0});
                                           return static_cast<double>(static_cast<Wide>(sum) / static_cast<Wide>(values.size()));
                                         }}),
      "");
}
TEST(AggregateLaws, AverageOfDoublesIsEqualWithinItsBound) {
  EXPECT_EQ(
      brokenPromises(Trial<Avg<double>>{{},
                                        anyDouble,
                                        [](const auto& v) { return static_cast<double>(wideSum(v) / static_cast<Wide>(v.size())); },
                                        [](double a, double b, const auto& v) { return std::fabs(a - b) <= boundOf(v).ofAverage(); }}),
      "");
}
TEST(AggregateLaws, VarianceIsEqualWithinItsBound) {
  EXPECT_EQ(
      brokenPromises(Trial<Variance<>>{{},
                                       anyDouble,
                                       [](const auto& values) {
                                         const Wide mean = wideSum(values) / static_cast<Wide>(values.size());
                                         Wide squares = 0;
                                         for (double value : values) squares += (value - mean) * (value - mean);
                                         return static_cast<double>(squares / static_cast<Wide>(values.size()));
                                       },
                                       [](double a, double b, const auto& v) { return std::fabs(a - b) <= boundOf(v).ofVariance(); }}),
      "");
}
TEST(AggregateLaws, DistinctUnitesSets) {
  EXPECT_EQ(brokenPromises(Trial<DistinctExact<int64_t>>{{}, fewLongs, [](const auto& values) {
              auto all = sorted(values);
              return std::unique(all.begin(), all.end()) - all.begin();
            }}),
            "");
}
TEST(AggregateLaws, DistinctSketchIsAnEstimate) {
  Trial<DistinctSketch<int64_t, 4>> trial{{}, anyLong, [](const auto& values) {
                                            auto all = sorted(values);
                                            return std::unique(all.begin(), all.end()) - all.begin();
                                          }};
  trial.longest = 200;
  EXPECT_EQ(brokenPromises(trial), "");
}
TEST(AggregateLaws, TopNWithTies) {
  EXPECT_EQ(brokenPromises(Trial<TopN<int64_t>>{{.n = 3}, fewLongs, [](const auto& values) {
              auto all = sorted(values);
              std::reverse(all.begin(), all.end());
              all.resize(std::min<size_t>(all.size(), 3));
              return all;
            }}),
            "");
}
TEST(AggregateLaws, FirstLastAndCollectHangOnTheOrder) {
  EXPECT_EQ(brokenPromises(Trial<First<int64_t>>{{}, fewLongs, [](const auto& values) { return values.front(); }}), "");
  EXPECT_EQ(brokenPromises(Trial<Last<int64_t>>{{}, fewLongs, [](const auto& values) { return values.back(); }}), "");
  EXPECT_EQ(brokenPromises(Trial<Collect<int64_t>>{{}, fewLongs, [](const auto& values) { return values; }}), "");
}
TEST(AggregateLaws, ExponentialAverageCannotBeSplit) {
  EXPECT_FALSE(MergeableAggregate<ExponentialAverage>);
  EXPECT_EQ(
      brokenPromises(Trial<ExponentialAverage>{{},
                                               anyDouble,
                                               [](const auto& values) {
                                                 Wide average = values.front();
                                                 for (double value : values) average += static_cast<Wide>(0.1) * (value - average);
                                                 return static_cast<double>(average);
                                               },
                                               [](double a, double b, const auto& v) { return std::fabs(a - b) <= boundOf(v).ofSum(); }}),
      "");
}
TEST(AggregateLaws, PercentileIsAnEstimateThatSplitsExactly) {
  EXPECT_EQ(brokenPromises(Trial<Percentile>{{.quantile = 0.9}, anyDouble, [](auto values) {
              std::sort(values.begin(), values.end());
              return values[static_cast<size_t>(0.9 * static_cast<double>(values.size() - 1))];
            }}),
            "");
}

/// What the incidents are made of: the average without its count.
struct AverageOfAverages {
  using In = double;
  using Acc = std::optional<double>;
  using Out = double;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = true};
  Acc createAccumulator() const { return std::nullopt; }
  void add(Acc& acc, double value) const { acc = acc ? (*acc + value) / 2 : value; }
  void merge(Acc& into, const Acc& other) const {
    if (other) add(into, *other);
  }
  Out getResult(const Acc& acc) const { return acc.value_or(0); }
};
/// Adds the counts of parts instead of uniting sets.
struct DistinctThatAdds : DistinctExact<int64_t> {
  using Acc = std::pair<std::vector<int64_t>, int64_t>;
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, int64_t value) const {
    if (std::find(acc.first.begin(), acc.first.end(), value) == acc.first.end()) acc.first.push_back(value), ++acc.second;
  }
  void merge(Acc& into, const Acc& other) const { into.second += other.second; }
  int64_t getResult(const Acc& acc) const { return acc.second; }
};
/// Claims that doubles can be added in any order.
struct SumThatClaimsTooMuch : Sum<double> {
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = true};
};
/// Says less than it could.
struct ModestCount : Count<int64_t> {
  static constexpr AggregateTraits kTraits{.associative = true, .mergeable = true, .exact = true, .orderSensitive = true};
};

TEST(AggregateLaws, AWrongDeclarationIsFound) {
  const auto average = brokenPromises(Trial<AverageOfAverages>{
      {}, anyDouble, [](const auto& v) { return static_cast<double>(wideSum(v) / static_cast<Wide>(v.size())); },
      [](double a, double b, const auto& v) { return std::fabs(a - b) <= boundOf(v).ofAverage(); }});
  EXPECT_EQ(average, "associative is declared and does not hold; mergeable is declared and does not hold; "
                     "exact is declared and does not hold; order-sensitive holds and is not declared; ");

  const auto distinct = brokenPromises(Trial<DistinctThatAdds>{{}, fewLongs, [](const auto& values) {
                                                                auto all = sorted(values);
                                                                return std::unique(all.begin(), all.end()) - all.begin();
                                                              }});
  EXPECT_NE(distinct.find("mergeable is declared and does not hold"), std::string::npos) << distinct;

  const auto sum = brokenPromises(Trial<SumThatClaimsTooMuch>{
      {}, anyDouble, [](const auto& values) { return static_cast<double>(wideSum(values)); },
      [](double a, double b, const auto& values) { return std::fabs(a - b) <= boundOf(values).ofSum(); }});
  EXPECT_EQ(sum,
            "associative is declared and does not hold; mergeable is declared and does not hold; exact is declared and does not hold; ");

  EXPECT_EQ(brokenPromises(Trial<ModestCount>{{}, anyLong, [](const auto& values) { return static_cast<int64_t>(values.size()); }}),
            "commutative holds and is not declared; order-sensitive is declared and does not hold; ");
}

}  // namespace
}  // namespace weir
