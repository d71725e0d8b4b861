#include "weir/exchange/channel_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "support/seeds.h"
#include "weir/base/random.h"

namespace weir {
namespace {

struct ChannelTurnsTest : ::testing::Test {
  ChannelTurns turns;
  ChannelTurnsTest() { turns.resize(4); }
  std::vector<uint32_t> rest() {
    std::vector<uint32_t> order;
    while (!turns.empty()) order.push_back(turns.popFront());
    return order;
  }
};

TEST_F(ChannelTurnsTest, ChannelsComeInTheOrderOfTheirReports) {
  for (const uint32_t channel : {2u, 0u, 3u}) turns.add(channel, false);
  EXPECT_EQ(rest(), (std::vector<uint32_t>{2, 0, 3}));
}
TEST_F(ChannelTurnsTest, AChannelThatReportsTwiceHasOneTurn) {
  for (const uint32_t channel : {1u, 2u, 1u}) turns.add(channel, false);
  turns.add(3, true);
  turns.add(3, true);
  turns.add(3, false);
  EXPECT_EQ(rest(), (std::vector<uint32_t>{3, 1, 2}));
}
TEST_F(ChannelTurnsTest, OneThatGainsPriorityComesFirstAndOnlyOnce) {
  for (const uint32_t channel : {0u, 1u, 2u}) turns.add(channel, false);
  turns.add(2, true);
  turns.add(1, true);
  EXPECT_TRUE(turns.hasPriority());
  EXPECT_EQ(rest(), (std::vector<uint32_t>{2, 1, 0}));
}
TEST_F(ChannelTurnsTest, OneThatHadPriorityAndHasMoreToReadKeepsThePlaceThatItHad) {
  for (const uint32_t channel : {0u, 1u, 2u}) turns.add(channel, false);
  turns.add(1, true);
  EXPECT_EQ(turns.popFront(), 1u);
  EXPECT_FALSE(turns.contains(1));
  EXPECT_FALSE(turns.hasPriority());
  turns.add(1, false);
  EXPECT_EQ(rest(), (std::vector<uint32_t>{0, 1, 2}));
}
TEST_F(ChannelTurnsTest, IsEmptyWhereOnlyPlacesAreLeftThatNobodyHas) {
  turns.add(0, false);
  turns.add(0, true);
  EXPECT_EQ(turns.popFront(), 0u);
  EXPECT_TRUE(turns.empty());
}

TEST(ChannelTurns, HaveEachChannelOnceWithPriorityFirstWhateverIsReported) {
  for (const uint64_t seed : weir::testing::seeds(200)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ChannelTurns turns;
    turns.resize(5);
    std::deque<uint32_t> priority, others;
    const auto in = [](const std::deque<uint32_t>& queue, uint32_t channel) {
      return std::find(queue.begin(), queue.end(), channel) != queue.end();
    };
    for (int step = 0; step < 100; ++step) {
      const auto channel = static_cast<uint32_t>(random.below(5));
      if (random.below(2) == 0 && !turns.empty()) {
        const uint32_t got = turns.popFront();
        if (!priority.empty()) {
          ASSERT_EQ(got, priority.front());
          priority.pop_front();
        } else {
          ASSERT_TRUE(in(others, got));
          std::erase(others, got);
        }
      } else if (random.below(3) == 0) {
        turns.add(channel, true);
        std::erase(others, channel);
        if (!in(priority, channel)) priority.push_back(channel);
      } else {
        turns.add(channel, false);
        if (!in(priority, channel) && !in(others, channel)) others.push_back(channel);
      }
      ASSERT_EQ(turns.empty(), priority.empty() && others.empty());
      ASSERT_EQ(turns.hasPriority(), !priority.empty());
      for (uint32_t c = 0; c < 5; ++c) ASSERT_EQ(turns.contains(c), in(priority, c) || in(others, c));
    }
  }
}

}  // namespace
}  // namespace weir
