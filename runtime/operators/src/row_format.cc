#include "weir/operators/row_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weir/operators/nearest.h"
#include "weir/record/utf8.h"

namespace weir {
namespace {

constexpr size_t kNone = std::string::npos;

std::string quotedList(const std::vector<std::string>& names) {
  constexpr size_t kMost = 50;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i > 0 ? ", \"" : "\"") + names[i] + "\"";
  return names.size() > kMost ? text + fmt::format(" and {} more", names.size() - kMost) : text;
}

/// Whether a quote is open at the end of `line`, where it was at its begin. A quote opens at the begin of a cell only.
bool quoteOpenAtEnd(std::string_view line, bool open) {
  bool cellBegins = !open;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (open) {
      if (c != '"') continue;
      if (i + 1 < line.size() && line[i + 1] == '"')
        ++i;
      else
        open = false;
    } else {
      open = cellBegins && c == '"';
      cellBegins = c == ',';
    }
  }
  return open;
}

}  // namespace

bool checkUtf8Row(std::string_view row, RowProblem& problem) {
  if (isValidUtf8(row)) return true;
  auto at = reinterpret_cast<const uint8_t*>(row.data());
  const auto begin = at, end = at + row.size();
  while (nextCodePoint(at, end) != kInvalidCodePoint) continue;
  problem.what = fmt::format("is not valid UTF-8 (byte 0x{:02x} at position {}): convert the file to UTF-8", *at, at - begin + 1);
  return false;
}

Result<void> CsvFormat::begin(LineReader& lines, const std::vector<std::string>& columns) {
  const std::string& path = lines.path();
  std::string_view row;
  if (!next(lines, row)) {
    if (lines.error()) return *lines.error();
    if (error_) return *error_;
    return Error{ErrorCode::kInvalidArgument, path + " is empty: its first line has to name the columns"};
  }
  header_.clear();
  RowProblem problem;
  cellOf_.assign(std::count(row.begin(), row.end(), ',') + 1, 0);
  for (size_t i = 0; i < cellOf_.size(); ++i) cellOf_[i] = static_cast<int32_t>(i);
  std::vector<Cell> names(cellOf_.size());
  const size_t count = split(row, names, problem);
  if (count == kNone) return Error{ErrorCode::kInvalidArgument, fmt::format("{} line {}, the header, {}", path, lineNumber_, problem.what)};
  for (size_t i = 0; i < count; ++i) header_.emplace_back(names[i].text);

  cellOf_.assign(count, kNotAsked);
  for (size_t field = 0; field < columns.size(); ++field) {
    const auto found = std::find(header_.begin(), header_.end(), columns[field]);
    if (found == header_.end()) {
      const std::string close = nearest(columns[field], header_);
      return Error{ErrorCode::kInvalidArgument, fmt::format("{} has no column \"{}\"{}; its columns are {}", path, columns[field],
                                                            close.empty() ? "" : ": did you mean \"" + close + "\"?", quotedList(header_))};
    }
    if (std::find(found + 1, header_.end(), columns[field]) != header_.end())
      return Error{ErrorCode::kInvalidArgument, fmt::format("{} has two columns \"{}\": rename one of them", path, columns[field])};
    int32_t& cell = cellOf_[static_cast<size_t>(found - header_.begin())];
    if (cell != kNotAsked)
      return Error{ErrorCode::kInvalidArgument, fmt::format("column \"{}\" of {} is asked for twice: name it once", columns[field], path)};
    cell = static_cast<int32_t>(field);
  }
  return {};
}

bool CsvFormat::next(LineReader& lines, std::string_view& row) {
  do {
    if (!lines.next(row)) return false;
  } while (row.empty() && cellOf_.size() != 1);
  lineNumber_ = lines.lineNumber();
  if (std::memchr(row.data(), '"', row.size()) == nullptr || !quoteOpenAtEnd(row, false)) return true;
  return joinLines(lines, row);
}

bool CsvFormat::joinLines(LineReader& lines, std::string_view& row) {
  joined_.assign(row);
  for (bool open = true; open;) {
    joined_ += lines.lineEnd();
    std::string_view line;
    const bool more = joined_.size() <= kMaxRowBytes && lines.next(line);
    if (lines.error()) return false;
    if (!more) {
      error_ = Error{ErrorCode::kInvalidArgument,
                     fmt::format("{} line {}: a quote is opened and not closed before {}; close it", lines.path(), lineNumber_,
                                 joined_.size() > kMaxRowBytes ? fmt::format("{} bytes later", kMaxRowBytes) : "the end of the file")};
      return false;
    }
    joined_ += line;
    open = quoteOpenAtEnd(line, true);
  }
  row = joined_;
  return true;
}

bool CsvFormat::parse(std::string_view row, std::span<Cell> cells, RowProblem& problem) {
  if (!checkUtf8Row(row, problem)) return false;
  const size_t count = split(row, cells, problem);
  if (count == kNone) return false;
  if (count == cellOf_.size()) return true;
  problem.what = fmt::format("has {} cell{} where the header names {} columns", count, count == 1 ? "" : "s", cellOf_.size());
  return false;
}

size_t CsvFormat::split(std::string_view row, std::span<Cell> cells, RowProblem& problem) {
  unescaped_.clear();
  if (unescaped_.capacity() < row.size()) unescaped_.reserve(row.size());  // cells point into it: it must not move
  const char* at = row.data();
  const char* const end = at + row.size();
  for (size_t column = 0;; ++column) {
    Cell cell;
    if (at != end && *at == '"') {
      at = quotedCell(at, end, cell);
      if (at == nullptr || (at != end && *at != ',')) {
        problem = {columnName(column), "has text behind its closing quote; double a quote that belongs to the cell"};
        return kNone;
      }
    } else {
      const char* const begin = at;
      bool quote = false;
      for (; at != end && *at != ','; ++at) quote |= *at == '"';
      cell = {begin == at ? Cell::Kind::kEmpty : Cell::Kind::kText, {begin, static_cast<size_t>(at - begin)}};
      if (quote) {
        problem = {columnName(column), "has a quote in the middle; put the cell in quotes and double the quotes in it"};
        return kNone;
      }
    }
    if (column < cellOf_.size() && cellOf_[column] != kNotAsked) cells[static_cast<size_t>(cellOf_[column])] = cell;
    if (at == end) return column + 1;
    ++at;
  }
}

const char* CsvFormat::quotedCell(const char* at, const char* end, Cell& cell) {
  const char* const begin = ++at;
  const auto findQuote = [&] { return static_cast<const char*>(std::memchr(at, '"', static_cast<size_t>(end - at))); };
  const char* quote = findQuote();
  if (quote == nullptr) return nullptr;
  if (quote + 1 == end || quote[1] != '"') {
    cell = {Cell::Kind::kText, {begin, static_cast<size_t>(quote - begin)}};
    return quote + 1;
  }
  const size_t from = unescaped_.size();
  while (quote != nullptr) {
    unescaped_.append(at, quote);
    at = quote + 1;
    if (at == end || *at != '"') {
      cell = {Cell::Kind::kText, std::string_view(unescaped_).substr(from)};
      return at;
    }
    unescaped_ += '"';
    ++at;
    quote = findQuote();
  }
  return nullptr;
}

std::string CsvFormat::columnName(size_t column) const {
  return column < header_.size() ? header_[column] : std::to_string(column + 1);
}

bool TextFormat::next(LineReader& lines, std::string_view& row) {
  lineNumber_ = lines.lineNumber() + 1;
  return lines.next(row);
}

bool TextFormat::parse(std::string_view row, std::span<Cell> cells, RowProblem& problem) {
  if (!checkUtf8Row(row, problem)) return false;
  cells[0] = {row.empty() ? Cell::Kind::kEmpty : Cell::Kind::kText, row};
  return true;
}

}  // namespace weir
