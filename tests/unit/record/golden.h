#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

inline std::vector<uint8_t> fromHex(std::string_view hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}
inline std::string textFromHex(std::string_view hex) {
  auto bytes = fromHex(hex);
  return {bytes.begin(), bytes.end()};
}
inline std::string toHex(std::span<const uint8_t> bytes) {
  std::string hex;
  for (uint8_t byte : bytes) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return hex;
}

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// A row of a golden table, with the number of its line for messages.
struct Row {
  int line = 0;
  std::vector<std::string> cells;
  const std::string& operator[](size_t i) const { return cells.at(i); }
};
/// All rows of tests/golden/bytes/`name`; comments are skipped, an absent file fails the test.
inline std::vector<Row> goldenRows(const std::string& name) {
  std::ifstream file(std::string(WEIR_GOLDEN_DIR) + "/bytes/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::vector<Row> rows;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.empty() && line[0] != '#') rows.push_back({number, split(line, '\t')});
  }
  return rows;
}

}  // namespace weir::test
