#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/operators/cells.h"
#include "weir/operators/line_reader.h"

namespace weir {

/// What is wrong with a row, as the end of a sentence that begins with its place: `line 7, column "flight": "x1" is not a whole number`.
/// Made only where a row is bad.
struct RowProblem {
  std::string column{};  ///< empty: of the row as a whole
  std::string what;
};

/// False and a problem where the row is no UTF-8.
bool checkUtf8Row(std::string_view row, RowProblem& problem);

/// Finds the rows of a CSV file (RFC 4180) and the cells of the columns that are asked for. The first line names the columns. A quoted cell
/// may hold commas, doubled quotes and line breaks. Where there are several columns an empty line is no row.
///
/// A format is used by one actor, for one file. Cells are valid until the next call of any method.
class CsvFormat {
 public:
  static constexpr std::string_view kColumnNoun = "column";

  /// Reads the header. An error where a column is missing, with those that exist.
  Result<void> begin(LineReader& lines, const std::vector<std::string>& columns);
  /// The bytes of the next row. False at the end of the file or where error() or that of `lines` says so.
  bool next(LineReader& lines, std::string_view& row);
  /// Requires: a cell for each column. False and a problem where the row is bad.
  bool parse(std::string_view row, std::span<Cell> cells, RowProblem& problem);
  /// Where the row began.
  int64_t lineNumber() const { return lineNumber_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr int32_t kNotAsked = -1;
  static constexpr size_t kMaxRowBytes = 1 << 24;
  bool joinLines(LineReader& lines, std::string_view& row);
  /// How many cells the row has; npos and a problem where it is none.
  size_t split(std::string_view row, std::span<Cell> cells, RowProblem& problem);
  const char* quotedCell(const char* at, const char* end, Cell& cell);
  std::string columnName(size_t column) const;

  std::vector<std::string> header_;
  std::vector<int32_t> cellOf_;  ///< by column of the file: the place of its cell, or kNotAsked
  int64_t lineNumber_ = 0;
  std::string joined_;     ///< a row that spans lines
  std::string unescaped_;  ///< what cells with doubled quotes point into
  std::optional<Error> error_;
};

/// A JSON object per line (RFC 8259); empty lines are no rows. Cells are found by key, other keys are passed over, of equal keys the last
/// counts. A missing key reads like null.
class JsonLinesFormat {
 public:
  static constexpr std::string_view kColumnNoun = "key";

  Result<void> begin(LineReader& lines, const std::vector<std::string>& columns);
  bool next(LineReader& lines, std::string_view& row);
  bool parse(std::string_view row, std::span<Cell> cells, RowProblem& problem);
  int64_t lineNumber() const { return lineNumber_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  class Parser;
  std::vector<std::string> columns_;
  int64_t lineNumber_ = 0;
  std::string unescaped_;
  std::optional<Error> error_;
};

/// Every line is a row of one cell.
class TextFormat {
 public:
  static constexpr std::string_view kColumnNoun = "field";

  Result<void> begin(LineReader&, const std::vector<std::string>&) { return {}; }
  bool next(LineReader& lines, std::string_view& row);
  bool parse(std::string_view row, std::span<Cell> cells, RowProblem& problem);
  int64_t lineNumber() const { return lineNumber_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  int64_t lineNumber_ = 0;
  std::optional<Error> error_;
};

}  // namespace weir
