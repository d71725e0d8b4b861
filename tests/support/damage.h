#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "weir/base/random.h"

namespace weir::testing {

/// `bytes` after one to four of the accidents that files and messages meet: bits that flip, numbers that become huge, negative or zero,
/// pieces that are missing, doubled or swapped, an end that comes early, and zeroes behind it.
inline std::vector<std::byte> damaged(std::span<const std::byte> bytes, Random& random) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  for (uint64_t accidents = 1 + random.below(4); accidents > 0 && !result.empty(); --accidents) {
    const size_t at = random.below(result.size()), length = std::min<size_t>(1 + random.below(16), result.size() - at);
    const auto from = result.begin() + static_cast<std::ptrdiff_t>(at), end = from + static_cast<std::ptrdiff_t>(length);
    switch (random.below(7)) {
      case 0: result[at] ^= static_cast<std::byte>(1u << random.below(8)); break;
      case 1: result[at] = static_cast<std::byte>(random.next()); break;
      case 2: std::fill(from, end, random.oneIn(2) ? std::byte{0xff} : std::byte{0}); break;
      case 3: result.erase(from, end); break;
      case 4: {
        const std::vector<std::byte> piece(from, end);
        const auto to = result.begin() + static_cast<std::ptrdiff_t>(random.below(result.size() + 1));
        result.insert(to, piece.begin(), piece.end());
        break;
      }
      case 5: result.resize(at); break;
      default: result.resize(result.size() + random.below(9)); break;
    }
  }
  return result;
}

}  // namespace weir::testing
