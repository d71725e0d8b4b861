#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "two_stage/two_stage_job.h"

namespace weir {

/// Every mergeable aggregate of runtime/aggregate at once, so that one run of a job tries them all. Over `amount`, doubles over the
/// fraction that `number` gives.
struct EveryAggregate {
  using In = Order;
  static double fraction(const Order& order) { return static_cast<double>(order.number * 7919 % 1000 - 500) / 7; }

  Sum<int64_t> sum;
  Count<int64_t> count;
  Min<int64_t> min;
  Max<int64_t> max;
  Avg<int64_t> avg;
  DistinctExact<int64_t> distinct;
  DistinctSketch<int64_t, 6> sketch;
  TopN<int64_t> top{.n = 4};
  Min<double> least;
  Max<double> most;
  Percentile percentile{.quantile = 0.9};
  Sum<double> doubles;
  CompensatedSum compensated;
  Avg<double> mean;
  Variance<> variance;
  Collect<int64_t> collect;
  First<int64_t> first;
  Last<int64_t> last;

  template <class Self>
  static auto ofAmount(Self& self) {
    return std::tie(self.sum, self.count, self.min, self.max, self.avg, self.distinct, self.sketch, self.top);
  }
  template <class Self>
  static auto ofFraction(Self& self) {
    return std::tie(self.least, self.most, self.percentile, self.doubles, self.compensated, self.mean, self.variance);
  }
  template <class Self>
  static auto ofNumber(Self& self) {
    return std::tie(self.collect, self.first, self.last);
  }
  /// Of functions, of accumulators and of results, which have the same names.
  template <class Self>
  static auto all(Self& self) {
    return std::tuple_cat(ofAmount(self), ofFraction(self), ofNumber(self));
  }

  struct Acc {
    Sum<int64_t>::Acc sum;
    Count<int64_t>::Acc count;
    Min<int64_t>::Acc min;
    Max<int64_t>::Acc max;
    Avg<int64_t>::Acc avg;
    DistinctExact<int64_t>::Acc distinct;
    DistinctSketch<int64_t, 6>::Acc sketch;
    TopN<int64_t>::Acc top;
    Min<double>::Acc least;
    Max<double>::Acc most;
    Percentile::Acc percentile;
    Sum<double>::Acc doubles;
    CompensatedSum::Acc compensated;
    Avg<double>::Acc mean;
    Variance<>::Acc variance;
    Collect<int64_t>::Acc collect;
    First<int64_t>::Acc first;
    Last<int64_t>::Acc last;
    WEIR_FIELDS(sum, count, min, max, avg, distinct, sketch, top, least, most, percentile, doubles, compensated, mean, variance, collect,
                first, last)
  };
  struct Out {
    int64_t sum = 0, count = 0, min = 0, max = 0;
    double avg = 0;
    int64_t distinct = 0, sketch = 0;
    std::vector<int64_t> top;
    double least = 0, most = 0, percentile = 0, doubles = 0, compensated = 0, mean = 0, variance = 0;
    std::vector<int64_t> collect;
    int64_t first = 0, last = 0;
    WEIR_FIELDS(sum, count, min, max, avg, distinct, sketch, top, least, most, percentile, doubles, compensated, mean, variance, collect,
                first, last)
  };
  static constexpr AggregateTraits kTraits{.mergeable = true, .orderSensitive = true};

  template <class... Tuples>
  static void forEach(const auto& what, const Tuples&... tuples) {
    constexpr size_t kSize = std::tuple_size_v<std::tuple_element_t<0, std::tuple<Tuples...>>>;
    [&]<size_t... i>(std::index_sequence<i...>) { (at<i>(what, tuples...), ...); }(std::make_index_sequence<kSize>());
  }
  template <size_t i>
  static void at(const auto& what, const auto&... tuples) {
    what(std::get<i>(tuples)...);
  }

  Acc createAccumulator() const {
    Acc acc;
    forEach([](const auto& f, auto& of) { of = f.createAccumulator(); }, all(*this), all(acc));
    return acc;
  }
  void add(Acc& acc, const Order& order) const {
    const auto adding = [](auto value) { return [value](const auto& f, auto& of) { f.add(of, value); }; };
    forEach(adding(order.amount), ofAmount(*this), ofAmount(acc));
    forEach(adding(fraction(order)), ofFraction(*this), ofFraction(acc));
    forEach(adding(order.number), ofNumber(*this), ofNumber(acc));
  }
  void merge(Acc& into, const Acc& other) const {
    forEach([](const auto& f, auto& of, const auto& from) { f.merge(of, from); }, all(*this), all(into), all(other));
  }
  Out getResult(const Acc& acc) const {
    Out out;
    forEach([](const auto& f, const auto& of, auto& result) { result = f.getResult(of); }, all(*this), all(acc), all(out));
    return out;
  }
};

/// Exact ones bit for bit, doubles within the bound that they promise, what hangs on the order as far as it can be known.
inline void expectSameResults(const EveryAggregate::Out& two, const EveryAggregate::Out& one, const RoundingBound& bound) {
  const auto exact = [](const EveryAggregate::Out& out) {
    return std::tuple(out.sum, out.count, out.min, out.max, out.avg, out.distinct, out.sketch, out.top, out.least, out.most,
                      out.percentile);
  };
  EXPECT_EQ(exact(two), exact(one));
  EXPECT_LE(std::fabs(two.doubles - one.doubles), bound.ofSum());
  EXPECT_LE(std::fabs(two.compensated - one.compensated), bound.ofSum());
  EXPECT_LE(std::fabs(two.mean - one.mean), bound.ofAverage());
  EXPECT_LE(std::fabs(two.variance - one.variance), bound.ofVariance());
  std::vector<int64_t> collected = two.collect, right = one.collect;
  std::sort(collected.begin(), collected.end());
  std::sort(right.begin(), right.end());
  EXPECT_EQ(collected, right);
  EXPECT_TRUE(std::binary_search(right.begin(), right.end(), two.first));
  EXPECT_TRUE(std::binary_search(right.begin(), right.end(), two.last));
}

}  // namespace weir
