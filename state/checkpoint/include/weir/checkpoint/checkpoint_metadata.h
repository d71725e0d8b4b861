#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// State of the coordinator's hook of a source or sink (Flink: MasterState). Weir writes none and keeps those of others.
struct MasterState {
  int32_t version = 0;
  std::string name;
  std::vector<std::byte> bytes;
};

/// The content of a `_metadata` file, version 6 (Flink 2.1 to 2.3). Flink: CheckpointMetadata, MetadataV6Serializer.
///
/// Reading and writing back gives the same bytes. Handles are kept as written; a relative one also learns where its file lies now.
struct CheckpointMetadata {
  static constexpr int32_t kMagic = 0x4960672d;
  static constexpr int32_t kVersion = 6;

  int64_t checkpointId = 0;
  std::vector<MasterState> masterStates;
  std::vector<OperatorState> operators;
  std::vector<std::byte> properties;  ///< a Java object: see CheckpointProperties
};

/// The bytes of `_metadata`. An error where a subtask has more than one handle of a kind or a handle that the format cannot hold.
Result<std::vector<std::byte>> writeMetadata(const CheckpointMetadata& metadata);
/// `folder`: where `_metadata` lies, for relative handles. `path` names the file in errors, which also tell the offset. Never trusts a
/// length: what it allocates is bounded by a multiple of the file's size.
Result<CheckpointMetadata> readMetadata(std::span<const std::byte> bytes, const std::string& folder, std::string_view path);

}  // namespace weir
