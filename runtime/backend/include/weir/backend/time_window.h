#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>

#include "weir/record/serializer.h"

namespace weir {

/// The namespace of windowed state: event or processing time from `start` up to, not including, `end`, in milliseconds. Java's arithmetic:
/// what is too large wraps around. Flink: TimeWindow; also its GlobalWindow, as kGlobalWindow.
struct TimeWindow {
  int64_t start = 0;
  int64_t end = 0;

  auto operator<=>(const TimeWindow&) const = default;
  /// The last millisecond that belongs to it: where its timer is.
  int64_t maxTimestamp() const { return static_cast<int64_t>(static_cast<uint64_t>(end) - 1); }
  /// Have a millisecond in common, or touch.
  bool intersects(const TimeWindow& other) const { return start <= other.end && end >= other.start; }
  /// The smallest window that holds both.
  TimeWindow cover(const TimeWindow& other) const { return {std::min(start, other.start), std::max(end, other.end)}; }
};

/// The one window of windowing without time: its last millisecond is the end of all time.
inline constexpr TimeWindow kGlobalWindow{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min()};

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
