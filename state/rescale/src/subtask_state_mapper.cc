#include "weir/rescale/subtask_state_mapper.h"

#include <numeric>

#include "weir/exchange/key_groups.h"

namespace weir {
namespace {

std::vector<int32_t> range(int32_t first, int32_t end) {
  std::vector<int32_t> all(static_cast<size_t>(end - first));
  std::iota(all.begin(), all.end(), first);
  return all;
}

}  // namespace

Result<std::vector<int32_t>> oldSubtasksOf(SubtaskStateMapper mapper, int32_t newIndex, int32_t oldParallelism, int32_t newParallelism) {
  switch (mapper) {
    case SubtaskStateMapper::kArbitrary:
    case SubtaskStateMapper::kRoundRobin: {
      std::vector<int32_t> all;
      for (int32_t old = newIndex; old < oldParallelism; old += newParallelism) all.push_back(old);
      return all;
    }
    case SubtaskStateMapper::kFirst: return newIndex == 0 ? range(0, oldParallelism) : std::vector<int32_t>{};
    case SubtaskStateMapper::kFull: return range(0, oldParallelism);
    case SubtaskStateMapper::kRange: {
      // Whatever the job's max parallelism is: its key groups are unions of these.
      const KeyGroupRange groups = keyGroupRangeForOperatorIndex(newIndex, newParallelism, kMaxMaxParallelism);
      return range(operatorIndexForKeyGroup(groups.first, oldParallelism, kMaxMaxParallelism),
                   operatorIndexForKeyGroup(groups.last, oldParallelism, kMaxMaxParallelism) + 1);
    }
    case SubtaskStateMapper::kUnsupported: break;
  }
  return Error{
      ErrorCode::kUnsupported,
      "Cannot rescale the given pointwise partitioner.\nDid you change the partitioner to forward or rescale?\nIt may also help to "
      "add an explicit shuffle()."};
}

}  // namespace weir
