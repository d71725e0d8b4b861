#include "weir/operators/line_reader.h"

#include <zlib.h>

#include <cstring>
#include <vector>

#include "weir/base/check.h"

namespace weir {
namespace {

constexpr size_t kReadBytes = 1 << 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

/// The bytes of the file, unpacked where they are packed.
class LineReader::Bytes {
 public:
  Bytes(std::unique_ptr<ReadableFile> file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Bytes(const Bytes&) = delete;
  ~Bytes() {
    if (isGzip_) inflateEnd(&stream_);
  }

  Result<void> begin() {
    unsigned char magic[2];
    WEIR_ASSIGN(const size_t got, file_->readAt(0, std::as_writable_bytes(std::span(magic))));
    if (got < 2 || magic[0] != 0x1f || magic[1] != 0x8b) return {};
    constexpr int kGzipWindow = 15 + 16;
    WEIR_CHECK_EQ(inflateInit2(&stream_, kGzipWindow), Z_OK);
    isGzip_ = true;
    packed_.resize(kReadBytes);
    return {};
  }

  /// 0 at the end.
  Result<size_t> read(std::span<char> into) { return isGzip_ ? unpack(into) : readFile(std::as_writable_bytes(into)); }

 private:
  Result<size_t> readFile(std::span<std::byte> into) {
    WEIR_ASSIGN(const size_t got, file_->readAt(offset_, into));
    offset_ += got;
    return got;
  }

  Result<size_t> unpack(std::span<char> into) {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(into.size());
    while (stream_.avail_out == into.size()) {
      if (stream_.avail_in == 0) {
        WEIR_ASSIGN(const size_t got, readFile(std::as_writable_bytes(std::span(packed_))));
        if (got == 0 && inMember_) {
          return Error{ErrorCode::kCorrupt, path_ + " is cut off: its gzip data ends after " + std::to_string(offset_) +
                                                " bytes in the middle; get the whole file"};
        }
        if (got == 0) return size_t{0};
        stream_.next_in = packed_.data();
        stream_.avail_in = static_cast<uInt>(got);
      }
      if (!inMember_ && !beginMember()) continue;
      const int outcome = inflate(&stream_, Z_NO_FLUSH);
      if (outcome == Z_STREAM_END)
        inMember_ = false;
      else if (outcome != Z_OK && outcome != Z_BUF_ERROR)
        return corrupt(stream_.msg != nullptr ? stream_.msg : "no gzip data");
    }
    return into.size() - stream_.avail_out;
  }

  /// Several members may follow each other, zeros may fill up the end. False: nothing but zeros came.
  bool beginMember() {
    while (!isFirstMember_ && stream_.avail_in > 0 && *stream_.next_in == 0) ++stream_.next_in, --stream_.avail_in;
    if (stream_.avail_in == 0) return false;
    inflateReset(&stream_);
    isFirstMember_ = false;
    return inMember_ = true;
  }

  Error corrupt(const std::string& why) const {
    return {ErrorCode::kCorrupt, path_ + " is damaged: its gzip data is wrong before byte " + std::to_string(offset_ - stream_.avail_in) +
                                     " (" + why + "); get the file again"};
  }

  const std::unique_ptr<ReadableFile> file_;
  const std::string path_;
  uint64_t offset_ = 0;  ///< of the file: where to read on
  bool isGzip_ = false, isFirstMember_ = true, inMember_ = false;
  z_stream stream_{};
  std::vector<unsigned char> packed_;
};

/// Cuts the bytes into lines. buffer_[begin_, end_) is read and not given out; up to scanned_ there is no line end.
class LineReader::Lines {
 public:
  Lines(std::unique_ptr<ReadableFile> file, std::string path, LineReaderOptions options)
      : path_(path), options_(options), bytes_(std::move(file), std::move(path)), buffer_(std::max<size_t>(options.bufferBytes, 16)) {}

  Result<void> begin() {
    WEIR_TRY(bytes_.begin());
    while (end_ < kByteOrderMark.size() && !atEnd_) WEIR_TRY(fill());
    if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) begin_ = scanned_ = kByteOrderMark.size();
    return {};
  }

  bool next(std::string_view& line) {
    for (;;) {
      if (const void* found = std::memchr(buffer_.data() + scanned_, '\n', end_ - scanned_)) {
        const auto at = static_cast<size_t>(static_cast<const char*>(found) - buffer_.data());
        const bool crLf = at > begin_ && buffer_[at - 1] == '\r';
        return give(line, at - (crLf ? 1 : 0), at + 1, crLf ? "\r\n" : "\n");
      }
      scanned_ = end_;
      if (end_ - begin_ > options_.maxLineBytes) return tooLong();
      if (atEnd_) return begin_ < end_ && give(line, end_, end_, "");
      if (auto filled = fill(); filled.has_error()) {
        error_ = filled.error();
        begin_ = scanned_ = end_;
        atEnd_ = true;
        return false;
      }
    }
  }

  const std::string path_;
  std::optional<Error> error_;
  int64_t lineNumber_ = 0;
  std::string_view lineEnd_;

 private:
  bool give(std::string_view& line, size_t end, size_t next, std::string_view lineEnd) {
    if (end - begin_ > options_.maxLineBytes) return tooLong();
    line = {buffer_.data() + begin_, end - begin_};
    lineEnd_ = lineEnd;
    begin_ = scanned_ = next;
    ++lineNumber_;
    return true;
  }

  bool tooLong() {
    error_ = Error{ErrorCode::kInvalidArgument, path_ + " line " + std::to_string(lineNumber_ + 1) + " is longer than " +
                                                    std::to_string(options_.maxLineBytes) +
                                                    " bytes; is it a text file? If so, allow longer lines"};
    begin_ = scanned_ = end_;
    atEnd_ = true;
    return false;
  }

  Result<void> fill() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      scanned_ -= begin_;
      begin_ = 0;
    }
    if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    WEIR_ASSIGN(const size_t got, bytes_.read({buffer_.data() + end_, buffer_.size() - end_}));
    end_ += got;
    atEnd_ = got == 0;
    return {};
  }

  const LineReaderOptions options_;
  Bytes bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0, scanned_ = 0;
  bool atEnd_ = false;
};

LineReader::LineReader(std::unique_ptr<Lines> lines) : lines_(std::move(lines)) {}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

Result<LineReader> LineReader::open(FileSystem& files, const std::string& path, LineReaderOptions options) {
  WEIR_ASSIGN(auto file, files.open(path));
  auto lines = std::make_unique<Lines>(std::move(file), path, options);
  WEIR_TRY(lines->begin());
  return LineReader(std::move(lines));
}

bool LineReader::next(std::string_view& line) { return lines_->next(line); }
const std::optional<Error>& LineReader::error() const { return lines_->error_; }
int64_t LineReader::lineNumber() const { return lines_->lineNumber_; }
std::string_view LineReader::lineEnd() const { return lines_->lineEnd_; }
const std::string& LineReader::path() const { return lines_->path_; }

}  // namespace weir
