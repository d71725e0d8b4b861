#pragma once

#include <string>
#include <vector>

#include "support/golden.h"

namespace weir::testing {

/// One line of a golden table with its escapes resolved: a parameter of a test.
struct GoldenRow {
  int line = 0;
  std::vector<std::string> columns;
  /// Empty where the row has fewer columns.
  std::string column(size_t i) const { return i < columns.size() ? columns[i] : ""; }
};

inline std::vector<GoldenRow> goldenRows(const std::string& name) {
  std::vector<GoldenRow> rows;
  for (const golden::Row& row : golden::readRows(name)) {
    GoldenRow& result = rows.emplace_back(GoldenRow{row.line, {}});
    for (const std::string& field : row.fields) result.columns.push_back(golden::unescape(field));
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
