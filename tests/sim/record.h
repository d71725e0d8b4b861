#pragma once

#include <cstdint>
#include <string>

#include "weir/record/serializer.h"

namespace weir::sim {

/// A reproducible hash, the only source of variety in what records hold: the oracle needs no run to know it.
constexpr uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2))) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ h >> 29) * 0x94d049bb133111ebull;
  return h ^ h >> 32;
}

/// What flows through every simulated job. Where a record comes from, what it went through, and a checksum over all of it.
struct Rec {
  int32_t source = 0;   ///< node of the source
  int32_t split = 0;    ///< of that source: within one split, order is known
  int64_t index = 0;    ///< running number within the source
  int64_t path = 0;     ///< hash of the operators it went through, and of which copy or input it was there
  int32_t key = 0;
  int64_t value = 0;
  int64_t count = 1;    ///< written by keyed operators: the records of this key so far
  int64_t sum = 0;      ///< written by keyed operators: the sum of their values
  std::string payload;  ///< of any length, also longer than a buffer
  int64_t checksum = 0;
  WEIR_FIELDS(source, split, index, path, key, value, count, sum, payload, checksum)

  /// Everything but what depends on the order of arrival.
  uint64_t identity() const {
    uint64_t h = mix(static_cast<uint64_t>(source), static_cast<uint64_t>(index));
    h = mix(mix(h, static_cast<uint64_t>(path)), mix(static_cast<uint64_t>(key), static_cast<uint64_t>(value)));
    for (const char c : payload) h = h * 31 + static_cast<unsigned char>(c);
    return mix(h, payload.size());
  }
  int64_t expectedChecksum() const {
    return static_cast<int64_t>(mix(identity(), mix(static_cast<uint64_t>(count), static_cast<uint64_t>(sum))));
  }
  void seal() { checksum = expectedChecksum(); }
  /// A record that no keyed operator has counted yet.
  void uncount() {
    count = 1;
    sum = value;
  }
  std::string text() const;
};

/// Letters that depend on `seed` alone.
inline std::string payloadOf(uint64_t seed, size_t length) {
  std::string text(length, ' ');
  for (size_t i = 0; i < length; ++i) text[i] = static_cast<char>('a' + (seed + i * 7) % 26);
  return text;
}

}  // namespace weir::sim
