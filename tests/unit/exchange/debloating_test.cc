#include <gtest/gtest.h>

#include "unit/exchange/exchange_fixture.h"

namespace weir {
namespace {

using namespace testing;

class HandClock final : public Clock {
 public:
  int64_t epochMillis() const override { return 0; }
  Nanos monotonic() const override { return now; }
  Nanos now{0};
};

TEST(Debloating, AGateTellsAllItsProducersTheNewSize) {
  Exchange exchange;
  const auto first = exchange.partition(1), second = exchange.partition(1);
  const auto gate = exchange.gate({{0, 0}, {1, 0}});
  HandClock clock;
  gate->enableDebloating({.thresholdPercentages = 0, .maxSize = 64 * 1024}, clock);
  EXPECT_EQ(gate->debloatedBufferSize(), 1024);
  ASSERT_FALSE(gate->requestPartitions());
  first->emitRecord(asBytes("0123456789"), 0);
  first->flushAll();
  ASSERT_TRUE(gate->pollNext());
  clock.now += Millis(100);
  EXPECT_FALSE(gate->pollNext());
  gate->triggerDebloating();
  // 100 bytes a second in one buffer: 1024 + 2 / 21 * (100 - 1024).
  EXPECT_EQ(gate->debloatedBufferSize(), 936);
  EXPECT_EQ(first->subpartition(0).desiredBufferSize(), 936);
  EXPECT_EQ(second->subpartition(0).desiredBufferSize(), 936);
}

TEST(Debloating, BuffersOfThatSizeHoldNoMoreThanItAndNoLessThanARecord) {
  Exchange exchange(64, 1024);
  const auto partition = exchange.partition(1);
  const auto gate = exchange.gate({{0, 0}});
  ASSERT_FALSE(gate->requestPartitions());
  partition->subpartition(0).setDesiredBufferSize(100);
  for (int i = 0; i < 4; ++i) partition->emitRecord(asBytes(std::string(40, 'x')), 0);
  partition->emitRecord(asBytes(std::string(300, 'y')), 0);
  partition->flushAll();
  std::vector<uint32_t> sizes;
  while (auto next = gate->pollNext()) sizes.push_back(next->buffer.size());
  EXPECT_EQ(sizes, (std::vector<uint32_t>{100, 100, 260})) << "the last begins in the second buffer and ends in one that fits it";
}

}  // namespace
}  // namespace weir
