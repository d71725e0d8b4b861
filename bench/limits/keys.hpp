// The input of the keyed sums, the same for the limit and for Weir: keys of 6 to 22 bytes, and which of them each record has.
#pragma once
#include "common.hpp"

inline std::vector<std::string> keys;
inline std::vector<uint32_t> order;  // pre-drawn key index per record (wraps)
inline void make_keys(size_t n, uint64_t seed) {
  keys.clear();
  uint64_t s = seed;
  for (size_t i = 0; i < n; i++) {
    char b[40];
    snprintf(b, sizeof b, "user-%zu", i * 7919 % 1000003);
    std::string k = b;
    k.append(rng(s) % 12, 'x');  // 6..22 bytes
    k.reserve(32);
    keys.push_back(k);
  }
  order.resize(1 << 20);
  for (auto& o : order) o = uint32_t(rng(s) % n);
}
