// Failure modes of load: how Flink's assignment of keys deals records out. Computed, since it is a pure function of the keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "weir/aggregate/salt_balance.h"
#include "weir/base/random.h"
#include "weir/exchange/key_groups.h"

namespace weir {
namespace {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size()))];
}

TEST(FailureMode, KeyGroupRoundingSkew) {
  // Many uniform keys: the load of a subtask is the number of its key groups.
  const auto mostOverLeast = [](int32_t parallelism, int32_t maxParallelism) {
    const auto ranges = keyGroupRanges(parallelism, maxParallelism);
    const auto [least, most] = std::minmax_element(ranges.begin(), ranges.end(), [](auto a, auto b) { return a.size() < b.size(); });
    return static_cast<double>(most->size()) / least->size();
  };
  const auto byDefault = [&](int32_t parallelism) { return mostOverLeast(parallelism, computeDefaultMaxParallelism(parallelism)); };
  EXPECT_EQ(computeDefaultMaxParallelism(150), 256);
  EXPECT_DOUBLE_EQ(byDefault(150), 2.0);
  EXPECT_DOUBLE_EQ(byDefault(100), 1.5);
  EXPECT_NEAR(byDefault(10), 1.08, 0.01);
  EXPECT_DOUBLE_EQ(mostOverLeast(150, 1500), 1.0) << "a multiple of the parallelism is even";
  EXPECT_LT(mostOverLeast(150, 32768), 1.01) << "so is one that is much larger";

  // Records of those with two key groups over those with one.
  const auto ranges = keyGroupRanges(150, 256);
  std::map<int32_t, std::pair<double, double>> bySize;  // subtasks, records
  for (const auto& range : ranges) ++bySize[range.size()].first;
  for (int64_t key = 0; key < 200'000; ++key)
    ++bySize[ranges[static_cast<size_t>(assignKeyToParallelOperator(key, 150, 256))].size()].second;
  ASSERT_EQ(bySize.size(), 2U);
  EXPECT_NEAR(bySize[2].second / bySize[2].first / (bySize[1].second / bySize[1].first), 2.0, 0.1);
}

TEST(FailureMode, BucketsCollide) {
  // 128 buckets over 128 writers: balls into bins.
  std::set<int32_t> active;
  for (int32_t bucket = 0; bucket < 128; ++bucket) active.insert(assignKeyToParallelOperator(bucket, 128, 128));
  EXPECT_GT(active.size(), 60U);
  EXPECT_LT(active.size(), 100U) << "an ideal hash leaves 47 of them idle";
  // partitionCustom(bucket -> subtask) leaves none.
  std::set<int32_t> mapped;
  for (int32_t bucket = 0; bucket < 128; ++bucket) mapped.insert(bucket % 128);
  EXPECT_EQ(mapped.size(), 128U);
}

TEST(FailureMode, KeyByTenant) {
  constexpr int32_t kParallelism = 32, kTenants = 1000, kPartitions = 64;
  double all = 0;
  std::vector<double> byTenant(kParallelism), byPartition(kParallelism);
  for (int32_t tenant = 1; tenant <= kTenants; ++tenant) {
    const double weight = std::pow(tenant, -1.2);  // zipf
    all += weight;
    const std::string name = "tenant-" + std::to_string(tenant);
    byTenant[static_cast<size_t>(assignKeyToParallelOperator(name, kParallelism, 128))] += weight;
    for (int32_t partition = 0; partition < kPartitions; ++partition)
      byPartition[static_cast<size_t>(assignKeyToParallelOperator(std::pair(name, partition), kParallelism, 128))] += weight / kPartitions;
  }
  const auto mostOverMean = [&](const std::vector<double>& load) {
    return *std::max_element(load.begin(), load.end()) * kParallelism / all;
  };
  EXPECT_GT(mostOverMean(byTenant), 6) << "the job is as fast as the busiest subtask";
  EXPECT_LT(mostOverMean(byPartition), 2);
}

TEST(FailureMode, SaltBirthdayCollision) {
  // Hot keys of many names, each with 60 % of the records over others that are even.
  struct Seen {
    std::vector<double> mostOverLeast, withoutSalt;
  };
  const auto look = [](int32_t salts, int32_t parallelism) {
    Seen seen;
    for (int name = 0; name < 200; ++name) {
      const KeyWeight hot{"hot-" + std::to_string(name), 600'000, true};
      auto balance = balanceSalts({&hot, 1}, SaltForm::kSaltBarKey, salts, parallelism, 128);
      for (double& records : balance.records) records += 400'000.0 / parallelism;
      seen.mostOverLeast.push_back(balance.mostOverLeast());
      seen.withoutSalt.push_back(balance.subtasksWithoutSalt());
    }
    return seen;
  };
  EXPECT_NEAR(quantile(look(16, 16).mostOverLeast, 0.5), 5.5, 0.1);
  EXPECT_NEAR(quantile(look(16, 16).mostOverLeast, 0.9), 7.0, 0.1);
  EXPECT_NEAR(quantile(look(16, 16).withoutSalt, 0.5), 6, 0.5) << "as many salts as subtasks leave a third of them without one";
  EXPECT_NEAR(quantile(look(64, 16).mostOverLeast, 0.5), 2.9, 0.2);
  EXPECT_NEAR(quantile(look(128, 16).mostOverLeast, 0.5), 2.1, 0.2);
  EXPECT_NEAR(quantile(look(256, 16).mostOverLeast, 0.5), 1.7, 0.1);
  EXPECT_NEAR(quantile(look(1024, 16).mostOverLeast, 0.5), 1.3, 0.1);
  EXPECT_NEAR(quantile(look(16, 4).mostOverLeast, 0.5), 1.9, 0.3);
}

}  // namespace
}  // namespace weir
