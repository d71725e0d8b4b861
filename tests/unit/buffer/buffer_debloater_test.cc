#include "weir/buffer/buffer_debloater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

using ::testing::ElementsAre;

/// What is announced, period by period; 0: nothing.
std::vector<int32_t> announced(BufferDebloater& debloater, int periods, int64_t bytesPerSecond, int32_t inUse) {
  std::vector<int32_t> sizes;
  for (int i = 0; i < periods; ++i) sizes.push_back(debloater.recalculate(bytesPerSecond, inUse).value_or(0));
  return sizes;
}

TEST(BufferDebloater, GrowsByAtMostTheFactorOfItsAverageAndTellsOnlyLargeChanges) {
  BufferDebloater debloater({});
  // 100 000 bytes a buffer are wanted, capped at twice the last size: 1121.5, 1228.3, 1345.3.
  EXPECT_THAT(announced(debloater, 3, 1'000'000, 10), ElementsAre(0, 0, 1345));
}

TEST(BufferDebloater, ShrinksTowardsNothingWithTheMovingAverage) {
  BufferDebloater debloater({.thresholdPercentages = 0, .startingSize = 32768});
  EXPECT_THAT(announced(debloater, 5, 0, 10), ElementsAre(29647, 26824, 24269, 21958, 19867));
}

TEST(BufferDebloater, TheAverageMovesOnWhileNothingIsAnnounced) {
  BufferDebloater debloater({.startingSize = 32768});
  EXPECT_THAT(announced(debloater, 4, 0, 10), ElementsAre(0, 0, 24269, 0));
}

TEST(BufferDebloater, ReachingALimitIsAlwaysTold) {
  BufferDebloater debloater({.thresholdPercentages = 100, .startingSize = 300});
  const auto sizes = announced(debloater, 6, 0, 1);
  EXPECT_EQ(debloater.bufferSize(), 256);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 256), 1);
  for (int i = 0; i < 200; ++i) (void)debloater.recalculate(1'000'000'000, 1);
  EXPECT_EQ(debloater.bufferSize(), 32768);
}

TEST(BufferDebloater, CountsAtLeastOneBufferInUse) {
  BufferDebloater none({}), one({});
  EXPECT_EQ(announced(none, 10, 5000, 0), announced(one, 10, 5000, 1));
}

TEST(BufferDebloater, EstimatesHowLongTheBuffersTakeToConsume) {
  BufferDebloater debloater({});
  (void)debloater.recalculate(10'240, 10);
  EXPECT_EQ(debloater.estimatedTimeToConsume(), Millis(1000)) << "10 buffers of 1024 bytes";
}

class HandClock final : public Clock {
 public:
  int64_t epochMillis() const override { return 0; }
  Nanos monotonic() const override { return now; }
  Nanos now{0};
};

TEST(ThroughputCalculator, IdleTimeDoesNotCount) {
  HandClock clock;
  ThroughputCalculator throughput(clock);
  throughput.received(1000);
  clock.now += Millis(100);
  throughput.pause();
  clock.now += Millis(900);
  EXPECT_EQ(throughput.calculate(), 10'000);
}

TEST(ThroughputCalculator, WithoutActiveTimeThePreviousOneStays) {
  HandClock clock;
  ThroughputCalculator throughput(clock);
  throughput.received(1000);
  clock.now += Millis(100);
  throughput.pause();
  EXPECT_EQ(throughput.calculate(), 10'000);
  clock.now += Millis(200);
  EXPECT_EQ(throughput.calculate(), 10'000);
}

TEST(ThroughputCalculator, TheMeterRunsOnOverAPeriodWithoutAPause) {
  HandClock clock;
  ThroughputCalculator throughput(clock);
  throughput.received(1000);
  clock.now += Millis(100);
  EXPECT_EQ(throughput.calculate(), 10'000);
  clock.now += Millis(100);
  throughput.received(500);
  EXPECT_EQ(throughput.calculate(), 5'000);
}

}  // namespace
}  // namespace weir
