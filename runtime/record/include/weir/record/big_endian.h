#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weir {

namespace detail {
template <size_t N>
struct WireWord;
template <>
struct WireWord<1> {
  using type = uint8_t;
};
template <>
struct WireWord<2> {
  using type = uint16_t;
};
template <>
struct WireWord<4> {
  using type = uint32_t;
};
template <>
struct WireWord<8> {
  using type = uint64_t;
};

template <class U>
constexpr U toBigEndian(U word) {
  if constexpr (std::endian::native == std::endian::big || sizeof(U) == 1)
    return word;
  else if constexpr (sizeof(U) == 2)
    return __builtin_bswap16(word);
  else if constexpr (sizeof(U) == 4)
    return __builtin_bswap32(word);
  else
    return __builtin_bswap64(word);
}
}  // namespace detail

/// The bits of a number as Java writes it: every NaN is the one canonical NaN, so that equal values are equal bytes on every machine.
template <class T>
constexpr auto wireBits(T value) {
  using U = typename detail::WireWord<sizeof(T)>::type;
  if constexpr (std::is_same_v<T, float>)
    return value != value ? U{0x7fc00000} : std::bit_cast<U>(value);
  else if constexpr (std::is_same_v<T, double>)
    return value != value ? U{0x7ff8000000000000} : std::bit_cast<U>(value);
  else
    return static_cast<U>(value);
}

/// Writes an integer, a float or a double with the most significant byte first. Returns the first byte behind it.
/// Requires: sizeof(T) writable bytes at `at`.
template <class T>
requires std::is_arithmetic_v<T>
inline uint8_t* storeBigEndian(uint8_t* at, T value) {
  auto word = detail::toBigEndian(wireBits(value));
  std::memcpy(at, &word, sizeof word);
  return at + sizeof word;
}

/// Requires: sizeof(T) readable bytes at `at`.
template <class T>
requires std::is_arithmetic_v<T>
inline T loadBigEndian(const uint8_t* at) {
  typename detail::WireWord<sizeof(T)>::type word;
  std::memcpy(&word, at, sizeof word);
  return std::bit_cast<T>(detail::toBigEndian(word));
}

}  // namespace weir
