#include <gtest/gtest.h>

#include "support/damage.h"
#include "support/golden_bytes.h"
#include "support/seeds.h"
#include "weir/record/event_serializer.h"

// Events that have been damaged on their way: Flink's own, with accidents.
namespace weir {
namespace {

std::vector<std::vector<uint8_t>> corpus() {
  std::vector<std::vector<uint8_t>> events;
  for (const test::Row& row : test::goldenRows("events.tsv")) events.push_back(test::fromHex(row[0] == "reject" ? row[1] : row[4]));
  return events;
}

TEST(DamagedEvents, AreRefusedWithASentenceOrAreEventsThatAreReadAgain) {
  const auto events = corpus();
  size_t refused = 0, taken = 0;
  for (const uint64_t seed : testing::seeds(20'000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto bad = testing::damaged(std::as_bytes(std::span(events[random.below(events.size())])), random);
    const auto event = EventSerializer::decode({reinterpret_cast<const uint8_t*>(bad.data()), bad.size()});
    if (event.has_error()) {
      EXPECT_FALSE(event.error().message.empty());
      EXPECT_LT(event.error().message.size(), 2000u) << "what came is not repeated at length";
      ++refused;
      continue;
    }
    const auto again = EventSerializer::decode(EventSerializer::encode(*event));
    ASSERT_TRUE(again.has_value()) << toString(*event);
    ASSERT_EQ(*again, *event);
    ++taken;
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace weir
