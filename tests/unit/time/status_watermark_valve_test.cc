#include <gtest/gtest.h>

#include <algorithm>

#include "weir/base/random.h"
#include "weir/time/status_watermark_valve.h"

// What comes out where the watermarks of channels, and of inputs, are merged.
namespace weir {
namespace {

constexpr WatermarkStatus kIdle{true}, kActive{false};
using M = MergedWatermark;

TEST(StatusWatermarkValveTest, NothingComesOutBeforeEveryChannelHasAWatermark) {
  StatusWatermarkValve valve(3);
  EXPECT_EQ(valve.inputWatermark(0, 5), M{});
  EXPECT_EQ(valve.inputWatermark(1, 7), M{});
  EXPECT_EQ(valve.inputWatermark(2, 3), M{3});
  EXPECT_EQ(valve.inputWatermark(2, 6), M{5});
}

TEST(StatusWatermarkValveTest, AChannelThatGoesBackIsIgnored) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 5);
  EXPECT_EQ(valve.inputWatermark(1, 5), M{5});
  EXPECT_EQ(valve.inputWatermark(0, 3), M{});
  EXPECT_EQ(valve.inputWatermark(1, 9), M{});
  EXPECT_EQ(valve.inputWatermark(0, 6), M{6});
}

TEST(StatusWatermarkValveTest, AnIdleChannelDoesNotHoldBackTheOthers) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 5);
  EXPECT_EQ(valve.inputWatermark(1, 3), M{3});
  EXPECT_EQ(valve.inputStatus(1, kIdle), M{5}) << "its going idle lets the others on";
  EXPECT_EQ(valve.inputWatermark(0, 8), M{8});
  EXPECT_EQ(valve.inputWatermark(1, 100), M{}) << "what an idle channel says does not count";
}

TEST(StatusWatermarkValveTest, AChannelThatComesBackBehindTheOutputCountsOnlyOnceItHasCaughtUp) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 100);
  valve.inputWatermark(1, 50);
  valve.inputStatus(1, kIdle);
  EXPECT_EQ(valve.inputWatermark(0, 200), M{200});
  EXPECT_EQ(valve.inputStatus(1, kActive), M{});
  EXPECT_EQ(valve.inputWatermark(1, 60), M{});
  EXPECT_EQ(valve.inputWatermark(0, 210), M{210});
  EXPECT_EQ(valve.inputWatermark(1, 205), M{});
  EXPECT_EQ(valve.inputWatermark(1, 220), M{}) << "now it is aligned, and the other one holds back";
  EXPECT_EQ(valve.inputWatermark(0, 230), M{220});
}

TEST(StatusWatermarkValveTest, TheLastOneToGoIdleLetsOutTheLargestOfAllAndItsReturnIsTold) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 5);
  valve.inputWatermark(1, 3);
  EXPECT_EQ(valve.inputStatus(0, kIdle), M{});
  EXPECT_EQ(valve.inputStatus(1, kIdle), (M{5, kIdle}));
  EXPECT_EQ(valve.inputStatus(1, kIdle), M{}) << "saying it twice";
  EXPECT_EQ(valve.inputStatus(0, kActive), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.inputWatermark(0, 9), M{9});
}

TEST(StatusWatermarkValveTest, SpuriousMaxWatermark) {
  // Both idle, then active with a watermark below the last output: the smallest of no aligned channel at all is not MAX.
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 100);
  EXPECT_EQ(valve.inputWatermark(1, 100), M{100});
  valve.inputStatus(0, kIdle);
  EXPECT_EQ(valve.inputStatus(1, kIdle), (M{std::nullopt, kIdle}));
  EXPECT_EQ(valve.inputStatus(0, kActive), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.inputWatermark(0, 40), M{}) << "behind";

  StatusWatermarkValve behind(2);
  behind.inputStatus(1, kIdle);
  EXPECT_EQ(behind.inputWatermark(0, 100), M{100});
  behind.inputStatus(1, kActive);
  EXPECT_EQ(behind.inputWatermark(1, 40), M{});
  EXPECT_EQ(behind.inputStatus(0, kIdle), M{}) << "the only one left is not aligned";
  EXPECT_EQ(behind.inputWatermark(1, 60), M{});
  EXPECT_EQ(behind.inputWatermark(1, 120), M{120});
}

TEST(StatusWatermarkValveTest, RealignStall) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 10);
  EXPECT_EQ(valve.inputWatermark(1, 20), M{10});
  EXPECT_EQ(valve.inputStatus(0, kIdle), M{20});
  EXPECT_EQ(valve.inputStatus(1, kIdle), (M{std::nullopt, kIdle})) << "20 is out at the latest now";
  EXPECT_EQ(valve.inputStatus(0, kActive), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.inputWatermark(0, 21), M{21}) << "event time goes on";
}

TEST(StatusWatermarkValveTest, AChannelWithANewSenderIsWaitedForAgainAndIsActive) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 100);
  EXPECT_EQ(valve.inputWatermark(1, 50), M{50});
  valve.inputStatus(0, kIdle);
  EXPECT_EQ(valve.inputStatus(1, kIdle), (M{100, kIdle}));
  EXPECT_EQ(valve.restart(0), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.restart(1), M{});
  EXPECT_EQ(valve.inputWatermark(1, 200), M{}) << "the other one has none yet";
  EXPECT_EQ(valve.inputWatermark(0, 80), M{}) << "behind what is out";
  EXPECT_EQ(valve.inputWatermark(0, 120), M{120});
}

TEST(StatusWatermarkValveTest, MaxComesOutWithTheLastChannel) {
  StatusWatermarkValve valve(2);
  EXPECT_EQ(valve.inputWatermark(0, kMaxWatermark), M{});
  EXPECT_EQ(valve.inputWatermark(1, 5), M{5});
  EXPECT_EQ(valve.inputWatermark(1, kMaxWatermark), M{kMaxWatermark});
}

TEST(StatusWatermarkValveTest, AFinishedChannelDoesNotSpeakForAnIdleOne) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 100);
  EXPECT_EQ(valve.inputWatermark(1, 90), M{90});
  EXPECT_EQ(valve.inputStatus(1, kIdle), M{100});
  EXPECT_EQ(valve.inputWatermark(0, kMaxWatermark), (M{std::nullopt, kIdle})) << "the first has ended, but the other one may come back";
  EXPECT_EQ(valve.inputStatus(1, kActive), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.inputWatermark(1, 110), M{110});
  EXPECT_EQ(valve.inputWatermark(1, kMaxWatermark), M{kMaxWatermark});
}

TEST(StatusWatermarkValveTest, TheLastActiveOneOfThoseThatHaveNotFinishedGoesIdle) {
  StatusWatermarkValve valve(3);
  EXPECT_EQ(valve.inputWatermark(0, kMaxWatermark), M{});
  valve.inputWatermark(1, 5);
  EXPECT_EQ(valve.inputWatermark(2, 7), M{5});
  EXPECT_EQ(valve.inputStatus(1, kIdle), M{7});
  EXPECT_EQ(valve.inputStatus(2, kIdle), (M{std::nullopt, kIdle}));
  EXPECT_EQ(valve.inputStatus(0, kIdle), M{}) << "it has ended";
  EXPECT_EQ(valve.inputStatus(1, kActive), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.inputWatermark(1, kMaxWatermark), (M{std::nullopt, kIdle}));
}

TEST(StatusWatermarkValveTest, TheEndOfTheLastActiveOneLetsOutTheLargestOfTheIdleOnes) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, 50);
  EXPECT_EQ(valve.inputStatus(0, kIdle), M{});
  EXPECT_EQ(valve.inputWatermark(1, kMaxWatermark), (M{50, kIdle}));
}

TEST(StatusWatermarkValveTest, AFinishedChannelWithANewSenderIsWaitedForAgain) {
  StatusWatermarkValve valve(2);
  valve.inputWatermark(0, kMaxWatermark);
  EXPECT_EQ(valve.inputStatus(1, kIdle), (M{std::nullopt, kIdle}));
  EXPECT_EQ(valve.restart(0), (M{std::nullopt, kActive}));
  EXPECT_EQ(valve.inputWatermark(0, 7), M{7});
  EXPECT_EQ(valve.inputWatermark(0, kMaxWatermark), (M{std::nullopt, kIdle}));
}

TEST(StatusWatermarkValveTest, OneOfManyChannelsHoldsBackAllOthers) {
  // Against the definition, over random histories without idleness: the smallest of all, whenever it grows.
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const auto channels = static_cast<int>(random.between(1, 20));
    StatusWatermarkValve valve(channels);
    std::vector<int64_t> latest(static_cast<size_t>(channels), kNoTimestamp);
    int64_t out = kNoTimestamp;
    for (int i = 0; i < 500; ++i) {
      const auto channel = static_cast<int>(random.below(static_cast<uint64_t>(channels)));
      const auto watermark = static_cast<int64_t>(random.below(1000)) + i;
      latest[static_cast<size_t>(channel)] = std::max(latest[static_cast<size_t>(channel)], watermark);
      const int64_t smallest = *std::min_element(latest.begin(), latest.end());
      const M expected = smallest > out ? M{smallest} : M{};
      out = std::max(out, smallest);
      ASSERT_EQ(valve.inputWatermark(channel, watermark), expected) << "seed " << seed << ", step " << i;
    }
  }
}

TEST(CombinedWatermarkStatusTest, TheSmallestOfTheActiveInputsAndTheLargestOfIdleOnes) {
  CombinedWatermarkStatus inputs(2);
  EXPECT_EQ(inputs.updateWatermark(0, 5), M{});
  EXPECT_EQ(inputs.updateWatermark(1, 3), M{3});
  EXPECT_EQ(inputs.updateWatermark(1, 7), M{5});
  EXPECT_EQ(inputs.updateStatus(0, kIdle), M{7});
  EXPECT_EQ(inputs.updateWatermark(1, 9), M{9});
  EXPECT_EQ(inputs.updateStatus(0, kActive), M{});
  EXPECT_EQ(inputs.updateWatermark(0, 20), M{}) << "the other one has 9 only";
  EXPECT_EQ(inputs.updateStatus(0, kIdle), M{});
  EXPECT_EQ(inputs.updateStatus(1, kIdle), (M{20, kIdle}));
  EXPECT_EQ(inputs.updateStatus(1, kActive), (M{std::nullopt, kActive}));
}

TEST(CombinedWatermarkStatusTest, FinishedInputDominates) {
  CombinedWatermarkStatus inputs(2);
  inputs.updateWatermark(0, 100);
  EXPECT_EQ(inputs.updateWatermark(1, 90), M{90});
  EXPECT_EQ(inputs.updateStatus(1, kIdle), M{100});
  EXPECT_EQ(inputs.updateWatermark(0, kMaxWatermark), (M{std::nullopt, kIdle})) << "the first has ended, but the other one may come back";
  EXPECT_EQ(inputs.updateStatus(1, kActive), (M{std::nullopt, kActive}));
  EXPECT_EQ(inputs.updateWatermark(1, 110), M{110});
  EXPECT_EQ(inputs.updateWatermark(1, kMaxWatermark), M{kMaxWatermark});
}

TEST(CombinedWatermarkStatusTest, AFinishedInputDoesNotHoldBackTheOther) {
  CombinedWatermarkStatus inputs(2);
  inputs.updateWatermark(0, kMaxWatermark);
  EXPECT_EQ(inputs.updateWatermark(1, 7), M{7});
}

}  // namespace
}  // namespace weir
