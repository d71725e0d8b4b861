#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace weir::testing {

/// How many seeds a test runs: what WEIR_SEEDS says, or `byDefault`.
inline uint64_t seedsWanted(uint64_t byDefault) {
  const char* given = std::getenv("WEIR_SEEDS");
  return given && *given ? std::stoull(given) : byDefault;
}

/// 1, 2, ... as many, and not more than `most`: for cases that are given, where a seed only varies who runs when.
inline std::vector<uint64_t> seeds(uint64_t byDefault, uint64_t most = UINT64_MAX) {
  std::vector<uint64_t> all(std::min(seedsWanted(byDefault), most));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
  return all;
}

}  // namespace weir::testing
