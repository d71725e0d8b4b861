#include "weir/windowing/evictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using ::testing::ElementsAre;
using Elements = Evictor<int>::Elements;

std::vector<int> values(const Elements& elements) {
  std::vector<int> all;
  for (const auto& element : elements) all.push_back(element.value);
  return all;
}
Elements at(std::vector<std::pair<int64_t, int>> elements) {
  Elements all;
  for (const auto& [time, value] : elements) all.push_back({value, time, true});
  return all;
}
std::vector<int> before(const EvictorPtr<int>& evictor, Elements elements) {
  evictor->evictBefore(elements, kGlobalWindow, {});
  return values(elements);
}
std::vector<int> after(const EvictorPtr<int>& evictor, Elements elements) {
  evictor->evictAfter(elements, kGlobalWindow, {});
  return values(elements);
}

TEST(CountEvictor, KeepsTheLastToHaveCome) {
  EXPECT_THAT(before(CountEvictor<int>::of(2), at({{0, 1}, {1, 2}, {2, 3}})), ElementsAre(2, 3));
  EXPECT_THAT(before(CountEvictor<int>::of(3), at({{0, 1}, {1, 2}})), ElementsAre(1, 2));
}

TEST(CountEvictor, EvictsOnOneSideOfTheFunctionOnly) {
  EXPECT_THAT(after(CountEvictor<int>::of(1), at({{0, 1}, {1, 2}})), ElementsAre(1, 2));
  EXPECT_THAT(before(CountEvictor<int>::of(1, true), at({{0, 1}, {1, 2}})), ElementsAre(1, 2));
  EXPECT_THAT(after(CountEvictor<int>::of(1, true), at({{0, 1}, {1, 2}})), ElementsAre(2));
}

TEST(TimeEvictor, KeepsWhatIsNewerThanTheNewestMinusTheSize) {
  EXPECT_THAT(before(TimeEvictor<int>::of(Millis(100)), at({{0, 1}, {100, 2}, {50, 3}, {150, 4}})), ElementsAre(2, 4));
}

TEST(TimeEvictor, LeavesElementsWithoutTimestampsAlone) {
  Elements elements{{1, kNoTimestamp, false}, {2, 500, true}};
  EXPECT_THAT(before(TimeEvictor<int>::of(Millis(1)), elements), ElementsAre(1, 2));
}

TEST(DeltaEvictor, KeepsWhatIsNearTheLast) {
  const auto evictor = deltaEvictor<int>(10, [](int element, int last) { return static_cast<double>(last - element); });
  EXPECT_THAT(before(evictor, at({{0, 1}, {1, 30}, {2, 21}, {3, 31}})), ElementsAre(30, 31));
}

TEST(TimestampedValue, IsStoredAsAStreamElement) {
  DataOutput out;
  serialize(out, TimestampedValue<int16_t>{7, 258, true});
  serialize(out, TimestampedValue<int16_t>{8, kNoTimestamp, false});
  EXPECT_THAT(out.toVector(), ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 7, 1, 0, 8));
  DataInput in(out.toVector());
  const std::vector<uint8_t> watermark{2, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_TRUE(deserialize<TimestampedValue<int16_t>>(watermark).has_error());
}

}  // namespace
}  // namespace weir
