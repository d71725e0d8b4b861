#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/scenario/row.h"

namespace weir {

/// The types of columns. `int` and `long` are Java's: keys of the two hash differently. A timestamp is a long of epoch milliseconds.
enum class ColumnType : uint8_t { kBool, kInt, kLong, kDouble, kString, kTimestamp };

std::string_view toString(ColumnType type);
std::optional<ColumnType> columnTypeOf(std::string_view word);
const std::vector<std::string>& columnTypeWords();

struct Column {
  std::string name;
  ColumnType type = ColumnType::kString;
  bool nullable = false;
  bool operator==(const Column&) const = default;
  /// "long", "optional long"
  std::string typeText() const { return (nullable ? "optional " : "") + std::string(toString(type)); }
};

/// What the rows of a stream look like. A value.
class Schema {
 public:
  Schema() = default;
  explicit Schema(std::vector<Column> columns) : columns_(std::move(columns)) {}
  const std::vector<Column>& columns() const { return columns_; }
  size_t size() const { return columns_.size(); }
  const Column& operator[](size_t index) const { return columns_[index]; }
  std::optional<size_t> find(std::string_view name) const;
  std::vector<std::string> names() const;
  bool operator==(const Schema&) const = default;

 private:
  std::vector<Column> columns_;
};

/// Letters, digits and underscores, not beginning with a digit, and no word of the expression language.
bool isColumnName(std::string_view name);

/// Epoch milliseconds as ISO 8601 in UTC: 2013-01-01T05:15:00Z, with milliseconds where there are some.
void appendTimestamp(std::string& out, int64_t epochMillis);
/// Epoch milliseconds of a number, or of 2013-01-01, 2013-01-01T05:15, 2013-01-01 05:15:00.250, ...Z, ...+02:00.
std::optional<int64_t> parseTimestamp(std::string_view text);

/// One value as print shows it.
void appendValue(std::string& out, const Value& value, ColumnType type);
/// {carrier=AA, sum=3}
void appendRowText(std::string& out, const Row& row, const Schema& schema);
void appendRowCsv(std::string& out, const Row& row, const Schema& schema);
std::string schemaCsvHeader(const Schema& schema);
void appendRowJson(std::string& out, const Row& row, const Schema& schema);

}  // namespace weir
