#pragma once

#include <cstdint>
#include <optional>

namespace weir::bench {

/// The keyed sums of limits/hashagg.cpp with the keys of limits/keys.hpp, M records/s; none where the limits are not built.
/// Source thread with Flink's routing, 16 channels, framed records, a thread that sums and serializes what it emits.
std::optional<double> keyedSumOfTwoThreads(uint64_t records);
/// Lookup and sum in one thread, nothing serialized.
std::optional<double> keyedSumChained(uint64_t records);
/// Two threads again, with fixed records of a number and a number, 16 bytes, and a hash map of `keys`.
std::optional<double> fixedSumOfTwoThreads(uint64_t records, uint64_t keys);

}  // namespace weir::bench
