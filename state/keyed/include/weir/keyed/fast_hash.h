#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weir/backend/time_window.h"
#include "weir/record/serializer.h"

namespace weir {

namespace detail {

inline constexpr uint64_t kHashA = 0x9e3779b97f4a7c15, kHashB = 0xd1b54a32d192ed03, kHashC = 0x8cb92ba72f3d8dd7;

/// Folds the 128-bit product: every bit of both operands reaches every bit of the result.
inline uint64_t foldedMultiply(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class W>
uint64_t loadWord(const char* at) {
  W word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

/// Two words that together hold all of 0 to 16 bytes; where the bytes are fewer they overlap.
inline std::pair<uint64_t, uint64_t> ends(const char* at, size_t size) {
  if (size >= 8) return {loadWord<uint64_t>(at), loadWord<uint64_t>(at + size - 8)};
  if (size >= 4) return {loadWord<uint32_t>(at), loadWord<uint32_t>(at + size - 4)};
  if (size == 0) return {0, 0};
  return {static_cast<uint8_t>(at[0]) | static_cast<uint64_t>(static_cast<uint8_t>(at[size / 2])) << 8, static_cast<uint8_t>(at[size - 1])};
}

}  // namespace detail

/// A hash for tables in memory: fast, well spread in its upper half, the same in every run. Not Flink's: that one only picks key groups.
inline uint64_t fastHash(std::string_view text) {
  const char* at = text.data();
  size_t left = text.size();
  uint64_t state = detail::kHashA + left * detail::kHashC;  // far apart, so that a length is not taken for a byte
  for (; left > 16; at += 16, left -= 16) {
    state = detail::foldedMultiply(detail::loadWord<uint64_t>(at) ^ state, detail::loadWord<uint64_t>(at + 8) ^ detail::kHashB);
  }
  const auto [first, last] = detail::ends(at, left);
  return detail::foldedMultiply(detail::foldedMultiply(first ^ state, last ^ detail::kHashB), detail::kHashC);
}

inline uint64_t combineHash(uint64_t hash, uint64_t other) { return detail::foldedMultiply(hash ^ detail::kHashC, other ^ detail::kHashA); }

template <class K>
uint64_t fastHash(const K& key) {
  if constexpr (std::is_same_v<K, std::string>) {
    return fastHash(std::string_view(key));
  } else if constexpr (std::is_arithmetic_v<K>) {
    return detail::foldedMultiply(static_cast<uint64_t>(wireBits(key)) ^ detail::kHashB, detail::kHashA);
  } else if constexpr (requires { key.has_value(); }) {
    return key.has_value() ? fastHash(*key) : detail::kHashB;
  } else {
    uint64_t hash = detail::kHashA;
    std::apply([&](const auto&... field) { ((hash = combineHash(hash, fastHash(field))), ...); }, fieldsOf(key));
    return hash;
  }
}

inline uint64_t fastHash(const TimeWindow& window) {
  return detail::foldedMultiply(static_cast<uint64_t>(window.start) ^ detail::kHashA, static_cast<uint64_t>(window.end) ^ detail::kHashB);
}

/// Equal as keys are in Java: NaN equals itself, 0.0 and -0.0 differ.
template <class K>
bool sameKey(const K& a, const K& b) {
  if constexpr (std::is_floating_point_v<K>) {
    return wireBits(a) == wireBits(b);
  } else if constexpr (std::is_arithmetic_v<K> || std::is_same_v<K, std::string>) {
    return a == b;
  } else if constexpr (requires { a.has_value(); }) {
    return a.has_value() == b.has_value() && (!a.has_value() || sameKey(*a, *b));
  } else {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      const auto left = fieldsOf(a);
      const auto right = fieldsOf(b);
      return (sameKey(std::get<I>(left), std::get<I>(right)) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(fieldsOf(a))>>{});
  }
}

}  // namespace weir
