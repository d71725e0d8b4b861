#include "weir/graph/connections.h"

#include "weir/base/check.h"

namespace weir {
namespace {

/// The first consumer that producer `p` serves where there are more consumers than producers: ceil(p * consumers / producers).
int32_t firstConsumerOf(int32_t p, int32_t producers, int32_t consumers) {
  return static_cast<int32_t>((static_cast<int64_t>(p) * consumers + producers - 1) / producers);
}

}  // namespace

ConsumedSubpartitions consumedBy(DistributionPattern pattern, int32_t producers, int32_t consumers, int32_t consumer) {
  WEIR_CHECK(producers > 0 && consumer >= 0 && consumer < consumers, "consumer {} of {} behind {}", consumer, consumers, producers);
  if (pattern == DistributionPattern::kAllToAll) return {0, producers, consumer};
  const auto scaled = [&](int32_t i) { return static_cast<int32_t>(static_cast<int64_t>(i) * producers / consumers); };
  const int32_t first = scaled(consumer);
  if (producers >= consumers) return {first, scaled(consumer + 1) - first, 0};
  // The absolute index modulo the size of the group, not the place within the group: so is Flink's.
  return {first, 1, consumer % subpartitionsOf(pattern, producers, consumers, first)};
}

int32_t subpartitionsOf(DistributionPattern pattern, int32_t producers, int32_t consumers, int32_t producer) {
  if (pattern == DistributionPattern::kAllToAll) return consumers;
  if (producers >= consumers) return 1;
  return firstConsumerOf(producer + 1, producers, consumers) - firstConsumerOf(producer, producers, consumers);
}

}  // namespace weir
