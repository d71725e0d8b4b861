#include "weir/windowing/merging_window_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "print_window.h"
#include "weir/base/random.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class MergingWindowSetTest : public ::testing::Test {
 protected:
  TimeWindow add(int64_t start, int64_t end) { return set_.addWindow({start, end}, merge_); }
  MergingWindowSet set_;
  std::optional<WindowMerge> merge_;
};

TEST_F(MergingWindowSetTest, AWindowByItselfKeepsItsOwnState) {
  EXPECT_EQ(add(0, 100), (TimeWindow{0, 100}));
  EXPECT_FALSE(merge_);
  EXPECT_EQ(set_.stateWindow({0, 100}), (TimeWindow{0, 100}));
  EXPECT_TRUE(set_.changed());
}

TEST_F(MergingWindowSetTest, ATouchingWindowMerges) {
  add(0, 100);
  EXPECT_EQ(add(100, 200), (TimeWindow{0, 200}));
  ASSERT_TRUE(merge_);
  EXPECT_THAT(merge_->merged, ElementsAre(TimeWindow{0, 100}));
  EXPECT_TRUE(merge_->mergedStateWindows.empty()) << "the new window has no state yet";
  EXPECT_EQ(set_.stateWindow({0, 200}), (TimeWindow{0, 100})) << "the contents stay where they are";
  EXPECT_FALSE(set_.stateWindow({0, 100}));
}

TEST_F(MergingWindowSetTest, OneMillisecondBetweenKeepsWindowsApart) {
  add(0, 100);
  EXPECT_EQ(add(101, 201), (TimeWindow{101, 201}));
  EXPECT_FALSE(merge_);
}

TEST_F(MergingWindowSetTest, AnElementInsideOfAWindowChangesNothing) {
  add(0, 100);
  set_.load(MergingWindowSet::Mapping(set_.mapping()));
  EXPECT_EQ(add(20, 80), (TimeWindow{0, 100}));
  EXPECT_FALSE(merge_);
  EXPECT_FALSE(set_.changed());
}

TEST_F(MergingWindowSetTest, ABridgeMergesTheContentsOfOneWindowIntoTheOther) {
  add(0, 100);
  add(150, 250);
  EXPECT_EQ(add(80, 180), (TimeWindow{0, 250}));
  ASSERT_TRUE(merge_);
  EXPECT_THAT(merge_->merged, UnorderedElementsAre(TimeWindow{0, 100}, TimeWindow{150, 250}));
  ASSERT_EQ(merge_->mergedStateWindows.size(), 1u);
  EXPECT_NE(merge_->mergedStateWindows[0], merge_->stateWindow);
  EXPECT_EQ(set_.stateWindow({0, 250}), merge_->stateWindow);
  EXPECT_EQ(set_.mapping().size(), 1u);
}

TEST_F(MergingWindowSetTest, AWindowThatIsThereAlreadyKeepsItsContents) {
  add(0, 10);
  add(5, 25);  // [0,25), whose contents are those of [0,10)
  EXPECT_EQ(add(0, 25), (TimeWindow{0, 25}));
  EXPECT_EQ(set_.stateWindow({0, 25}), (TimeWindow{0, 10}));
}

TEST_F(MergingWindowSetTest, ARetiredWindowIsGone) {
  add(0, 100);
  set_.retireWindow({0, 100});
  EXPECT_FALSE(set_.stateWindow({0, 100}));
  EXPECT_EQ(add(50, 150), (TimeWindow{50, 150}));
}

TEST_F(MergingWindowSetTest, GoesOnFromWhatWasPersisted) {
  add(0, 100);
  add(90, 190);
  MergingWindowSet restored;
  restored.load(set_.mapping());
  EXPECT_FALSE(restored.changed());
  EXPECT_EQ(restored.stateWindow({0, 190}), (TimeWindow{0, 100}));
}

/// Contents are moved as the set says; then each session holds exactly the elements that belong to it.
TEST_F(MergingWindowSetTest, SessionsOfRandomElementsAreThoseOfSortedElements) {
  constexpr int64_t kGap = 10;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    MergingWindowSet set;
    std::map<TimeWindow, std::vector<int64_t>> contents;
    std::vector<int64_t> times;
    for (int i = 0; i < 60; ++i) {
      const auto time = static_cast<int64_t>(random.below(900));
      times.push_back(time);
      std::optional<WindowMerge> merge;
      const TimeWindow window = set.addWindow({time, time + kGap}, merge);
      if (merge) {
        for (const TimeWindow& from : merge->mergedStateWindows) {
          auto node = contents.extract(from);
          ASSERT_FALSE(node.empty());
          auto& into = contents[merge->stateWindow];
          into.insert(into.end(), node.mapped().begin(), node.mapped().end());
        }
      }
      contents[*set.stateWindow(window)].push_back(time);
    }
    std::sort(times.begin(), times.end());
    std::map<TimeWindow, std::vector<int64_t>> expected;
    for (size_t first = 0; first < times.size();) {
      size_t last = first;
      while (last + 1 < times.size() && times[last + 1] <= times[last] + kGap) ++last;
      expected[{times[first], times[last] + kGap}] = {times.begin() + static_cast<int64_t>(first),
                                                       times.begin() + static_cast<int64_t>(last) + 1};
      first = last + 1;
    }
    std::map<TimeWindow, std::vector<int64_t>> actual;
    for (const auto& [window, state] : set.mapping()) {
      auto& all = actual[window] = contents[state];
      std::sort(all.begin(), all.end());
    }
    ASSERT_EQ(actual, expected) << "seed " << seed;
    ASSERT_EQ(contents.size(), expected.size()) << "contents that no window owns, seed " << seed;
  }
}

}  // namespace
}  // namespace weir
