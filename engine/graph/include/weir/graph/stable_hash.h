#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/ids.h"

namespace weir {

/// Collects values as bytes and hashes them with murmur3 (128 bits, x64, seed 0), as Flink's operator ids are made. Integers go in
/// little-endian. The result depends on nothing but what was put: equal in every process that builds the same graph.
class StableHasher {
 public:
  StableHasher& putInt(int32_t value) { return putLong(static_cast<uint32_t>(value), 4); }
  StableHasher& putLong(uint64_t value, int bytes = 8);
  /// The bytes of `text` alone, as a uid is hashed.
  StableHasher& putBytes(std::string_view text);
  /// Its length, then its bytes: several texts in a row stay apart.
  StableHasher& putText(std::string_view text);
  std::array<uint8_t, 16> digest() const;

 private:
  std::string bytes_;
};

/// The id of an operator that carries a uid. Flink: StreamGraphHasherV2.
OperatorID operatorIdOfUid(std::string_view uid);

/// The id of an operator without a uid: from its place in the traversal of the stream graph.
///
/// `position` counts the operators that already have an id; `chainedOutputs` is the number of out edges that are chained; `inputs` are the
/// ids of the operators in front, in input order. Flink: StreamGraphHasherV2.
OperatorID operatorIdOfPosition(int32_t position, int32_t chainedOutputs, std::span<const OperatorID> inputs);

/// A vertex has the id of the operator at its head.
inline JobVertexID vertexIdOf(const OperatorID& head) { return {head.bytes}; }

}  // namespace weir
