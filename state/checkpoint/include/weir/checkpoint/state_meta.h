#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/record/data_input.h"
#include "weir/record/data_output.h"
#include "weir/record/serializer_snapshot.h"

namespace weir {

/// What a state file says about one state before its values: name, kind, options and serializers by role, in the order of the file.
/// Flink: StateMetaInfoSnapshot.
struct StateMeta {
  enum class Kind : int32_t { kKeyValue = 0, kOperator = 1, kBroadcast = 2, kTimerQueue = 3 };

  std::string name;
  Kind kind = Kind::kKeyValue;
  std::vector<std::pair<std::string, std::string>> options;
  std::vector<std::pair<std::string, SerializerSnapshot>> serializers;

  bool operator==(const StateMeta&) const = default;
  /// Null where there is none.
  const std::string* option(std::string_view key) const;
  const SerializerSnapshot* serializer(std::string_view role) const;

  void writeTo(DataOutput& out) const;
  static Result<StateMeta> readFrom(DataInput& in);
};

inline constexpr std::string_view kKeyedStateTypeOption = "KEYED_STATE_TYPE";
inline constexpr std::string_view kDistributionModeOption = "OPERATOR_STATE_DISTRIBUTION_MODE";
inline constexpr std::string_view kValueSerializer = "VALUE_SERIALIZER";
inline constexpr std::string_view kKeySerializer = "KEY_SERIALIZER";
inline constexpr std::string_view kNamespaceSerializer = "NAMESPACE_SERIALIZER";

/// The head of a heap keyed state file. Flink: KeyedBackendSerializationProxy.
struct KeyedStateHeader {
  SerializerSnapshot key;
  std::vector<StateMeta> states;  ///< a state's number is its position

  void writeTo(DataOutput& out) const;
  /// Errors do not name the file.
  static Result<KeyedStateHeader> readFrom(DataInput& in);
};

/// The head of an operator state file. Flink: OperatorBackendSerializationProxy.
struct OperatorStateHeader {
  std::vector<StateMeta> states, broadcastStates;

  void writeTo(DataOutput& out) const;
  static Result<OperatorStateHeader> readFrom(DataInput& in);
};

}  // namespace weir
