#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "support/golden_dir.h"

// Reading of tests/golden: what a real Flink wrote, in tab-separated lines. `file` is relative to that folder.
namespace weir::golden {

struct Row {
  int line = 0;  ///< in the file, from 1, for messages
  std::vector<std::string> fields;
  const std::string& operator[](size_t i) const { return fields.at(i); }
};

/// The parts of a text; empty ones count, also the last.
inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(separator, from), text.size());
    parts.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// A whole file; fails the test, and returns nothing, if it cannot be read.
inline std::string readText(const std::string& file) {
  const std::string path = folder() + "/" + file;
  std::ifstream in(path, std::ios::binary);
  if (!in) ADD_FAILURE() << "cannot read the golden file " << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The rows of a file. Empty lines and comments are left out: a comment starts with # and has no tab (rows may start with # too).
/// Fields may be empty, the last one as well. Fails the test if there is no row, so that a loop over rows cannot pass on nothing.
inline std::vector<Row> readRows(const std::string& file) {
  std::vector<Row> rows;
  const std::string text = readText(file);
  int number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line(text.data() + start, end - start);
    start = end + 1;
    ++number;
    if (line.empty() || (line.front() == '#' && line.find('\t') == line.npos)) continue;
    rows.push_back({number, split(line, '\t')});
  }
  if (rows.empty()) ADD_FAILURE() << "the golden file " << file << " has no rows";
  return rows;
}

/// A field with the escapes \t \n \r \\ replaced, as the files under config/ use them.
inline std::string unescape(std::string_view field) {
  std::string out;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] != '\\' || i + 1 == field.size()) {
      out += field[i];
      continue;
    }
    const char next = field[++i];
    out += next == 't' ? '\t' : next == 'n' ? '\n' : next == 'r' ? '\r' : next;
  }
  return out;
}

/// The bytes of a field of hex digits. Fails the test on anything else.
inline std::vector<std::byte> fromHex(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    const size_t high = kDigits.find(hex[i]), low = kDigits.find(hex[i + 1]);
    if (high == kDigits.npos || low == kDigits.npos) break;
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  if (bytes.size() * 2 != hex.size()) ADD_FAILURE() << "'" << hex << "' is not hex";
  return bytes;
}

}  // namespace weir::golden
