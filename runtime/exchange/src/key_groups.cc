#include "weir/exchange/key_groups.h"

#include "weir/base/check.h"

namespace weir {

std::vector<KeyGroupRange> keyGroupRanges(int32_t parallelism, int32_t maxParallelism) {
  std::vector<KeyGroupRange> ranges;
  for (int32_t i = 0; i < parallelism; ++i) ranges.push_back(keyGroupRangeForOperatorIndex(i, parallelism, maxParallelism));
  return ranges;
}

KeyGroupAssigner::KeyGroupAssigner(int32_t parallelism, int32_t maxParallelism)
    : maxParallelism_(maxParallelism), reciprocal_(UINT64_MAX / static_cast<uint32_t>(maxParallelism) + 1) {
  WEIR_CHECK(parallelism >= 1 && parallelism <= maxParallelism && maxParallelism <= kMaxMaxParallelism,
             "parallelism {} with max parallelism {}", parallelism, maxParallelism);
  for (int32_t group = 0; group < maxParallelism; ++group)
    subtaskOfKeyGroup_.push_back(operatorIndexForKeyGroup(group, parallelism, maxParallelism));
}

}  // namespace weir
