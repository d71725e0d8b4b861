#pragma once

#include <compare>
#include <cstdint>

#include "weir/record/serializer.h"

namespace weir {

/// The namespace of windowed state: event or processing time from `start` up to, not including, `end`, in milliseconds.
/// Flink: TimeWindow.
struct TimeWindow {
  int64_t start = 0;
  int64_t end = 0;

  auto operator<=>(const TimeWindow&) const = default;
  /// The last millisecond that belongs to it: where its timer is.
  int64_t maxTimestamp() const { return end - 1; }
};

template <>
struct Serializer<TimeWindow> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 16;
  static constexpr size_t maxSize(const TimeWindow&) { return 16; }
  static uint8_t* write(uint8_t* at, const TimeWindow& w) { return storeBigEndian(storeBigEndian(at, w.start), w.end); }
  static bool read(DataInput& in, TimeWindow& into) {
    into.start = in.readLong();
    into.end = in.readLong();
    return in.ok();
  }
  static SerializerSnapshot snapshot() {
    return SerializerSnapshot::simple(
        "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot");
  }
};

}  // namespace weir
