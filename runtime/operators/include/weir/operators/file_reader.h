#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/actor_file_system.h"
#include "weir/base/mutex.h"
#include "weir/operators/row_format.h"
#include "weir/operators/source.h"

namespace weir {

/// What happens to rows that cannot be read. A file that cannot be read any further always fails the task.
enum class BadRows { kFail, kSkipAndCount };

/// How many rows were skipped, over all subtasks and attempts of a source. Any thread.
class BadRowCounter {
 public:
  void add(const std::string& problem);
  int64_t count() const;
  /// What was wrong with the first one; empty where there is none.
  std::string firstProblem() const;

 private:
  mutable Mutex mutex_;
  int64_t count_ = 0;
  std::string firstProblem_;
};

/// Says of each row of a file, in order, whether this subtask reads it: row r belongs to split r mod n, and what a split has passed by its
/// position was read before. Used by one actor.
class RowDealer {
 public:
  /// `splits` outlives this and is kept up to date by those who read.
  explicit RowDealer(std::vector<SourceSplit>& splits);
  /// The split whose row comes next, if it is to be read now. Whoever has read it advances the split's position.
  SourceSplit* next() {
    SourceSplit* split = splitOf_[turn_];
    const bool takes = split != nullptr && split->position == round_;
    if (++turn_ == splitOf_.size()) {
      turn_ = 0;
      ++round_;
    }
    return takes ? split : nullptr;
  }

 private:
  std::vector<SourceSplit*> splitOf_;  ///< by split id; null: of another subtask
  size_t turn_ = 0;
  int64_t round_ = 0;
};

/// The sentence that a bad row is reported with.
std::string describeBadRow(const std::string& path, int64_t lineNumber, std::string_view noun, const RowProblem& problem);
/// "\"abc\" is not a whole number ..."
std::string describeBadCell(const Cell& cell, const char* expected);
[[noreturn]] void throwFileError(const Error& error);
[[noreturn]] void throwBadRow(const std::string& problem);
/// Opens the file of a source; where there is none, the error says what lies beside it.
Result<LineReader> openSourceFile(FileSystem& files, const std::string& path, LineReaderOptions options);
Result<void> checkColumnCount(const std::string& path, size_t columns, size_t fields);

/// Reads the rows of a text file as T: a struct with WEIR_FIELDS, a tuple, or a single value. See CsvReader, JsonLinesReader,
/// TextLineReader.
///
/// Fulfils SourceReader. Each subtask reads the whole file and takes the rows of its splits, in the order of the file. A split's position
/// counts its rows, skipped bad ones too. Flink: FileSource with a StreamFormat. Differs: splits are rows dealt in turn, not byte ranges.
template <class T, class Format>
class RowFileReader {
 public:
  using Element = T;
  static constexpr bool kBatches = true;

  /// `columns` of the file for the fields of T, in order.
  explicit RowFileReader(std::string path, std::vector<std::string> columns = fieldNames<T>())
      : path_(std::move(path)), columns_(std::move(columns)) {}
  /// At least so many splits: the largest parallelism that the source can be rescaled to.
  RowFileReader& splits(int32_t count) { return splits_ = count, *this; }
  RowFileReader& badRows(BadRows policy) { return badRows_ = policy, *this; }
  RowFileReader& maxLineBytes(size_t bytes) { return lineOptions_.maxLineBytes = bytes, *this; }
  const std::shared_ptr<BadRowCounter>& badRowCounter() const { return counter_; }
  const std::string& path() const { return path_; }

  /// Finds mistakes before anything runs: opens the file, looks for the columns, and where bad rows fail also reads the first row.
  Result<void> validate(FileSystem& files) const {
    Scan scan;
    WEIR_TRY(begin(files, scan));
    std::string_view row;
    if (!scan.format.next(*scan.lines, row)) return ended(scan);
    T value{};
    std::string problem;
    if (badRows_ == BadRows::kFail && !read(scan, row, value, problem)) return Error{ErrorCode::kInvalidArgument, std::move(problem)};
    return {};
  }

  int32_t numberOfSplits(int32_t parallelism) const { return std::max(parallelism, splits_); }

  void open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
    scan_.reset();
    if (splits.empty()) return;
    scan_ = std::make_shared<Scan>();
    scan_->files.emplace(context.fileSystem, context.execution);
    scan_->dealer.emplace(splits);
    if (auto begun = begin(*scan_->files, *scan_); begun.has_error()) throwFileError(begun.error());
  }

  size_t poll(std::span<StreamRecord<T>> into, bool& end) {
    end = scan_ == nullptr;
    size_t count = 0;
    for (size_t rows = 0; !end && count < into.size() && rows < kMaxRowsPerPoll; ++rows) {
      std::string_view row;
      if (!scan_->format.next(*scan_->lines, row)) {
        if (auto result = ended(*scan_); result.has_error()) throwFileError(result.error());
        end = true;
      } else if (SourceSplit* split = scan_->dealer->next()) {
        std::string problem;
        if (read(*scan_, row, into[count].value, problem))
          into[count++].hasTimestamp = false;
        else if (badRows_ == BadRows::kFail)
          throwBadRow(problem);
        else
          counter_->add(problem);
        ++split->position;
      }
    }
    return count;
  }

  void close() { scan_.reset(); }

 private:
  /// One pass over the file.
  struct Scan {
    std::optional<ActorFileSystem> files;
    std::optional<LineReader> lines;
    std::optional<RowDealer> dealer;
    Format format;
    std::array<Cell, kRowSize<T>> cells;
  };
  /// Rows of other subtasks are passed quickly, but mail has to be looked at.
  static constexpr size_t kMaxRowsPerPoll = 1024;

  Result<void> begin(FileSystem& files, Scan& scan) const {
    WEIR_TRY(checkColumnCount(path_, columns_.size(), kRowSize<T>));
    WEIR_ASSIGN(scan.lines, openSourceFile(files, path_, lineOptions_));
    return scan.format.begin(*scan.lines, columns_);
  }
  static Result<void> ended(const Scan& scan) {
    if (scan.lines->error()) return *scan.lines->error();
    if (scan.format.error()) return *scan.format.error();
    return {};
  }
  bool read(Scan& scan, std::string_view row, T& into, std::string& problem) const {
    RowProblem bad;
    if (scan.format.parse(row, scan.cells, bad)) {
      const char* expected = nullptr;
      const size_t field = parseRow(std::span<const Cell>(scan.cells), into, expected);
      if (field == kRowSize<T>) return true;
      bad = {columns_[field], describeBadCell(scan.cells[field], expected)};
    }
    problem = describeBadRow(path_, scan.format.lineNumber(), Format::kColumnNoun, bad);
    return false;
  }

  std::string path_;
  std::vector<std::string> columns_;
  int32_t splits_ = 0;
  BadRows badRows_ = BadRows::kFail;
  LineReaderOptions lineOptions_;
  std::shared_ptr<BadRowCounter> counter_ = std::make_shared<BadRowCounter>();  ///< shared by all copies
  std::shared_ptr<Scan> scan_;  ///< of this copy, from open to close; a prototype has none
};

template <class T>
using CsvReader = RowFileReader<T, CsvFormat>;
template <class T>
using JsonLinesReader = RowFileReader<T, JsonLinesFormat>;
using TextLineReader = RowFileReader<std::string, TextFormat>;

}  // namespace weir
