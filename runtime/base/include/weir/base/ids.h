#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

#include "weir/base/random.h"
#include "weir/base/result.h"

namespace weir {

/// 16 bytes, printed as 32 hex digits in the order in which they are written to wires and files (Flink: AbstractID, lower part first).
/// The tag makes ids of different things different types.
template <class Tag>
struct Id {
  std::array<uint8_t, 16> bytes{};

  auto operator<=>(const Id&) const = default;
  std::string toString() const;
  bool isZero() const { return bytes == std::array<uint8_t, 16>{}; }
  static Id random(Random& random);
  /// From two big-endian halves: fixed ids of tests and of derived vertices.
  static Id of(uint64_t first, uint64_t second);
  static Result<Id> parse(std::string_view hex);
};

using JobID = Id<struct JobIDTag>;
using JobVertexID = Id<struct JobVertexIDTag>;
using OperatorID = Id<struct OperatorIDTag>;
using ExecutionGraphID = Id<struct ExecutionGraphIDTag>;
using IntermediateDataSetID = Id<struct IntermediateDataSetIDTag>;
using InputChannelID = Id<struct InputChannelIDTag>;
using AllocationID = Id<struct AllocationIDTag>;

/// One attempt to run one subtask. Prints `<graph>_<vertex>_<subtask>_<attempt>`.
struct ExecutionAttemptID {
  ExecutionGraphID graph;
  JobVertexID vertex;
  int32_t subtask = 0;
  int32_t attempt = 0;
  auto operator<=>(const ExecutionAttemptID&) const = default;
  std::string toString() const;
};

/// One produced partition: which data set, and which subtask produces it. Flink: IntermediateResultPartitionID.
struct PartitionID {
  IntermediateDataSetID dataSet;
  int32_t partition = 0;
  auto operator<=>(const PartitionID&) const = default;
  std::string toString() const;
};

/// One partition as produced by one attempt. Flink: ResultPartitionID.
struct ResultPartitionID {
  PartitionID partition;
  ExecutionAttemptID producer;
  auto operator<=>(const ResultPartitionID&) const = default;
};

}  // namespace weir

template <class Tag>
struct std::hash<weir::Id<Tag>> {
  size_t operator()(const weir::Id<Tag>& id) const {
    size_t h;
    std::memcpy(&h, id.bytes.data(), sizeof h);
    return h;
  }
};
