#include "weir/config/config_option.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "text.h"
#include "yaml_reader.h"

namespace weir {
namespace {

using Kind = ConfigValue::Kind;

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Error notANumber(std::string_view text) { return invalid(fmt::format("For input string: \"{}\"", text)); }

/// Java's parseInt and parseLong: an optional sign and digits, no blanks.
template <class I>
std::optional<I> integer(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  I value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Java's parseDouble without hexadecimal forms: blanks around, an optional sign, an optional f or d behind.
template <class F>
std::optional<F> floating(std::string_view text) {
  text = trimmed(text);
  bool negative = false;
  if (text.starts_with('+') || text.starts_with('-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  const F sign = negative ? F(-1) : F(1);
  if (text == "NaN") return std::numeric_limits<F>::quiet_NaN();
  if (text == "Infinity") return sign * std::numeric_limits<F>::infinity();
  if (text.size() > 1 && std::string_view("fFdD").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  // from_chars knows words and signs of its own.
  if (text.empty() || !(isDigit(text.front()) || (text.front() == '.' && text.size() > 1))) return std::nullopt;
  F value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Java rounds to zero or infinity; which of them, the exponent says.
    const size_t e = text.find_first_of("eE");
    const bool tiny = e != std::string_view::npos && text.substr(e + 1).starts_with('-');
    return sign * (tiny ? F(0) : std::numeric_limits<F>::infinity());
  }
  return sign * value;
}

}  // namespace

namespace detail {

Result<std::vector<std::string>> listElements(const ConfigValue& value) {
  if (value.kind == Kind::kList) return value.elements;
  if (auto flow = flowSequence(value.text)) return std::move(*flow);
  return splitStructured(value.text, ';');
}

bool equalsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lowered(x) == lowered(y); });
}

Error notAnEnum(std::string_view className, const std::vector<std::string_view>& expected) {
  return invalid(fmt::format("Could not parse value for enum class {}. Expected one of: [[{}]]", className, fmt::join(expected, ", ")));
}

}  // namespace detail

Result<bool> ConfigType<bool>::read(const ConfigValue& value) {
  if (detail::equalsIgnoringCase(value.text, "true")) return true;
  if (detail::equalsIgnoringCase(value.text, "false")) return false;
  return invalid(fmt::format("Unrecognized option for boolean: {}. Expected either true or false(case insensitive)", value.text));
}
std::string ConfigType<bool>::print(const bool& value) { return value ? "true" : "false"; }

Result<int32_t> ConfigType<int32_t>::read(const ConfigValue& value) {
  if (const auto number = integer<int32_t>(value.text)) return *number;
  if (value.kind == Kind::kInteger && integer<int64_t>(value.text)) {
    return invalid(fmt::format("Configuration value {} overflows/underflows the integer type.", value.text));
  }
  return notANumber(value.text);
}
std::string ConfigType<int32_t>::print(const int32_t& value) { return std::to_string(value); }

Result<int64_t> ConfigType<int64_t>::read(const ConfigValue& value) {
  if (const auto number = integer<int64_t>(value.text)) return *number;
  return notANumber(value.text);
}
std::string ConfigType<int64_t>::print(const int64_t& value) { return std::to_string(value); }

Result<float> ConfigType<float>::read(const ConfigValue& value) {
  if (value.kind == Kind::kFloat) {
    const double number = floating<double>(value.text).value_or(0);
    const double magnitude = std::abs(number);
    const bool fits = magnitude <= std::numeric_limits<float>::max() && magnitude >= std::numeric_limits<float>::denorm_min();
    if (number != 0 && !fits) return invalid(fmt::format("Configuration value {} overflows/underflows the float type.", value.text));
    return static_cast<float>(number);
  }
  if (const auto number = floating<float>(value.text)) return *number;
  return notANumber(value.text);
}
std::string ConfigType<float>::print(const float& value) { return javaText(value); }

Result<double> ConfigType<double>::read(const ConfigValue& value) {
  if (const auto number = floating<double>(value.text)) return *number;
  return notANumber(value.text);
}
std::string ConfigType<double>::print(const double& value) { return javaText(value); }

Result<std::string> ConfigType<std::string>::read(const ConfigValue& value) { return value.text; }
std::string ConfigType<std::string>::print(const std::string& value) { return value; }

Result<Duration> ConfigType<Duration>::read(const ConfigValue& value) { return Duration::parse(value.text); }
std::string ConfigType<Duration>::print(const Duration& value) { return value.toString(); }

Result<MemorySize> ConfigType<MemorySize>::read(const ConfigValue& value) { return MemorySize::parse(value.text); }
std::string ConfigType<MemorySize>::print(const MemorySize& value) { return value.toString(); }

Result<ConfigMap> ConfigType<ConfigMap>::read(const ConfigValue& value) {
  std::vector<std::string> keysAndValues;
  if (value.kind == Kind::kMap) {
    keysAndValues = value.elements;
  } else if (auto flow = flowMapping(value.text)) {
    keysAndValues = std::move(*flow);
  } else {
    WEIR_ASSIGN(const auto items, splitStructured(value.text, ','));
    for (const std::string& item : items) {
      WEIR_ASSIGN(const auto pair, splitStructured(item, ':'));
      if (pair.size() != 2) return invalid("Map item is not a key-value pair (missing ':'?)");
      keysAndValues.insert(keysAndValues.end(), pair.begin(), pair.end());
    }
  }
  ConfigMap map;
  for (size_t i = 0; i + 1 < keysAndValues.size(); i += 2) {
    const auto [at, isNew] = map.emplace(keysAndValues[i], keysAndValues[i + 1]);
    if (!isNew) {
      return invalid(fmt::format("Duplicate key {} (attempted merging values {} and {})", at->first, at->second, keysAndValues[i + 1]));
    }
  }
  return map;
}

std::string ConfigType<ConfigMap>::print(const ConfigMap& value) {
  std::string text;
  for (const auto& [key, item] : value) {
    const std::string pair = quotedStructured(key, ":,") + ":" + quotedStructured(item, ":,");
    text += (text.empty() ? "" : ",") + quotedStructured(pair, ",");
  }
  return text;
}

}  // namespace weir
