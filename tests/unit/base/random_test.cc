#include "weir/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace weir {
namespace {

TEST(Random, TheSameSeedGivesTheSameNumbersAnotherSeedOthers) {
  Random a(1), b(1), c(2);
  const uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(Random, EachActorHasAStreamOfItsOwn) {
  EXPECT_EQ(Random(1, "source").next(), Random(1, "source").next());
  EXPECT_NE(Random(1, "source").next(), Random(1, "sink").next());
}

// A bound of three quarters of the range shows a bias at once. Multiply-shift without rejection maps four numbers to three
// values, so that every third value comes up twice as often as the others.
TEST(Random, BelowIsUniformWithoutBias) {
  Random random(3);
  const uint64_t bound = (uint64_t{1} << 62) * 3;
  std::array<int, 3> remainders{};
  const int draws = 30000;
  for (int i = 0; i < draws; ++i) ++remainders[random.below(bound) % 3];
  for (const int count : remainders) EXPECT_NEAR(count, draws / 3, 500);  // six standard deviations
}

TEST(Random, BelowStaysBelow) {
  Random random(4);
  for (uint64_t bound : {uint64_t{1}, uint64_t{2}, uint64_t{7}, std::numeric_limits<uint64_t>::max()}) {
    for (int i = 0; i < 1000; ++i) ASSERT_LT(random.below(bound), bound);
  }
}

TEST(Random, BetweenReachesBothEndsAlsoOfTheWholeRange) {
  Random random(5);
  bool low = false, high = false;
  for (int i = 0; i < 200; ++i) {
    const int64_t n = random.between(-1, 1);
    ASSERT_TRUE(n >= -1 && n <= 1);
    low |= n == -1;
    high |= n == 1;
  }
  EXPECT_TRUE(low && high);
  random.between(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
}

TEST(Random, UnitIsInTheHalfOpenInterval) {
  Random random(6);
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    const double u = random.unit();
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

}  // namespace
}  // namespace weir
