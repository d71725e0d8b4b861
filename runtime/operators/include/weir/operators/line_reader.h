#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/file_system.h"

namespace weir {

struct LineReaderOptions {
  size_t maxLineBytes = 1 << 20;  ///< a longer line is an error, so that a file without line ends does not fill the memory
  size_t bufferBytes = 1 << 16;   ///< read at a time
};

/// Lines of a file, plain or gzip (told by the first bytes, several members in a row too). A line ends with LF or CR LF, the last one may
/// end with the file. A UTF-8 byte order mark is left out; nothing else is said about the bytes of a line.
///
/// Used by one actor; blocks on files (give it an ActorFileSystem). Errors name the file and the line.
class LineReader {
 public:
  static Result<LineReader> open(FileSystem& files, const std::string& path, LineReaderOptions options = {});
  LineReader(LineReader&&) noexcept;
  LineReader& operator=(LineReader&&) noexcept;
  ~LineReader();

  /// The next line without its end, valid until the next call. False at the end of the file, and where error() says so.
  bool next(std::string_view& line);
  const std::optional<Error>& error() const;
  /// Of the last line that next() gave, from 1.
  int64_t lineNumber() const;
  /// How that line ended: LF, CR LF, or nothing.
  std::string_view lineEnd() const;
  const std::string& path() const;

 private:
  class Bytes;
  class Lines;
  explicit LineReader(std::unique_ptr<Lines> lines);
  std::unique_ptr<Lines> lines_;
};

}  // namespace weir
