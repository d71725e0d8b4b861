#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "weir/record/serializer.h"
#include "weir/record/short_text.h"
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
constexpr uint64_t kNonAscii = 0x8080808080808080;
inline constexpr uint32_t kPowersOf31[8] = {power31(0), power31(1), power31(2), power31(3), power31(4), power31(5), power31(6), power31(7)};

/// Continues `hash` over text that is not all ASCII. Throws where it is no UTF-8.
[[gnu::noinline]] int32_t hashOfWideText(uint32_t hash, std::string_view text, std::string_view whole);

/// Up to seven bytes as a word that ends in them and begins with zeros, which add nothing to a hash.
inline uint64_t loadUpTo7(const char* at, size_t size) {
  if (size >= 4) {
    uint32_t first, last;  // they overlap
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + size - 4, 4);
    return uint64_t{first} << (64 - 8 * size) | uint64_t{last} << 32;
  }
  if (size == 0) return 0;
  auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<uint8_t>(at[i])); };
  // First, middle and last one: the same one several times where there are fewer than three.
  return byte(0) << (64 - 8 * size) | byte(size / 2) << (64 - 8 * (size - size / 2)) | byte(size - 1) << 56;
}

/// Hashes whole blocks from the start of long text, as far as they are ASCII, with the widest instructions that the processor has.
/// Returns how many bytes it did.
[[gnu::noinline]] size_t hashOfBlocks(const char* text, size_t size, uint32_t& hash);
inline constexpr size_t kLongText = 128;

}  // namespace detail

/// Java's String.hashCode over the UTF-16 units of UTF-8 text. Throws (see throwInvalidUtf8) where it is no UTF-8.
inline int32_t javaHash(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  uint32_t hash = 0;
  if (text.size() < 8) {
    uint64_t word = detail::loadUpTo7(at, text.size());
    if (__builtin_expect((word & detail::kNonAscii) != 0, 0)) return detail::hashOfWideText(hash, text, text);
    return static_cast<int32_t>(detail::hashOf8(word));
  }
  if (text.size() >= detail::kLongText) at += detail::hashOfBlocks(at, text.size(), hash);
  for (; end - at >= 8; at += 8) {
    uint64_t word = detail::load8(at);
    if (__builtin_expect((word & detail::kNonAscii) != 0, 0)) return detail::hashOfWideText(hash, {at, end}, text);
    hash = hash * detail::power31(8) + detail::hashOf8(word);
  }
  if (at < end) {
    // The last eight bytes without those that are done: zeros in front add nothing.
    auto left = static_cast<size_t>(end - at);
    uint64_t word = detail::load8(end - 8) >> (64 - 8 * left) << (64 - 8 * left);
    if (__builtin_expect((word & detail::kNonAscii) != 0, 0)) return detail::hashOfWideText(hash, {at, end}, text);
    hash = hash * detail::kPowersOf31[left] + detail::hashOf8(word);
  }
  return static_cast<int32_t>(hash);
}

namespace detail {
/// The hash of 16 ASCII characters, zeros behind the end of the text: a power of 31 too large for each zero.
constexpr uint32_t hashOf16(uint64_t first, uint64_t second) { return hashOf8(first) * power31(8) + hashOf8(second); }

/// How the hashes of the two blocks of a ShortText make its own. Its last block counts where it has more than 16 characters; the first one
/// then without those that both have.
struct ShortHash {
  std::array<uint32_t, ShortText::kMaxSize + 1> first{}, last{};
  std::array<uint64_t, ShortText::kMaxSize + 1> low{}, high{};
  constexpr ShortHash() {
    uint32_t inverse = 1;  // of 31, by Newton's iteration: every odd number has one modulo 2^32
    for (int i = 0; i < 5; ++i) inverse *= 2 - 31 * inverse;
    for (size_t size = 0; size <= ShortText::kMaxSize; ++size) {
      const size_t alone = size > ShortText::kBlock ? size - ShortText::kBlock : size;
      first[size] = size > ShortText::kBlock ? power31(16) : 1;
      for (size_t zeros = alone; zeros < ShortText::kBlock; ++zeros) first[size] *= inverse;
      last[size] = size > ShortText::kBlock ? 1 : 0;
      low[size] = alone >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * alone) - 1;
      high[size] = alone >= 16 ? ~uint64_t{0} : alone <= 8 ? 0 : (uint64_t{1} << 8 * (alone - 8)) - 1;
    }
  }
};
inline constexpr ShortHash kShortHash;
}  // namespace detail

inline int32_t javaHash(const std::string& text) {
  if (__builtin_expect(ShortText::fits(text), 1)) {
    const ShortText words(text);
    if (__builtin_expect(words.isAscii(), 1)) {
      const size_t size = text.size();
      const uint32_t first = detail::hashOf16(words.word0() & detail::kShortHash.low[size], words.word1() & detail::kShortHash.high[size]);
      const uint32_t last = detail::hashOf16(words.word2(), words.word3());
      return static_cast<int32_t>(first * detail::kShortHash.first[size] + last * detail::kShortHash.last[size]);
    }
  }
  return javaHash(std::string_view(text));
}

// Exact types only, so that nothing is hashed as something else (a literal as bool, an enum as int).
template <std::same_as<bool> T>
inline int32_t javaHash(T value) {
  return value ? 1231 : 1237;
}
template <std::same_as<char16_t> T>
inline int32_t javaHash(T value) {
  return value;
}
/// Byte, Short, Integer: the value. Long: its halves, xor-ed.
template <detail::SignedInteger T>
inline int32_t javaHash(T value) {
  if constexpr (sizeof(T) <= 4)
    return value;
  else
    return static_cast<int32_t>(static_cast<uint32_t>(value) ^ static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32));
}
/// Float, Double: their bits, with one NaN, and 0.0 apart from -0.0.
template <std::floating_point T>
inline int32_t javaHash(T value) {
  if constexpr (sizeof(T) == 4)
    return static_cast<int32_t>(wireBits(value));
  else
    return javaHash(static_cast<int64_t>(wireBits(value)));
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
requires HasFields<T> int32_t javaHash(const T& value);
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
requires HasFields<T> int32_t javaHash(const T& value) { return detail::hashOfFields(fieldsOf(value)); }
template <class... F>
int32_t javaHash(const std::tuple<F...>& value) {
  return detail::hashOfFields(value);
}
template <class A, class B>
int32_t javaHash(const std::pair<A, B>& value) {
  return detail::hashOfFields(fieldsOf(value));
}

}  // namespace weir
