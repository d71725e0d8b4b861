#include "weir/operators/row_text.h"

#include <charconv>
#include <cmath>

#include "weir/record/utf8.h"

namespace weir::detail {
namespace {

template <class T>
void append(std::string& out, T value) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

void appendNumber(std::string& out, int64_t value) { append(out, value); }
void appendNumber(std::string& out, float value) { append(out, value); }
void appendNumber(std::string& out, double value) { append(out, value); }
bool isFinite(double value) { return std::isfinite(value); }

void appendCsvString(std::string& out, std::string_view value, bool quoteEmpty) {
  const bool quote = value.empty() ? quoteEmpty : value.find_first_of(",\"\r\n") != std::string_view::npos;
  if (!quote) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void appendJsonString(std::string& out, std::string_view value) {
  if (!isValidUtf8(value)) throwInvalidUtf8(value);
  out += '"';
  for (const char c : value) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) {
          out += c;
        } else {
          constexpr char kHex[] = "0123456789abcdef";
          out += "\\u00";
          out += kHex[c >> 4];
          out += kHex[c & 15];
        }
    }
  }
  out += '"';
}

}  // namespace weir::detail
