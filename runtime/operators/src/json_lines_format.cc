#include <fmt/format.h>

#include <algorithm>

#include "weir/operators/row_format.h"
#include "weir/record/utf8.h"

namespace weir {

/// One object (RFC 8259) without a tree and without allocation: values become cells, nested ones are checked and passed over.
class JsonLinesFormat::Parser {
 public:
  Parser(std::string_view row, std::string& unescaped)
      : begin_(row.data()), at_(row.data()), end_(row.data() + row.size()), unescaped_(unescaped) {}

  /// What is wrong; null where the row is an object.
  const char* object(const std::vector<std::string>& columns, std::span<Cell> cells) {
    skipSpace();
    if (!take('{')) return "is no JSON object: it has to begin with {";
    skipSpace();
    if (!take('}')) {
      size_t likely = 0;  // keys mostly come in the order of the row before
      do {
        Cell key, cell;
        skipSpace();
        if (const char* wrong = string(key.text)) return wrong;
        skipSpace();
        if (!take(':')) return "has no colon behind a key";
        skipSpace();
        if (const char* wrong = value(cell, 1)) return wrong;
        const size_t column = find(columns, likely, key.text);
        if (column < columns.size()) {
          cells[column] = cell;
          likely = column + 1;
        }
        skipSpace();
      } while (take(','));
      if (!take('}')) return "has neither a comma nor } behind a value";
    }
    skipSpace();
    return at_ == end_ ? nullptr : "has text behind its object; put each object on a line of its own";
  }
  int64_t position() const { return at_ - begin_ + 1; }

 private:
  static constexpr int kMaxDepth = 64;

  static size_t find(const std::vector<std::string>& columns, size_t likely, std::string_view key) {
    if (likely < columns.size() && columns[likely] == key) return likely;
    return static_cast<size_t>(std::find(columns.begin(), columns.end(), key) - columns.begin());
  }

  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool takeWord(std::string_view word) {
    if (!std::string_view(at_, static_cast<size_t>(end_ - at_)).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }
  bool isDigit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }
  bool digits() {
    if (!isDigit()) return false;
    while (isDigit()) ++at_;
    return true;
  }

  const char* value(Cell& cell, int depth) {
    const char* const begin = at_;
    const char* wrong = nullptr;
    cell.kind = Cell::Kind::kAbsent;
    if (at_ == end_) return "ends in the middle";
    if (*at_ == '"') {
      cell.kind = Cell::Kind::kString;
      return string(cell.text);
    }
    if (*at_ == '{' || *at_ == '[') {
      cell.kind = Cell::Kind::kNested;
      wrong = nested(depth);
    } else if (*at_ == '-' || isDigit()) {
      cell.kind = Cell::Kind::kNumber;
      wrong = number();
    } else if (takeWord("true") || takeWord("false")) {
      cell.kind = Cell::Kind::kBool;
    } else if (!takeWord("null")) {
      return "has something that is no JSON value";
    }
    cell.text = {begin, static_cast<size_t>(at_ - begin)};
    return wrong;
  }

  const char* number() {
    constexpr const char* kWrong = "has a malformed number";
    take('-');
    if (!take('0') && !digits()) return kWrong;
    if (take('.') && !digits()) return kWrong;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return kWrong;
    }
    return nullptr;
  }

  const char* nested(int depth) {
    if (depth == kMaxDepth) return "is nested deeper than 64 levels";
    const bool isObject = *at_++ == '{';
    const char close = isObject ? '}' : ']';
    skipSpace();
    if (take(close)) return nullptr;
    do {
      Cell ignored;
      skipSpace();
      if (isObject) {
        if (const char* wrong = string(ignored.text)) return wrong;
        skipSpace();
        if (!take(':')) return "has no colon behind a key";
        skipSpace();
      }
      if (const char* wrong = value(ignored, depth + 1)) return wrong;
      skipSpace();
    } while (take(','));
    return take(close) ? nullptr : "has neither a comma nor a bracket behind a value";
  }

  /// Most strings have no escapes and are given as they stand.
  const char* string(std::string_view& text) {
    if (!take('"')) return "has no string where a key has to be";
    const char* const begin = at_;
    for (; at_ != end_; ++at_) {
      if (*at_ == '"') {
        text = {begin, static_cast<size_t>(at_++ - begin)};
        return nullptr;
      }
      if (*at_ == '\\') return escaped(begin, text);
      if (static_cast<unsigned char>(*at_) < 0x20) break;
    }
    return at_ == end_ ? "ends in the middle of a string" : "has a control character in a string";
  }

  const char* escaped(const char* begin, std::string_view& text) {
    const size_t from = unescaped_.size();
    unescaped_.append(begin, at_);
    while (at_ != end_) {
      const char c = *at_++;
      if (c == '"') {
        text = std::string_view(unescaped_).substr(from);
        return nullptr;
      }
      if (static_cast<unsigned char>(c) < 0x20) return "has a control character in a string";
      if (c != '\\')
        unescaped_ += c;
      else if (!escape())
        return "has an unknown escape in a string";
    }
    return "ends in the middle of a string";
  }

  bool escape() {
    if (at_ == end_) return false;
    const char c = *at_++;
    constexpr std::string_view kNames = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t found = kNames.find(c); found != std::string_view::npos) {
      unescaped_ += kMeanings[found];
      return true;
    }
    uint32_t unit = 0;
    if (c != 'u' || !hex(unit)) return false;
    if (unit >= 0xdc00 && unit <= 0xdfff) return false;
    if (unit >= 0xd800 && unit <= 0xdbff) {
      uint32_t low = 0;
      if (!takeWord("\\u") || !hex(low) || low < 0xdc00 || low > 0xdfff) return false;
      unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    char bytes[4];
    unescaped_.append(bytes, putCodePoint(bytes, unit));
    return true;
  }
  bool hex(uint32_t& unit) {
    if (end_ - at_ < 4) return false;
    for (int i = 0; i < 4; ++i) {
      const char c = *at_++;
      uint32_t digit = 0;
      if (c >= '0' && c <= '9')
        digit = static_cast<uint32_t>(c - '0');
      else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
        digit = static_cast<uint32_t>((c | 0x20) - 'a' + 10);
      else
        return false;
      unit = unit << 4 | digit;
    }
    return true;
  }

  const char *const begin_, *at_, *const end_;
  std::string& unescaped_;
};

Result<void> JsonLinesFormat::begin(LineReader&, const std::vector<std::string>& columns) {
  columns_ = columns;
  return {};
}

bool JsonLinesFormat::next(LineReader& lines, std::string_view& row) {
  do {
    if (!lines.next(row)) return false;
  } while (row.find_first_not_of(" \t") == std::string_view::npos);
  lineNumber_ = lines.lineNumber();
  return true;
}

bool JsonLinesFormat::parse(std::string_view row, std::span<Cell> cells, RowProblem& problem) {
  if (!checkUtf8Row(row, problem)) return false;
  std::fill(cells.begin(), cells.end(), Cell{});
  unescaped_.clear();
  if (unescaped_.capacity() < row.size()) unescaped_.reserve(row.size());  // cells point into it: it must not move
  Parser parser(row, unescaped_);
  const char* const wrong = parser.object(columns_, cells);
  if (wrong != nullptr) problem.what = fmt::format("{} (at position {})", wrong, parser.position());
  return wrong == nullptr;
}

}  // namespace weir
