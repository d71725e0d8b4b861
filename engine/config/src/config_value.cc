#include "weir/config/config_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "text.h"

namespace weir {
namespace {

Error unsplittable(const std::string& why) { return {ErrorCode::kInvalidArgument, "Could not split string. " + why}; }

/// The text in quotes that starts at `at`; moves `at` behind the closing quote. False where there is none.
bool takeQuoted(std::string_view text, size_t& at, std::string& part) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] != quote) {
      part += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == quote) {
      part += text[at++];
    } else {
      ++at;
      return true;
    }
  }
  return false;
}

/// Java's layout of a number whose shortest digits are known: plain between 10^-3 and 10^7, otherwise with an exponent.
template <class F>
std::string javaNumber(F value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value), std::chars_format::scientific).ptr;
  const std::string_view shortest(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t e = shortest.find('e');
  const int exponent = std::stoi(std::string(shortest.substr(e + 1)));
  std::string digits(1, shortest[0]);
  if (e > 1) digits += shortest.substr(2, e - 2);
  const std::string sign = value < 0 ? "-" : "";
  if (exponent < -3 || exponent >= 7) {
    const std::string rest = digits.size() > 1 ? digits.substr(1) : "0";
    return sign + digits[0] + "." + rest + "E" + std::to_string(exponent);
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  const std::string fraction = digits.size() > whole ? digits.substr(whole) : "0";
  return sign + digits.substr(0, whole) + "." + fraction;
}

}  // namespace

std::string ConfigOrigin::prefix() const {
  if (source.empty()) return "";
  return line > 0 ? fmt::format("{}:{}:{}: ", source, line, column) : source + ": ";
}

Result<std::vector<std::string>> splitStructured(std::string_view text, char separator) {
  std::vector<std::string> parts;
  bool afterPart = false, afterSeparator = false;
  for (size_t at = 0; at < text.size();) {
    if (isBlank(text[at])) {
      ++at;
    } else if (text[at] == separator) {
      if (afterSeparator) parts.emplace_back();
      afterSeparator = true;
      afterPart = false;
      ++at;
    } else {
      // Only a part in quotes can be followed by another one: the rest runs up to the separator.
      if (afterPart) return unsplittable(fmt::format("Illegal quoting at position: {}", at - 1));
      std::string part;
      if (text[at] == '\'' || text[at] == '"') {
        if (!takeQuoted(text, at, part)) return unsplittable("Quoting was not closed properly.");
      } else {
        const size_t end = std::min(text.find(separator, at), text.size());
        part = std::string(trimmed(text.substr(at, end - at)));
        at = end;
      }
      parts.push_back(std::move(part));
      afterPart = true;
      afterSeparator = false;
    }
  }
  return parts;
}

std::string quotedStructured(std::string_view part, std::string_view separators) {
  const bool plain = !part.empty() && part.find_first_of(separators) == std::string_view::npos && part.front() != '\'' &&
                     part.front() != '"' && trimmed(part) == part;
  if (plain) return std::string(part);
  std::string text = "'";
  for (const char c : part) text.append(c == '\'' ? 2 : 1, c);
  return text + "'";
}

std::string javaText(double value) { return javaNumber(value); }
std::string javaText(float value) { return javaNumber(value); }

}  // namespace weir
