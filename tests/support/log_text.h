#pragma once

#include <optional>
#include <string>
#include <string_view>

// What differs between two runs, taken out of log lines. No std::regex: g++ 12 warns about it under the address sanitizer.
namespace weir::golden {

/// Each run of exactly 32 hex digits becomes <id>.
inline std::string withoutIds(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = text.find_first_not_of(kHex, i);
    if (end == text.npos) end = text.size();
    if (end == i) {
      out += text[i++];
      continue;
    }
    out += end - i == 32 ? std::string_view("<id>") : text.substr(i, end - i);
    i = end;
  }
  return out;
}

/// `before` and the run of characters of `of` behind it become `by`.
inline std::string withReplaced(std::string text, std::string_view before, std::string_view of, std::string_view by) {
  for (size_t at = text.find(before); at != text.npos; at = text.find(before, at + by.size())) {
    size_t end = text.find_first_not_of(of, at + before.size());
    if (end == text.npos) end = text.size();
    text.replace(at, end - at, by);
  }
  return text;
}

struct LogLine {
  std::string level, logger, message;
};

/// A first line in Flink's layout `2026-11-30 14:06:18,661 INFO  logger   [] - message`; nothing for lines of a stack trace.
inline std::optional<LogLine> parseLogLine(const std::string& line) {
  constexpr size_t kTime = 24;
  const size_t mark = line.find(" [] - ");
  if (line.size() < kTime || mark == line.npos || line.substr(0, 2) != "20") return std::nullopt;
  const size_t levelEnd = line.find(' ', kTime);
  const size_t logger = line.find_first_not_of(' ', levelEnd);
  return LogLine{line.substr(kTime, levelEnd - kTime), line.substr(logger, line.find(' ', logger) - logger), line.substr(mark + 6)};
}

}  // namespace weir::golden
