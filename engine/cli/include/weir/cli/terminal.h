#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class Style { kPlain, kBold, kDim, kGreen, kRed, kYellow };

/// `text` in a style, where colour is on.
std::string styled(std::string_view text, Style style, bool colour);

/// Whether file descriptor `fd` is a terminal that wants colour (NO_COLOR and TERM=dumb say no).
bool wantsColour(int fd);
bool isTerminal(int fd);

/// Columns that line up. Numbers belong to the right, text to the left.
class TextTable {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Requires: as many cells as columns.
  void addRow(std::vector<std::string> cells);
  void print(std::ostream& out, bool colour) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234567 as 1,234,567.
std::string withThousands(int64_t value);

/// One line on standard error that is written over while work goes on; on anything but a terminal a plain line now and then.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  /// Cheap to call often: at most ten times a second on a terminal, every five seconds elsewhere.
  void show(const std::string& line, double nowSeconds);
  void clear();

 private:
  bool quiet_, terminal_;
  bool shown_ = false;
  double last_ = -1e9;
};

}  // namespace weir
