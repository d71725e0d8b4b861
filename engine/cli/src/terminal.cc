#include "weir/cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ostream>

#include "weir/base/check.h"

namespace weir {

std::string styled(std::string_view text, Style style, bool colour) {
  static constexpr const char* kCodes[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[33m"};
  if (!colour || style == Style::kPlain) return std::string(text);
  return kCodes[static_cast<size_t>(style)] + std::string(text) + "\x1b[0m";
}

bool isTerminal(int fd) { return ::isatty(fd) == 1; }

bool wantsColour(int fd) {
  const char* term = std::getenv("TERM");
  return isTerminal(fd) && std::getenv("NO_COLOR") == nullptr && term != nullptr && std::string_view(term) != "dumb";
}

void TextTable::addRow(std::vector<std::string> cells) {
  WEIR_CHECK_EQ(cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

void TextTable::print(std::ostream& out, bool colour) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  const auto line = [&](auto cellOf, Style style) {
    std::string text;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string& cell = cellOf(c);
      const std::string padding(widths[c] - cell.size(), ' ');
      text += c > 0 ? "  " : "";
      text += columns_[c].align == Align::kRight ? padding + cell : cell + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << styled(text, style, colour) << '\n';
  };
  line([&](size_t c) -> const std::string& { return columns_[c].title; }, Style::kBold);
  for (const auto& row : rows_) line([&](size_t c) -> const std::string& { return row[c]; }, Style::kPlain);
}

std::string withThousands(int64_t value) {
  std::string digits = std::to_string(value);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(isTerminal(STDERR_FILENO)) {}

void ProgressLine::show(const std::string& line, double nowSeconds) {
  if (quiet_ || nowSeconds - last_ < (terminal_ ? 0.1 : 5.0)) return;
  last_ = nowSeconds;
  if (terminal_)
    std::fprintf(stderr, "\r\x1b[2K%s", line.c_str());
  else
    std::fprintf(stderr, "%s\n", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_ && terminal_) std::fputs("\r\x1b[2K", stderr);
  shown_ = false;
}

}  // namespace weir
