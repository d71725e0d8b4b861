#include "weir/graph/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr auto kPointwise = DistributionPattern::kPointwise;
constexpr auto kAllToAll = DistributionPattern::kAllToAll;

std::vector<ConsumedSubpartitions> allConsumers(int32_t producers, int32_t consumers) {
  std::vector<ConsumedSubpartitions> out;
  for (int32_t c = 0; c < consumers; ++c) out.push_back(consumedBy(kPointwise, producers, consumers, c));
  return out;
}

using Rows = std::vector<ConsumedSubpartitions>;

TEST(Connections, AllToAllReadsTheSubpartitionOfItsIndexFromEveryProducer) {
  EXPECT_EQ(consumedBy(kAllToAll, 3, 4, 2), (ConsumedSubpartitions{0, 3, 2}));
  EXPECT_EQ(subpartitionsOf(kAllToAll, 3, 4, 1), 4);
}

TEST(Connections, PointwiseEqualsTheTableMeasuredOnFlink) {
  EXPECT_EQ(allConsumers(5, 2), (Rows{{0, 2, 0}, {2, 3, 0}}));
  EXPECT_EQ(allConsumers(2, 5), (Rows{{0, 1, 0}, {0, 1, 1}, {0, 1, 2}, {1, 1, 1}, {1, 1, 0}}));
  EXPECT_EQ(allConsumers(3, 4), (Rows{{0, 1, 0}, {0, 1, 1}, {1, 1, 0}, {2, 1, 0}}));
  EXPECT_EQ(allConsumers(3, 7), (Rows{{0, 1, 0}, {0, 1, 1}, {0, 1, 2}, {1, 1, 1}, {1, 1, 0}, {2, 1, 1}, {2, 1, 0}}));
}

TEST(Connections, EverySubpartitionHasExactlyOneReader) {
  for (int32_t producers = 1; producers <= 17; ++producers) {
    for (int32_t consumers = 1; consumers <= 17; ++consumers) {
      std::vector<std::vector<int>> readers(producers);
      for (int32_t p = 0; p < producers; ++p) readers[p].resize(subpartitionsOf(kPointwise, producers, consumers, p));
      for (int32_t c = 0; c < consumers; ++c) {
        const auto read = consumedBy(kPointwise, producers, consumers, c);
        for (int32_t p = 0; p < read.producers; ++p) ++readers.at(read.firstProducer + p).at(read.subpartition);
      }
      for (const auto& partition : readers) EXPECT_THAT(partition, ::testing::Each(1)) << producers << " -> " << consumers;
    }
  }
}

}  // namespace
}  // namespace weir
