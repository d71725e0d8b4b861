#include "weir/aggregate/heavy_hitters.h"

#include <gtest/gtest.h>

#include <map>

#include "weir/aggregate/accumulator_table.h"
#include "weir/base/random.h"

namespace weir {
namespace {

TEST(HeavyHitters, NoCountIsTooLowOrTooHighByMoreThanItsError) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    HeavyHitters<int64_t> sketch(8, 1 << 20);
    std::map<int64_t, int64_t> exact;
    for (int i = 0; i < 3000; ++i) {
      const auto key = static_cast<int64_t>(random.oneIn(3) ? random.below(3) : random.below(500));
      ++exact[key];
      sketch.add(key);
    }
    for (const auto& entry : sketch.top()) {
      EXPECT_GE(entry.count, exact[entry.key]) << "seed " << seed;
      EXPECT_LE(entry.count - entry.error, exact[entry.key]) << "seed " << seed;
    }
    for (const auto& [key, count] : exact) {
      if (count * 8 <= sketch.total()) continue;
      const auto top = sketch.top();
      EXPECT_TRUE(std::any_of(top.begin(), top.end(), [&](const auto& entry) { return entry.key == key; })) << "seed " << seed;
    }
  }
}

TEST(HeavyHitters, FindsTheHotKeyAndItsShare) {
  HeavyHitters<std::string> sketch(16);
  const HeavyHitters<std::string>::Entry* hot = nullptr;
  for (int i = 0; i < 10'000; ++i) {
    if (i % 10 < 6)
      hot = &sketch.add("hot");
    else
      sketch.add("key-" + std::to_string(i % 997));
  }
  EXPECT_EQ(sketch.top().front().key, "hot");
  EXPECT_NEAR(sketch.surely(*hot), 0.6, 0.01);
}

TEST(HeavyHitters, ForgetsAKeyThatIsHotNoMore) {
  HeavyHitters<int64_t> sketch(4, 1000);
  for (int i = 0; i < 2000; ++i) sketch.add(1);
  for (int i = 0; i < 4000; ++i) sketch.add(2);
  EXPECT_EQ(sketch.top().front().key, 2);
  for (const auto& entry : sketch.top()) {
    if (entry.key == 1) {
      EXPECT_LT(sketch.atMost(entry), 0.1);
    }
  }
}

TEST(AccumulatorTable, KeepsTheOrderOfFirstComeAndJavasKeys) {
  AccumulatorTable<double, int64_t> table;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (int round = 0; round < 3; ++round) {
    for (double key : {0.0, nan, -0.0, nan, 5.0, 0.0}) table.get(key, [] { return int64_t{0}; })++;
    ASSERT_EQ(table.size(), 4U);
    EXPECT_EQ(table.entries()[0].value, 2);
    EXPECT_EQ(table.entries()[1].value, 2);
    EXPECT_TRUE(std::signbit(table.entries()[2].key));
    EXPECT_EQ(table.entries()[3].key, 5.0);
    table.clear();
    EXPECT_TRUE(table.empty());
  }
}

TEST(AccumulatorTable, AgreesWithAMap) {
  Random random(5);
  AccumulatorTable<std::string, int64_t> table;
  std::map<std::string, int64_t> map;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "k" + std::to_string(random.below(3000));
    table.get(key, [] { return int64_t{0}; }) += i;
    map[key] += i;
    if (random.oneIn(7000)) {
      table.clear();
      map.clear();
    }
  }
  EXPECT_EQ(table.size(), map.size());
  for (const auto& entry : table.entries()) EXPECT_EQ(entry.value, map[entry.key]);
}

}  // namespace
}  // namespace weir
