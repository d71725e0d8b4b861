#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// What a buffer carries; decides how queues treat it and travels on the wire as its ordinal (Flink 2.3.0: Buffer.DataType).
enum class DataType : uint8_t {
  NONE = 0,
  DATA_BUFFER = 1,
  EVENT_BUFFER = 2,
  PRIORITIZED_EVENT_BUFFER = 3,
  ALIGNED_CHECKPOINT_BARRIER = 4,
  TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER = 5,
  RECOVERY_COMPLETION = 6,
  END_OF_SEGMENT = 7,
  DATA_BUFFER_WITH_CLEAR_END = 8,
  END_OF_DATA = 9,
  END_OF_PARTITION = 10,
  RECOVERY_METADATA = 11,
  ALIGNED_WATERMARK_EVENT = 12,
  UNALIGNED_WATERMARK_EVENT = 13,
};

inline constexpr int kDataTypeCount = 14;

/// Only these take credit and pool buffers.
constexpr bool isBuffer(DataType type) { return type == DataType::DATA_BUFFER || type == DataType::DATA_BUFFER_WITH_CLEAR_END; }
constexpr bool isEvent(DataType type) { return type != DataType::NONE && !isBuffer(type); }
/// A subpartition that has handed out such an element stays silent until consumption is resumed.
constexpr bool isBlockingUpstream(DataType type) {
  return type == DataType::ALIGNED_CHECKPOINT_BARRIER || type == DataType::TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER ||
         type == DataType::RECOVERY_COMPLETION || type == DataType::ALIGNED_WATERMARK_EVENT;
}
/// Overtakes everything but other priority elements.
constexpr bool hasPriority(DataType type) { return type == DataType::PRIORITIZED_EVENT_BUFFER; }
/// A receiver announces it to its task ahead of the data in front of it.
constexpr bool requiresAnnouncement(DataType type) { return type == DataType::TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER; }
/// The buffer may end inside a record.
constexpr bool isPartialRecordAllowed(DataType type) { return type == DataType::DATA_BUFFER; }

/// Flink's constant name, for logs and traces.
constexpr std::string_view toString(DataType type) {
  constexpr std::string_view kNames[kDataTypeCount] = {
      "NONE", "DATA_BUFFER", "EVENT_BUFFER", "PRIORITIZED_EVENT_BUFFER", "ALIGNED_CHECKPOINT_BARRIER",
      "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER", "RECOVERY_COMPLETION", "END_OF_SEGMENT", "DATA_BUFFER_WITH_CLEAR_END",
      "END_OF_DATA", "END_OF_PARTITION", "RECOVERY_METADATA", "ALIGNED_WATERMARK_EVENT", "UNALIGNED_WATERMARK_EVENT"};
  return static_cast<uint8_t>(type) < kDataTypeCount ? kNames[static_cast<uint8_t>(type)] : "?";
}

}  // namespace weir
