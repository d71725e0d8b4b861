// Two stages give what one stage gives, for every mergeable aggregate, over random streams, options, failures and parallelisms.
#include <cstdlib>

#include "support/seeds.h"
#include "two_stage/two_stage_job.h"

namespace weir {
namespace {

uint64_t seeds() { return testing::seedsWanted(15); }

/// A stream, options and mishaps from a seed.
struct Case {
  explicit Case(uint64_t s) : seed(s), random(s, "two-stage") {
    count = random.between(200, 3000);
    keys = random.oneIn(3) ? 1 : random.between(2, 60);
    hotShare = random.unit();
    sources = static_cast<int32_t>(random.between(1, 3));
    subtasks = static_cast<int32_t>(random.between(1, 4));
    options.salts = static_cast<int32_t>(random.oneIn(4) ? 0 : random.between(1, 20));
    if (random.oneIn(3))
      options.hotKeys = {"key-0"};
    else if (random.oneIn(2))
      options.detect = HotKeyDetection{.share = 0.05 + random.unit() / 4,
                                       .capacity = 1 + random.below(30),
                                       .memory = random.between(10, 500),
                                       .warmUp = random.between(0, 100)};
    options.adaptive = random.oneIn(2);
    options.flush.records = random.oneIn(3) ? 0 : random.between(1, 500);
    options.flush.interval = random.oneIn(3) ? Millis(0) : Millis(random.between(1, 20));
    for (auto left = random.below(4); left > 0; --left) failAt.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(count))));
    unaligned = random.oneIn(3);
  }
  Order make(int64_t number) const {
    Random r(seed * 1'000'003 + static_cast<uint64_t>(number));
    const int64_t key = r.unit() < hotShare ? 0 : r.between(0, keys - 1);
    return {number, "key-" + std::to_string(key), r.between(-50, 50),
            (r.unit() - 0.5) * std::pow(10.0, static_cast<double>(r.between(-3, 5)))};
  }

  uint64_t seed;
  Random random;
  int64_t count, keys;
  double hotShare;
  int32_t sources, subtasks;
  TwoStageOptions<std::string> options;
  std::vector<int64_t> failAt;
  bool unaligned;
};

template <MergeableAggregate F>
auto runTwoStages(const Case& c, F f) {
  TwoStageJob job(c.seed, c.sources);
  job.checkpointEvery("10 ms");
  if (c.unaligned) job.env.configure("execution.checkpointing.unaligned.enabled", "true");
  auto stream = job.orders(c.count, [&c](int64_t number) { return c.make(number); }, c.failAt);
  const auto results = collect<std::pair<std::string, typename F::Out>>(
      stream.keyBy(&Order::key).aggregate(f).twoStage(c.options).setParallelism(c.subtasks));
  EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  EXPECT_EQ(job.runner.lostSegments, 0);
  return results.last();
}

/// Bit for bit.
template <MergeableAggregate F>
void expectEqual(F f) {
  for (uint64_t seed = 1; seed <= seeds() && !::testing::Test::HasFailure(); ++seed) {
    const Case c(seed);
    EXPECT_EQ(runTwoStages(c, f), oracle(f, c.count, [&c](int64_t number) { return c.make(number); })) << "seed " << seed;
  }
}
/// `bound`: of the difference, from the values of a key.
template <MergeableAggregate F>
void expectEqualWithin(F f, double (RoundingBound::*bound)() const) {
  for (uint64_t seed = 1; seed <= seeds() && !::testing::Test::HasFailure(); ++seed) {
    const Case c(seed);
    std::map<std::string, RoundingBound> bounds;
    for (int64_t i = 0; i < c.count; ++i) bounds[c.make(i).key].add(c.make(i).price);
    const auto right = oracle(f, c.count, [&c](int64_t number) { return c.make(number); });
    const auto results = runTwoStages(c, f);
    ASSERT_EQ(results.size(), right.size()) << "seed " << seed;
    for (const auto& [key, result] : results)
      EXPECT_LE(std::fabs(result - right.at(key)), (bounds[key].*bound)()) << "seed " << seed << ", " << key;
  }
}

TEST(TwoStageEqualsOneStage, SumAndCount) {
  expectEqual(on(&Order::amount, Sum<int64_t>()));
  expectEqual(Count<Order>());
}
TEST(TwoStageEqualsOneStage, MinAndMax) {
  expectEqual(on(&Order::price, Min<double>()));
  expectEqual(on(&Order::amount, Max<int64_t>()));
}
TEST(TwoStageEqualsOneStage, AverageOfLongs) { expectEqual(on(&Order::amount, Avg<int64_t>())); }
TEST(TwoStageEqualsOneStage, DistinctExactAndSketch) {
  expectEqual(on(&Order::amount, DistinctExact<int64_t>()));
  expectEqual(on(&Order::amount, DistinctSketch<int64_t, 6>()));
}
TEST(TwoStageEqualsOneStage, TopNAndPercentile) {
  expectEqual(on(&Order::amount, TopN<int64_t>{.n = 4}));
  expectEqual(on(&Order::price, Percentile{.quantile = 0.9}));
}
TEST(TwoStageEqualsOneStage, SumAverageAndVarianceOfDoublesWithinTheirBounds) {
  expectEqualWithin(on(&Order::price, Sum<double>()), &RoundingBound::ofSum);
  expectEqualWithin(on(&Order::price, CompensatedSum()), &RoundingBound::ofSum);
  expectEqualWithin(on(&Order::price, Avg<double>()), &RoundingBound::ofAverage);
  expectEqualWithin(on(&Order::price, Variance<>()), &RoundingBound::ofVariance);
}
TEST(TwoStageEqualsOneStage, CollectAsAMultiset) {
  for (uint64_t seed = 1; seed <= seeds() && !HasFailure(); ++seed) {
    const Case c(seed);
    const auto f = on(&Order::number, Collect<int64_t>());
    auto results = runTwoStages(c, f);
    for (auto& [key, values] : results) std::sort(values.begin(), values.end());
    EXPECT_EQ(results, oracle(f, c.count, [&c](int64_t number) { return c.make(number); })) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir
