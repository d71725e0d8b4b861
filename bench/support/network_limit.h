#pragma once

#include <cstdint>
#include <optional>

namespace weir::bench {

/// What two threads reach over one loopback TCP connection, pinned to a CPU each; none where the limits are not built.
/// 32 KiB at a time, GB/s (limits/loopback.hpp).
std::optional<double> loopbackGigabytes();
/// 8-byte longs over so many channels, M records/s (limits/longs.hpp).
std::optional<double> longsOverLoopback(int32_t channels, uint64_t records);
/// The keyed sum of limits/hashagg.cpp with Flink's routing over 16 channels, M records/s.
std::optional<double> keyedSumOverLoopback(uint64_t records);
/// 64 bytes there and back, halved, median in ns; both sides sleep until something comes, or spin.
std::optional<double> pingPongNanos(bool spinning);

}  // namespace weir::bench
