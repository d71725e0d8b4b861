#pragma once

#include <string>
#include <string_view>

// Small text functions that the files of this room share. ASCII only: keys and units are.
namespace weir {

inline bool isBlank(char c) { return static_cast<unsigned char>(c) <= ' '; }
inline bool isDigit(char c) { return c >= '0' && c <= '9'; }
inline char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Java's String.trim: control characters and blanks.
inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && isBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && isBlank(text.back())) text.remove_suffix(1);
  return text;
}

inline std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lowered(c);
  return result;
}

}  // namespace weir
