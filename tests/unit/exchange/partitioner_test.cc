#include "weir/exchange/partitioner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace weir {
namespace {

template <class Selector>
std::vector<uint32_t> choices(Selector& selector, int n) {
  std::vector<uint32_t> all;
  for (int i = 0; i < n; ++i) all.push_back(selector.select(std::string("value")));
  return all;
}

TEST(RescalePartitioner, StartsAtChannelZeroAndGoesRound) {
  RescalePartitioner selector(3);
  EXPECT_EQ(choices(selector, 7), (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, 0}));
}

TEST(RebalancePartitioner, GoesRoundFromARandomChannel) {
  std::set<uint32_t> starts;
  for (uint64_t seed = 1; seed < 50; ++seed) {
    Random random(seed);
    RebalancePartitioner selector(4, random);
    const auto all = choices(selector, 8);
    starts.insert(all[0]);
    for (size_t i = 1; i < all.size(); ++i) ASSERT_EQ(all[i], (all[i - 1] + 1) % 4);
  }
  EXPECT_EQ(starts.size(), 4u);
}

TEST(ShufflePartitioner, ReachesEachChannelAboutEquallyOften) {
  ShufflePartitioner selector(4, Random(5));
  std::vector<int> counts(4);
  for (const uint32_t channel : choices(selector, 40'000)) ++counts[channel];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
}

TEST(ForwardAndGlobalPartitioner, AlwaysChooseChannelZero) {
  ForwardPartitioner forward;
  GlobalPartitioner global;
  EXPECT_EQ(choices(forward, 3), (std::vector<uint32_t>{0, 0, 0}));
  EXPECT_EQ(choices(global, 3), (std::vector<uint32_t>{0, 0, 0}));
}

TEST(HashPartitioner, SendsAKeyToTheSubtaskOfItsKeyGroup) {
  const auto identity = [](const std::string& key) -> const std::string& { return key; };
  HashPartitioner four(identity, 4, 128), three(identity, 3, 128);
  struct Golden { std::string key; uint32_t ofFour, ofThree; };
  for (const auto& [key, ofFour, ofThree] : {Golden{"", 2, 2}, Golden{"a", 2, 1}, Golden{"hello", 1, 0}, Golden{"user-42", 0, 0}}) {
    EXPECT_EQ(four.select(key), ofFour) << key;
    EXPECT_EQ(three.select(key), ofThree) << key;
  }
}

TEST(CustomPartitioner, AsksTheUsersFunctionWithKeyAndNumberOfChannels) {
  CustomPartitioner selector([](int64_t value) { return value / 10; },
                             [](int64_t key, int32_t channels) { return static_cast<int32_t>(key % channels); }, 4);
  EXPECT_EQ(selector.select(int64_t{57}), 1u);
}

TEST(CustomPartitioner, RefusesAChannelThatDoesNotExist) {
  CustomPartitioner selector([](int v) { return v; }, [](int key, int32_t) { return key; }, 4);
  EXPECT_EQ(selector.select(3), 3u);
  EXPECT_THROW(selector.select(4), Throwable);
  EXPECT_THROW(selector.select(-1), Throwable);
}

TEST(PartitionerTraits, AreThoseOfFlink) {
  using enum PartitionerKind;
  using enum SubtaskStateMapper;
  for (const auto kind : {kForward, kRescale}) {
    EXPECT_TRUE(traitsOf(kind).pointwise);
    EXPECT_FALSE(traitsOf(kind).supportsUnaligned);
    EXPECT_EQ(traitsOf(kind).upstream, kUnsupported);
  }
  for (const auto kind : {kRebalance, kShuffle, kHash, kGlobal, kCustom}) {
    EXPECT_FALSE(traitsOf(kind).pointwise);
    EXPECT_TRUE(traitsOf(kind).supportsUnaligned);
    EXPECT_EQ(traitsOf(kind).upstream, kArbitrary);
  }
  EXPECT_FALSE(traitsOf(kBroadcast).pointwise);
  EXPECT_FALSE(traitsOf(kBroadcast).supportsUnaligned);
  EXPECT_EQ(traitsOf(kRebalance).downstream, kRoundRobin);
  EXPECT_EQ(traitsOf(kShuffle).downstream, kRoundRobin);
  EXPECT_EQ(traitsOf(kHash).downstream, kRange);
  EXPECT_EQ(traitsOf(kGlobal).downstream, kFirst);
  EXPECT_EQ(traitsOf(kCustom).downstream, kFull);
}

}  // namespace
}  // namespace weir
