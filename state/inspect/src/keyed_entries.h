#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weir/checkpoint/state_meta.h"
#include "weir/checkpoint/value_shape.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// An entry of keyed state, as the bytes of its parts.
struct KeyedEntry {
  size_t state = 0;  ///< its number in the header
  int32_t keyGroup = 0;
  std::span<const uint8_t> key{}, nameSpace{}, value{};
  std::optional<std::span<const uint8_t>> mapKey{};  ///< in canonical savepoints, where each pair of a map is an entry
  std::optional<int64_t> timestamp{};                ///< of a timer, which has no value
  int64_t bytes = 0;                               ///< of all of it in its file
};

/// Goes through the entries of the key groups in a file of either format, which both hang on the header in front of them.
/// Flink: HeapRestoreOperation, FullSnapshotRestoreOperation.
class KeyedEntries {
 public:
  /// An error where the types are not known. `maxParallelism`: of the operator, which says how long the number of a key group is.
  static Result<KeyedEntries> of(const KeyedStateHeader& header, int32_t maxParallelism);

  using Visit = std::function<void(const KeyedEntry&)>;
  /// `file`: all of it. Errors say where the bytes stop to make sense; what came before was visited.
  Result<void> forEach(const KeyGroupsHandle& handle, std::span<const uint8_t> file, const Visit& visit) const;

  const ValueShape& key() const { return *key_; }
  const ValueShape& nameSpaceOf(size_t state) const { return *states_[state].nameSpace; }
  /// Null for timers.
  const ValueShape* valueOf(size_t state) const { return states_[state].value ? &*states_[state].value : nullptr; }
  bool isMap(size_t state) const { return states_[state].isMap; }
  bool isList(size_t state) const { return states_[state].isList; }

 private:
  struct State {
    std::optional<ValueShape> nameSpace, value;
    bool isTimer = false, isMap = false, isList = false;
  };
  void readHeapGroup(DataInput& in, int32_t keyGroup, const Visit& visit) const;
  void readCanonicalGroup(DataInput& in, int32_t keyGroup, const Visit& visit) const;
  bool splitCanonicalKey(std::span<const uint8_t> bytes, KeyedEntry& entry) const;

  size_t keyGroupBytes_ = 1;  ///< in front of a canonical key
  std::optional<ValueShape> key_;
  std::vector<State> states_;
};

}  // namespace weir
