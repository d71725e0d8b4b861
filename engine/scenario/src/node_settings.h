#pragma once

#include <string>

#include "weir/api/data_stream.h"
#include "weir/scenario/scenario_file.h"

namespace weir {

/// Name, uid and parallelism of one operator of a stream of the file. `suffix`: empty for the operator that has the stream's own name.
template <class Made>
Made& applySettings(Made& made, const NodeSpec& node, const std::string& suffix = "") {
  made.name(node.name.value + suffix).uid(node.uid.value_or(node.name.value) + suffix);
  if (node.parallelism) made.setParallelism(*node.parallelism);
  if (node.maxParallelism) made.setMaxParallelism(*node.maxParallelism);
  return made;
}

template <class Made>
void applyCost(Made& made, const NodeSpec& node) {
  if (node.cost) made.cost(Nanos(node.cost->nanosPerRecord), node.cost->spin ? CostMode::kSpin : CostMode::kSleep);
}

}  // namespace weir
