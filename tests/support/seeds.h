#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace weir::testing {

/// 1, 2, ... as many as WEIR_SEEDS says, or `byDefault`.
inline std::vector<uint64_t> seeds(int64_t byDefault) {
  const char* given = std::getenv("WEIR_SEEDS");
  std::vector<uint64_t> all(static_cast<size_t>(given && *given ? std::stoll(given) : byDefault));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i + 1;
  return all;
}

}  // namespace weir::testing
