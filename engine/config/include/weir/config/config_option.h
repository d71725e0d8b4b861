#pragma once

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/base/units.h"
#include "weir/config/config_value.h"

namespace weir {

/// The spellings of an enum in configuration files: `names` as {spelling, value} pairs (the first spelling of a value is how it prints),
/// `className` as errors name it. Specialised beside each enum.
template <class E>
struct EnumNames;

/// A type that options may have: how its text is read and printed, and its name in `weir config`. Reading fails with the cause alone; who
/// asked adds key and place.
template <class T>
struct ConfigType;

#define WEIR_CONFIG_TYPE(T, typeName)                   \
  template <>                                           \
  struct ConfigType<T> {                                \
    static constexpr std::string_view kName = typeName; \
    static Result<T> read(const ConfigValue& value);    \
    static std::string print(const T& value);           \
  }
WEIR_CONFIG_TYPE(bool, "Boolean");
WEIR_CONFIG_TYPE(int32_t, "Integer");
WEIR_CONFIG_TYPE(int64_t, "Long");
WEIR_CONFIG_TYPE(float, "Float");
WEIR_CONFIG_TYPE(double, "Double");
WEIR_CONFIG_TYPE(std::string, "String");
WEIR_CONFIG_TYPE(Duration, "Duration");
WEIR_CONFIG_TYPE(MemorySize, "MemorySize");
using ConfigMap = std::map<std::string, std::string>;
WEIR_CONFIG_TYPE(ConfigMap, "Map");
#undef WEIR_CONFIG_TYPE

namespace detail {
/// The elements of a list: of a YAML list, or of text split at `;`.
Result<std::vector<std::string>> listElements(const ConfigValue& value);
bool equalsIgnoringCase(std::string_view a, std::string_view b);
Error notAnEnum(std::string_view className, const std::vector<std::string_view>& expected);
}  // namespace detail

template <class T>
struct ConfigType<std::vector<T>> {
  static constexpr std::string_view kName = "List";
  static Result<std::vector<T>> read(const ConfigValue& value) {
    WEIR_ASSIGN(const auto elements, detail::listElements(value));
    std::vector<T> result;
    for (const std::string& element : elements) {
      WEIR_ASSIGN(auto item, ConfigType<T>::read(ConfigValue{.text = element}));
      result.push_back(std::move(item));
    }
    return result;
  }
  static std::string print(const std::vector<T>& value) {
    std::string text;
    for (const T& item : value) text += (text.empty() ? "" : ";") + quotedStructured(ConfigType<T>::print(item), ";");
    return text;
  }
};

template <class E>
requires std::is_enum_v<E>
struct ConfigType<E> {
  static constexpr std::string_view kName = "Enum";
  static Result<E> read(const ConfigValue& value) {
    std::vector<std::string_view> expected;
    for (const auto& [name, constant] : EnumNames<E>::names) {
      if (detail::equalsIgnoringCase(name, value.text)) return constant;
      expected.push_back(name);
    }
    return detail::notAnEnum(EnumNames<E>::className, expected);
  }
  static std::string print(const E& value) {
    for (const auto& [name, constant] : EnumNames<E>::names) {
      if (constant == value) return std::string(name);
    }
    return "?";
  }
};

/// A key with its type. What it means and its former spellings stand in the table of keys (known_options.h), under the same key.
///
/// Flink: ConfigOption.
template <class T>
struct ConfigOption {
  using Value = T;
  std::string_view key;
  std::optional<T> defaultValue{};
  /// Null, or what is expected where the value is of the right type and yet wrong: "at least 10 ms". Null from it: the value is fine.
  const char* (*complaint)(const T& value) = nullptr;
};

/// Complaints that several options share.
template <auto kMin>
const char* complainBelow(const decltype(kMin)& value) {
  static const std::string text = fmt::format("at least {}", kMin);
  return value < kMin ? text.c_str() : nullptr;
}
/// For what costs a thread or more each.
inline const char* complainOutside1To1024(const int32_t& value) { return value >= 1 && value <= 1024 ? nullptr : "1 to 1024"; }
inline const char* complainBelow10Millis(const Duration& value) { return value < Duration(Millis(10)) ? "at least 10 ms" : nullptr; }
inline const char* complainZero(const Duration& value) { return value == Duration() ? "more than 0" : nullptr; }
inline const char* complainOutsideUnit(const float& value) { return value >= 0 && value <= 1 ? nullptr : "a fraction from 0 to 1"; }
inline const char* complainOutsideUnitDouble(const double& value) { return value >= 0 && value <= 1 ? nullptr : "a fraction from 0 to 1"; }

}  // namespace weir
