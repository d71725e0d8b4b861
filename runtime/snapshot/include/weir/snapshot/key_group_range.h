#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

namespace weir {

/// Key groups first..last, both included; empty where last < first. Flink: KeyGroupRange.
struct KeyGroupRange {
  int32_t first = 0;
  int32_t last = -1;

  auto operator<=>(const KeyGroupRange&) const = default;
  int32_t size() const { return last < first ? 0 : last - first + 1; }
  bool contains(int32_t keyGroup) const { return keyGroup >= first && keyGroup <= last; }
  KeyGroupRange intersect(KeyGroupRange other) const {
    const KeyGroupRange both{std::max(first, other.first), std::min(last, other.last)};
    return both.last < both.first ? KeyGroupRange{} : both;
  }
};

}  // namespace weir
