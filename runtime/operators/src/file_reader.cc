#include "weir/operators/file_reader.h"

#include <fmt/format.h>

#include "weir/operators/nearest.h"
#include "weir/record/utf8.h"

namespace weir {
namespace {

/// For messages: not too long, and always UTF-8.
std::string excerpt(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string result;
  const auto begin = reinterpret_cast<const uint8_t*>(text.data());
  const auto end = begin + text.size();
  for (auto at = begin; at < end;) {
    const auto from = at;
    if (result.size() >= kMost) return result + "...";
    const uint32_t point = nextCodePoint(at, end);
    if (point == kInvalidCodePoint)
      result += fmt::format("\\x{:02x}", *at++);
    else if (point < 0x20)
      result += fmt::format("\\x{:02x}", point);
    else
      result.append(from, at);
  }
  return result;
}

/// Fails the job whatever its restart strategy says: a restart would come upon the same file.
[[noreturn]] void throwForGood(const char* className, const std::string& message) {
  throw Throwable("org.apache.flink.runtime.execution.SuppressRestartsException", message,
                  std::make_shared<Throwable>(className, message));
}

}  // namespace

void BadRowCounter::add(const std::string& problem) {
  Lock lock(mutex_);
  if (count_++ == 0) firstProblem_ = problem;
}
int64_t BadRowCounter::count() const {
  Lock lock(mutex_);
  return count_;
}
std::string BadRowCounter::firstProblem() const {
  Lock lock(mutex_);
  return firstProblem_;
}

RowDealer::RowDealer(std::vector<SourceSplit>& splits) {
  WEIR_CHECK(!splits.empty());
  splitOf_.resize(static_cast<size_t>(splits.front().splits), nullptr);
  for (SourceSplit& split : splits) {
    const bool fits = split.id >= 0 && split.id < split.splits && split.splits == splits.front().splits && split.position >= 0;
    if (!fits || splitOf_[static_cast<size_t>(split.id)] != nullptr)
      throw Throwable("java.lang.IllegalStateException",
                      fmt::format("the restored splits of a file source do not belong together (split {} of {} beside one of {}): does the "
                                  "checkpoint come from another source?",
                                  split.id, split.splits, splits.front().splits));
    splitOf_[static_cast<size_t>(split.id)] = &split;
  }
}

std::string describeBadRow(const std::string& path, int64_t lineNumber, std::string_view noun, const RowProblem& problem) {
  if (problem.column.empty()) return fmt::format("{} line {} {}; correct it, or skip bad rows", path, lineNumber, problem.what);
  return fmt::format("{} line {}, {} \"{}\": {}; correct it, or skip bad rows", path, lineNumber, noun, problem.column, problem.what);
}

std::string describeBadCell(const Cell& cell, const char* expected) {
  switch (cell.kind) {
    case Cell::Kind::kAbsent: return fmt::format("there is no value, expected is {}; use std::optional where it may be missing", expected);
    case Cell::Kind::kEmpty: return fmt::format("the cell is empty, expected is {}; use std::optional where it may be empty", expected);
    case Cell::Kind::kText: return fmt::format("\"{}\" is not {}", excerpt(cell.text), expected);
    case Cell::Kind::kString: return fmt::format("the string \"{}\" is not {}", excerpt(cell.text), expected);
    case Cell::Kind::kNumber:
    case Cell::Kind::kBool:
    case Cell::Kind::kNested: return fmt::format("{} is not {}", excerpt(cell.text), expected);
  }
  __builtin_unreachable();
}

void throwFileError(const Error& error) {
  if (error.code == ErrorCode::kIo) throw Throwable("java.io.IOException", error.message);
  throwForGood(error.code == ErrorCode::kNotFound ? "java.io.FileNotFoundException" : "java.io.IOException", error.message);
}
void throwBadRow(const std::string& problem) { throwForGood("org.apache.flink.api.common.io.ParseException", problem); }

Result<LineReader> openSourceFile(FileSystem& files, const std::string& path, LineReaderOptions options) {
  auto opened = LineReader::open(files, path, options);
  if (opened.has_value() || opened.error().code != ErrorCode::kNotFound) return opened;
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (!files.isDirectory(folder))
    return Error{ErrorCode::kNotFound, opened.error().message + "; there is no folder " + path.substr(0, slash)};
  const auto beside = files.list(folder);
  const std::string close = beside.has_value() ? nearest(path.substr(slash + 1), *beside) : "";
  return Error{ErrorCode::kNotFound,
               opened.error().message + (close.empty() ? "; correct the path of the source" : "; did you mean " + close + "?")};
}

Result<void> checkColumnCount(const std::string& path, size_t columns, size_t fields) {
  if (columns == fields) return {};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("the reader of {} names {} columns for rows of {} fields: name one for each field", path, columns, fields)};
}

}  // namespace weir
