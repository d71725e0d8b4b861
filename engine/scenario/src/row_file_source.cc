#include <fmt/format.h>

#include "row_sources.h"

namespace weir {
namespace {

/// Reads into alternative T of a value, whose memory is used again.
template <class T>
const char* parseInto(const Cell& cell, Value& into) {
  if (!std::holds_alternative<T>(into)) into.emplace<T>();
  return parseCell(cell, std::get<T>(into));
}

const char* parseTimestampInto(const Cell& cell, Value& into) {
  std::optional<int64_t> parsed;
  if (cell.kind == Cell::Kind::kText || cell.kind == Cell::Kind::kString || cell.kind == Cell::Kind::kNumber)
    parsed = parseTimestamp(cell.text);
  if (!parsed) return "a timestamp: epoch milliseconds, or such as 2013-01-01T05:15:00Z";
  into = *parsed;
  return nullptr;
}

/// Null, or what was expected.
const char* parseColumn(const Cell& cell, const Column& column, Value& into) {
  if (column.nullable && (cell.kind == Cell::Kind::kAbsent || cell.kind == Cell::Kind::kEmpty)) {
    into.emplace<std::monostate>();
    return nullptr;
  }
  switch (column.type) {
    case ColumnType::kBool: return parseInto<bool>(cell, into);
    case ColumnType::kInt: return parseInto<int32_t>(cell, into);
    case ColumnType::kLong: return parseInto<int64_t>(cell, into);
    case ColumnType::kDouble: return parseInto<double>(cell, into);
    case ColumnType::kString: return parseInto<std::string>(cell, into);
    case ColumnType::kTimestamp: return parseTimestampInto(cell, into);
  }
  __builtin_unreachable();
}

std::string describeProblem(const Cell& cell, const Column& column, const char* expected) {
  if (cell.kind == Cell::Kind::kAbsent || cell.kind == Cell::Kind::kEmpty)
    return fmt::format("there is no value, expected is {}; give the column the type \"optional {}\" where it may be missing", expected,
                       toString(column.type));
  return describeBadCell(cell, expected);
}

}  // namespace

template <class Format>
RowFileSource<Format>::RowFileSource(std::string path, Schema schema, std::optional<size_t> timestampColumn, BadRows badRows)
    : path_(std::move(path)), schema_(std::move(schema)), timestampColumn_(timestampColumn), badRows_(badRows) {}

template <class Format>
Result<void> RowFileSource<Format>::validate(FileSystem& files) const {
  Scan scan;
  WEIR_TRY(begin(files, scan));
  std::string_view row;
  if (!scan.format.next(*scan.lines, row)) return ended(scan);
  StreamRecord<Row> record;
  std::string problem;
  if (badRows_ == BadRows::kFail && !read(scan, row, record, problem)) return Error{ErrorCode::kInvalidArgument, std::move(problem)};
  return {};
}

template <class Format>
void RowFileSource<Format>::open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
  scan_.reset();
  if (splits.empty()) return;
  scan_ = std::make_shared<Scan>();
  scan_->files.emplace(context.fileSystem, context.execution);
  scan_->dealer.emplace(splits);
  if (auto begun = begin(*scan_->files, *scan_); begun.has_error()) throwFileError(begun.error());
}

template <class Format>
size_t RowFileSource<Format>::poll(std::span<StreamRecord<Row>> into, bool& end) {
  end = scan_ == nullptr;
  size_t count = 0;
  for (size_t rows = 0; !end && count < into.size() && rows < kMaxRowsPerPoll; ++rows) {
    std::string_view row;
    if (!scan_->format.next(*scan_->lines, row)) {
      if (auto result = ended(*scan_); result.has_error()) throwFileError(result.error());
      end = true;
    } else if (SourceSplit* split = scan_->dealer->next()) {
      std::string problem;
      if (read(*scan_, row, into[count], problem))
        ++count;
      else if (badRows_ == BadRows::kFail)
        throwBadRow(problem);
      else
        counter_->add(problem);
      ++split->position;
    }
  }
  return count;
}

template <class Format>
Result<void> RowFileSource<Format>::begin(FileSystem& files, Scan& scan) const {
  scan.cells.resize(schema_.size());
  WEIR_ASSIGN(scan.lines, openSourceFile(files, path_, {}));
  return scan.format.begin(*scan.lines, schema_.names());
}

template <class Format>
Result<void> RowFileSource<Format>::ended(const Scan& scan) {
  if (scan.lines->error()) return *scan.lines->error();
  if (scan.format.error()) return *scan.format.error();
  return {};
}

template <class Format>
bool RowFileSource<Format>::read(Scan& scan, std::string_view row, StreamRecord<Row>& into, std::string& problem) const {
  RowProblem bad;
  bool good = scan.format.parse(row, scan.cells, bad);
  into.value.values.resize(schema_.size());
  for (size_t i = 0; good && i < schema_.size(); ++i) {
    const char* expected = parseColumn(scan.cells[i], schema_[i], into.value.values[i]);
    if (expected == nullptr) continue;
    bad = {schema_[i].name, describeProblem(scan.cells[i], schema_[i], expected)};
    good = false;
  }
  into.hasTimestamp = good && timestampColumn_ && !isNull(into.value.values[*timestampColumn_]);
  if (into.hasTimestamp) into.timestamp = std::get<int64_t>(into.value.values[*timestampColumn_]);
  if (!good) problem = describeBadRow(path_, scan.format.lineNumber(), Format::kColumnNoun, bad);
  return good;
}

template class RowFileSource<CsvFormat>;
template class RowFileSource<JsonLinesFormat>;

}  // namespace weir
