#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "weir/record/data_input.h"
#include "weir/record/short_text.h"
#include "weir/record/utf8.h"

namespace weir {

/// Flink's StringValue layout: the number of UTF-16 code units plus one (zero stands for null), then each unit; all of them in
/// groups of 7 bits, the lowest first, with the high bit set on every group but the last. For ASCII text that is one byte a
/// character, so a length and a copy.

/// At most this many bytes for `text`: a three-byte character takes three, a four-byte one (two surrogates) six. A short text is written as
/// whole blocks.
inline size_t stringValueMaxSize(std::string_view text) {
  return 5 + std::max(ShortText::kBlock, text.size() + text.size() / 2);
}

inline uint8_t* putGroups(uint8_t* at, uint32_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<uint8_t>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<uint8_t>(value);
  return at;
}

namespace detail {
[[gnu::noinline]] uint8_t* writeWideString(uint8_t* at, std::string_view text);
[[gnu::noinline]] bool readWideString(DataInput& in, size_t units, std::string& into);
}  // namespace detail

/// Requires: stringValueMaxSize(text) writable bytes. Throws (see throwInvalidUtf8) where `text` is no UTF-8.
inline uint8_t* writeStringValue(uint8_t* at, std::string_view text) {
  if (__builtin_expect(!isAscii(text), 0)) return detail::writeWideString(at, text);
  at = putGroups(at, static_cast<uint32_t>(text.size()) + 1);
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

/// The same for what can be read in whole blocks.
inline uint8_t* writeStringValue(uint8_t* at, const std::string& text) {
  if (__builtin_expect(ShortText::fits(text), 1)) {
    const ShortText words(text);
    if (__builtin_expect(words.isAscii(), 1)) {
      *at++ = static_cast<uint8_t>(text.size() + 1);
      words.copyTo(at);
      return at + text.size();
    }
  }
  return writeStringValue(at, std::string_view(text));
}

/// The length field: units + 1, or 0 for null. Fails the input where more units are announced than bytes are left.
inline uint32_t readStringLength(DataInput& in) {
  uint32_t value = in.readUnsignedByte();
  if (__builtin_expect(value >= 0x80, 0)) {
    value &= 0x7f;
    for (int shift = 7;; shift += 7) {
      uint32_t group = in.readUnsignedByte();
      if (shift == 28 && group > 0x0f) {
        in.fail("announces a string longer than any string can be");
        return 0;
      }
      value |= (group & 0x7f) << shift;
      if (group < 0x80) break;
    }
  }
  if (__builtin_expect(value > in.remaining() + 1, 0)) {
    in.fail("announces a string longer than its bytes");
    return 0;
  }
  return value;
}

/// Reads what follows the length into `into`, whose memory is reused.
inline bool readStringUnits(DataInput& in, size_t units, std::string& into) {
  auto text = reinterpret_cast<const char*>(in.at());
  const bool isAscii = units <= ShortText::kMaxSize && in.remaining() >= ShortText::kBlock ? ShortText(text, units).isAscii()
                                                                                         : asciiPrefix(text, units) == units;
  if (__builtin_expect(!isAscii, 0)) return detail::readWideString(in, units, into);
  into.assign(text, units);
  in.skipTo(in.at() + units);
  return true;
}

/// Reads a string; null (which a std::string cannot be) fails the input.
inline bool readStringValue(DataInput& in, std::string& into) {
  uint32_t length = readStringLength(in);
  if (__builtin_expect(length == 0, 0)) return in.fail("holds null where a string must be; use std::optional<std::string>");
  return readStringUnits(in, length - 1, into);
}

}  // namespace weir
