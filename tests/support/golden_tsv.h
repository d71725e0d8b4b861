#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::testing {

/// One line of a golden table: its columns, with \t \n \r \\ resolved.
struct GoldenRow {
  int line = 0;
  std::vector<std::string> columns;
  /// Empty where the row has fewer columns.
  std::string column(size_t i) const { return i < columns.size() ? columns[i] : ""; }
};

inline std::string unescaped(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    switch (text[++i]) {
      case 't': result += '\t'; break;
      case 'n': result += '\n'; break;
      case 'r': result += '\r'; break;
      default: result += text[i];
    }
  }
  return result;
}

/// The rows of tests/golden/`name` without its first line, a comment.
inline std::vector<GoldenRow> goldenRows(const std::string& name) {
  std::ifstream file(std::string(WEIR_GOLDEN_DIR) + "/" + name);
  if (!file) throw std::runtime_error("golden file " + name + " is missing");
  std::vector<GoldenRow> rows;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (number == 1) continue;
    GoldenRow row{number, {}};
    for (size_t from = 0; from <= line.size();) {
      const size_t tab = std::min(line.find('\t', from), line.size());
      row.columns.push_back(unescaped(line.substr(from, tab - from)));
      from = tab + 1;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The messages of a chain "Class: message <- Class: message", without the classes.
inline std::vector<std::string> goldenMessages(const std::string& chain) {
  std::vector<std::string> messages;
  for (size_t from = 0; from < chain.size();) {
    const size_t end = std::min(chain.find(" <- ", from), chain.size());
    const std::string part = chain.substr(from, end - from);
    messages.push_back(part.substr(part.find(": ") + 2));
    from = end + 4;
  }
  return messages;
}

}  // namespace weir::testing
