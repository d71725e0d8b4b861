#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir {

/// Strings are UTF-8 in memory; Java's hash and Flink's wire speak of UTF-16 code units. Valid UTF-8 here is what Unicode says:
/// no overlong forms, no surrogates, nothing above U+10FFFF.

/// How many bytes from the start are ASCII (eight at a time, so exact only in whether it equals `size`: it may stop up to 7 early).
inline size_t asciiPrefix(const char* text, size_t size) {
  size_t at = 0;
  const auto isAsciiAt = [text](size_t i) {
    uint64_t word;
    std::memcpy(&word, text + i, 8);
    return (word & 0x8080808080808080) == 0;
  };
  for (; at + 8 <= size; at += 8)
    if (!isAsciiAt(at)) return at;
  // The last eight again with what is left: no loop whose end is hard to guess.
  if (size >= 8) return isAsciiAt(size - 8) ? size : at;
  for (; at < size; ++at)
    if (static_cast<uint8_t>(text[at]) & 0x80) return at;
  return size;
}
inline bool isAscii(std::string_view text) { return asciiPrefix(text.data(), text.size()) == text.size(); }

/// The code point that starts at `at`, which is then advanced past it; kInvalidCodePoint (and no advance) where there is none.
constexpr uint32_t kInvalidCodePoint = 0xffffffff;
inline uint32_t nextCodePoint(const uint8_t*& at, const uint8_t* end) {
  auto continues = [&](int i) { return (at[i] & 0xc0) == 0x80; };
  uint32_t first = *at;
  size_t left = static_cast<size_t>(end - at);
  if (first < 0x80) {
    ++at;
    return first;
  }
  if (first >= 0xc2 && first <= 0xdf && left >= 2 && continues(1)) {
    at += 2;
    return (first & 0x1f) << 6 | (at[-1] & 0x3f);
  }
  if ((first & 0xf0) == 0xe0 && left >= 3 && continues(1) && continues(2)) {
    uint32_t point = (first & 0x0f) << 12 | (at[1] & 0x3f) << 6 | (at[2] & 0x3f);
    if (point < 0x800 || (point >= 0xd800 && point <= 0xdfff)) return kInvalidCodePoint;
    at += 3;
    return point;
  }
  if ((first & 0xf8) == 0xf0 && left >= 4 && continues(1) && continues(2) && continues(3)) {
    uint32_t point = (first & 0x07) << 18 | (at[1] & 0x3f) << 12 | (at[2] & 0x3f) << 6 | (at[3] & 0x3f);
    if (point < 0x10000 || point > 0x10ffff) return kInvalidCodePoint;
    at += 4;
    return point;
  }
  return kInvalidCodePoint;
}

/// Calls `unit` with each UTF-16 code unit of `text`. Returns false at the first byte that is no UTF-8.
template <class F>
inline bool forEachUtf16Unit(std::string_view text, F&& unit) {
  auto at = reinterpret_cast<const uint8_t*>(text.data());
  auto end = at + text.size();
  while (at < end) {
    uint32_t point = nextCodePoint(at, end);
    if (point == kInvalidCodePoint) return false;
    if (point < 0x10000) {
      unit(static_cast<uint16_t>(point));
    } else {
      unit(static_cast<uint16_t>(0xd800 + ((point - 0x10000) >> 10)));
      unit(static_cast<uint16_t>(0xdc00 + ((point - 0x10000) & 0x3ff)));
    }
  }
  return true;
}

/// Writes a code point as UTF-8. Requires: a valid one, and four writable bytes.
inline char* putCodePoint(char* at, uint32_t point) {
  if (point < 0x80) {
    *at++ = static_cast<char>(point);
  } else if (point < 0x800) {
    *at++ = static_cast<char>(0xc0 | point >> 6);
    *at++ = static_cast<char>(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    *at++ = static_cast<char>(0xe0 | point >> 12);
    *at++ = static_cast<char>(0x80 | ((point >> 6) & 0x3f));
    *at++ = static_cast<char>(0x80 | (point & 0x3f));
  } else {
    *at++ = static_cast<char>(0xf0 | point >> 18);
    *at++ = static_cast<char>(0x80 | ((point >> 12) & 0x3f));
    *at++ = static_cast<char>(0x80 | ((point >> 6) & 0x3f));
    *at++ = static_cast<char>(0x80 | (point & 0x3f));
  }
  return at;
}

bool isValidUtf8(std::string_view text);

/// Fails the task: a string that is no UTF-8 can be neither sent nor hashed. A source should have refused it as a bad row.
[[noreturn, gnu::cold, gnu::noinline]] void throwInvalidUtf8(std::string_view text);

/// Joins UTF-16 code units, fed one by one, into UTF-8.
class Utf16ToUtf8 {
 public:
  explicit Utf16ToUtf8(char* at) : at_(at) {}
  /// False for a surrogate without its partner. Writes at most three bytes for each unit fed.
  bool feed(uint16_t unit) {
    if (high_ != 0) {
      if ((unit & 0xfc00) != 0xdc00) return false;
      at_ = putCodePoint(at_, 0x10000 + ((high_ - 0xd800u) << 10) + (unit - 0xdc00u));
      high_ = 0;
      return true;
    }
    if ((unit & 0xf800) != 0xd800) {
      at_ = putCodePoint(at_, unit);
      return true;
    }
    high_ = unit;
    return (unit & 0xfc00) == 0xd800;
  }
  /// False in the middle of a surrogate pair.
  bool complete() const { return high_ == 0; }
  char* end() const { return at_; }

 private:
  char* at_;
  uint16_t high_ = 0;
};

}  // namespace weir
