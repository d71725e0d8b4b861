#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/result.h"
#include "weir/exchange/partitioner.h"

namespace weir {

/// The subtasks of before whose in-flight data comes to subtask `newIndex`. An error where the edge cannot be rescaled. Requires: another
/// parallelism than before. Flink: SubtaskStateMapper.getOldSubtasks.
Result<std::vector<int32_t>> oldSubtasksOf(SubtaskStateMapper mapper, int32_t newIndex, int32_t oldParallelism, int32_t newParallelism);

/// Whether a buffer that comes to several subtasks may hold records of each. Flink: SubtaskStateMapper.isAmbiguous.
constexpr bool isAmbiguous(SubtaskStateMapper mapper) {
  return mapper == SubtaskStateMapper::kRange || mapper == SubtaskStateMapper::kFull;
}

}  // namespace weir
