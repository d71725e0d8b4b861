#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/golden.h"

// tests/golden/bytes: values beside their bytes in hex, as uint8_t, which is what serializers write.
namespace weir::test {

using Row = golden::Row;

/// The rows of tests/golden/bytes/`name`.
inline std::vector<Row> goldenRows(const std::string& name) { return golden::readRows("bytes/" + name); }

inline std::string textFromHex(std::string_view hex) {
  std::string text;
  for (const std::byte byte : golden::fromHex(hex)) text += static_cast<char>(byte);
  return text;
}
inline std::vector<uint8_t> fromHex(std::string_view hex) {
  const std::string text = textFromHex(hex);
  return {text.begin(), text.end()};
}
inline std::string toHex(std::span<const uint8_t> bytes) {
  std::string hex;
  for (uint8_t byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

using golden::split;

}  // namespace weir::test
