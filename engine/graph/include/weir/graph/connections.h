#pragma once

#include <cstdint>

#include "weir/graph/job_graph.h"

namespace weir {

/// What one consuming subtask reads: the given subpartition of each of a run of producing subtasks, in this order, one channel each.
struct ConsumedSubpartitions {
  int32_t firstProducer = 0;
  int32_t producers = 0;
  int32_t subpartition = 0;
  bool operator==(const ConsumedSubpartitions&) const = default;
};

/// The connections of subtask `consumer` of `consumers` to the `producers` in front. Flink: VertexInputInfoComputationUtils.
ConsumedSubpartitions consumedBy(DistributionPattern pattern, int32_t producers, int32_t consumers, int32_t consumer);

/// How many subpartitions the partition of subtask `producer` has: one per consumer that it serves.
int32_t subpartitionsOf(DistributionPattern pattern, int32_t producers, int32_t consumers, int32_t producer);

}  // namespace weir
