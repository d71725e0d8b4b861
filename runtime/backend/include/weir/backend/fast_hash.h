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
#include "weir/record/short_text.h"

namespace weir {

namespace detail {

inline constexpr uint64_t kHashA = 0x9e3779b97f4a7c15, kHashB = 0xd1b54a32d192ed03, kHashC = 0x8cb92ba72f3d8dd7;

/// Folds the 128-bit product: every bit of both operands reaches every bit of the result.
inline uint64_t foldedMultiply(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t loadWord(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
/// Far apart, so that a length is not taken for a byte.
inline uint64_t stateOfLength(size_t size) { return kHashA + size * kHashC; }

inline uint64_t fastHash(const ShortText& text, size_t size) {
  const uint64_t first = foldedMultiply(text.word0() ^ stateOfLength(size), text.word1() ^ kHashB);
  return foldedMultiply(foldedMultiply(text.word2() ^ first, text.word3() ^ kHashB), kHashC);
}

}  // namespace detail

/// A hash for tables in memory: fast, well spread in its upper half, the same in every run. Not Flink's: that one only picks key groups.
inline uint64_t fastHash(std::string_view text) {
  const char* at = text.data();
  const size_t size = text.size();
  if (size < ShortText::kBlock) {
    char block[ShortText::kBlock] = {};
    if (size > 0) std::memcpy(block, at, size);
    return detail::fastHash(ShortText(block, size), size);
  }
  if (size <= ShortText::kMaxSize) return detail::fastHash(ShortText(at, size), size);
  uint64_t state = detail::stateOfLength(size);
  size_t left = size;
  const auto fold = [&] { state = detail::foldedMultiply(detail::loadWord(at) ^ state, detail::loadWord(at + 8) ^ detail::kHashB); };
  for (; left > 16; at += 16, left -= 16) fold();
  // The last 16 bytes, some of them again.
  at -= 16 - left;
  fold();
  return detail::foldedMultiply(state, detail::kHashC);
}
/// The same, without a copy of what is shorter than a block.
inline uint64_t fastHash(const std::string& text) {
  if (__builtin_expect(ShortText::fits(text), 1)) return detail::fastHash(ShortText(text), text.size());
  return fastHash(std::string_view(text));
}

inline uint64_t combineHash(uint64_t hash, uint64_t other) { return detail::foldedMultiply(hash ^ detail::kHashC, other ^ detail::kHashA); }

template <class K>
uint64_t fastHash(const K& key) {
  if constexpr (std::is_arithmetic_v<K>) {
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
  } else if constexpr (std::is_same_v<K, std::string>) {
    if (a.size() != b.size()) return false;
    return __builtin_expect(ShortText::fits(a), 1) ? ShortText(a).equals(ShortText(b)) : a == b;
  } else if constexpr (std::is_arithmetic_v<K>) {
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
