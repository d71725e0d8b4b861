#pragma once

#include <cstdint>

/// Numbers of the `_metadata` format. Flink: MetadataV2V3SerializerBase, ChannelStateHandleSerializerV2.
namespace weir::metadata_format {

inline constexpr int32_t kMasterStateMagic = static_cast<int32_t>(0xC96B1696);
inline constexpr int32_t kMaxMaxParallelism = 32768;

// Stream and keyed handles.
inline constexpr uint8_t kNoHandle = 0;
inline constexpr uint8_t kInlineHandle = 1;
inline constexpr uint8_t kFileHandle = 2;
inline constexpr uint8_t kRelativeHandle = 6;
inline constexpr uint8_t kSavepointKeyGroupsHandle = 7;
inline constexpr uint8_t kRocksDbHandle = 11;
inline constexpr uint8_t kKeyGroupsHandle = 12;
// Operator handles.
inline constexpr uint8_t kOperatorHandle = 4;
// Channel handles: all channels of one subtask in one.
inline constexpr uint8_t kMergedInputHandle = 3;
inline constexpr uint8_t kMergedResultHandle = 4;

}  // namespace weir::metadata_format
