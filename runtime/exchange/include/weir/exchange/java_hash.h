#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "weir/record/serializer.h"
#include "weir/record/utf8.h"

namespace weir {

namespace detail {

static_assert(std::endian::native == std::endian::little, "the first character of a word must be its lowest byte");

/// 31^n modulo 2^32.
constexpr uint32_t power31(int n) {
  uint32_t power = 1;
  for (; n > 0; --n) power *= 31;
  return power;
}

/// The hash of eight ASCII characters, the first in the lowest byte: three rounds that join neighbours (8 to 16 to 32 bits wide), so
/// that the long chain h = 31 h + c has one link for eight characters. No lane overflows: 127 * 32 < 2^12, 127 * 32 * 962 < 2^22.
constexpr uint32_t hashOf8(uint64_t word) {
  constexpr uint64_t kBytes = 0x00ff00ff00ff00ff, kShorts = 0x0000ffff0000ffff;
  uint64_t pairs = (word & kBytes) * 31 + ((word >> 8) & kBytes);
  uint64_t quads = (pairs & kShorts) * power31(2) + ((pairs >> 16) & kShorts);
  return static_cast<uint32_t>(quads) * power31(4) + static_cast<uint32_t>(quads >> 32);
}

inline uint64_t load8(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}
inline uint32_t load4(const char* at) {
  uint32_t word;
  std::memcpy(&word, at, 4);
  return word;
}

constexpr uint64_t kNonAscii = 0x8080808080808080;
inline constexpr uint32_t kPowersOf31[8] = {power31(0), power31(1), power31(2), power31(3), power31(4), power31(5), power31(6), power31(7)};

/// Continues `hash` over text that is not all ASCII. Throws where it is no UTF-8.
[[gnu::noinline]] uint32_t hashOfWideText(uint32_t hash, std::string_view text, std::string_view whole);

/// One to seven bytes as a word whose upper bytes are the text and whose lower ones are zero, which add nothing to a hash.
inline uint64_t loadTail(const char* at, size_t size) {
  if (size >= 4) {
    uint64_t low = load4(at), high = load4(at + size - 4);
    return low << (64 - 8 * size) | high << 32;
  }
  auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(at[i])); };
  // First, middle and last byte: the same one several times where there are fewer than three.
  return byte(0) << (64 - 8 * size) | byte(size / 2) << (64 - 8 * (size - size / 2)) | byte(size - 1) << 56;
}

}  // namespace detail

/// Java's String.hashCode over the UTF-16 units of UTF-8 text. Throws (see throwInvalidUtf8) where it is no UTF-8.
inline int32_t javaHash(std::string_view text) {
  using namespace detail;
  const char* at = text.data();
  size_t left = text.size();
  uint32_t hash = 0;
  for (; left >= 16; at += 16, left -= 16) {
    uint64_t first = load8(at), second = load8(at + 8);
    if (__builtin_expect(((first | second) & kNonAscii) != 0, 0)) return static_cast<int32_t>(hashOfWideText(hash, {at, left}, text));
    hash = hash * power31(16) + (hashOf8(first) * power31(8) + hashOf8(second));
  }
  if (left >= 8) {
    uint64_t word = load8(at);
    if (__builtin_expect((word & kNonAscii) != 0, 0)) return static_cast<int32_t>(hashOfWideText(hash, {at, left}, text));
    hash = hash * power31(8) + hashOf8(word);
    at += 8, left -= 8;
  }
  if (left > 0) {
    uint64_t word = loadTail(at, left);
    if (__builtin_expect((word & kNonAscii) != 0, 0)) return static_cast<int32_t>(hashOfWideText(hash, {at, left}, text));
    hash = hash * kPowersOf31[left] + hashOf8(word);
  }
  return static_cast<int32_t>(hash);
}
inline int32_t javaHash(const std::string& text) { return javaHash(std::string_view(text)); }

// Exact types only, so that nothing is hashed as something else (a literal as bool, an enum as int).
template <std::same_as<bool> T>
inline int32_t javaHash(T value) { return value ? 1231 : 1237; }
template <std::same_as<char16_t> T>
inline int32_t javaHash(T value) { return value; }
/// Byte, Short, Integer: the value. Long: its halves, xor-ed.
template <detail::SignedInteger T>
inline int32_t javaHash(T value) {
  if constexpr (sizeof(T) <= 4) return value;
  else return static_cast<int32_t>(static_cast<uint32_t>(value) ^ static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32));
}
/// Float, Double: their bits, with one NaN, and 0.0 apart from -0.0.
template <std::floating_point T>
inline int32_t javaHash(T value) {
  if constexpr (sizeof(T) == 4) return static_cast<int32_t>(wireBits(value));
  else return javaHash(static_cast<int64_t>(wireBits(value)));
}


namespace detail {
template <class T>
struct IsKey : std::bool_constant<std::same_as<T, bool> || std::same_as<T, char16_t> || SignedInteger<T> || std::same_as<T, float> ||
                                  std::same_as<T, double> || std::same_as<T, std::string>> {};
template <class... F>
struct IsKey<std::tuple<F...>> : std::bool_constant<(IsKey<std::remove_const_t<std::remove_reference_t<F>>>::value && ...)> {};
template <class A, class B>
struct IsKey<std::pair<A, B>> : IsKey<std::tuple<A, B>> {};
/// Null is a field's value, not a key of its own: see Key.
template <class T>
struct IsKey<std::optional<T>> : IsKey<T> {};
template <HasFields T>
struct IsKey<T> : IsKey<FieldsOf<T>> {};
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
}  // namespace detail

/// What a stream can be keyed by: numbers, bool, strings, and structs, pairs and tuples of these, whose fields may be optional.
/// Flink refuses arrays and enums too: their Java hash is their identity.
template <class T>
concept Key = detail::IsKey<T>::value && Serializable<T> && !detail::kIsOptional<T>;

template <class T>
  requires HasFields<T>
int32_t javaHash(const T& value);
template <class... F>
int32_t javaHash(const std::tuple<F...>& value);
template <class A, class B>
int32_t javaHash(const std::pair<A, B>& value);
/// Null counts 0.
template <class T>
int32_t javaHash(const std::optional<T>& value) {
  return value ? javaHash(*value) : 0;
}

namespace detail {
/// Flink's TupleN.hashCode: h = h0, then h = 31 h + hi. A null field counts 0, and unlike a list's there is no leading 1.
template <class Fields>
int32_t hashOfFields(const Fields& fields) {
  uint32_t hash = 0;
  std::apply([&](const auto&... f) { ((hash = 31 * hash + static_cast<uint32_t>(javaHash(f))), ...); }, fields);
  return static_cast<int32_t>(hash);
}
}  // namespace detail

template <class T>
  requires HasFields<T>
int32_t javaHash(const T& value) {
  return detail::hashOfFields(fieldsOf(value));
}
template <class... F>
int32_t javaHash(const std::tuple<F...>& value) {
  return detail::hashOfFields(value);
}
template <class A, class B>
int32_t javaHash(const std::pair<A, B>& value) {
  return detail::hashOfFields(fieldsOf(value));
}

}  // namespace weir
