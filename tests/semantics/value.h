#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "weir/record/serializer.h"

namespace weir::semantics {

/// A value of a golden case: nothing, a whole number, a double or a text.
struct Value {
  enum Kind : int8_t { kNull, kLong, kDouble, kText };
  int8_t kind = kNull;
  int64_t number = 0;
  double real = 0;
  std::string text;
  WEIR_FIELDS(kind, number, real, text)

  Value() = default;
  explicit Value(int64_t n) : kind(kLong), number(n) {}
  explicit Value(double d) : kind(kDouble), real(d) {}
  explicit Value(std::string t) : kind(kText), text(std::move(t)) {}
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;

  double asDouble() const { return kind == kLong ? static_cast<double>(number) : real; }
  /// As Java prints it.
  std::string toString() const;
  nlohmann::json toJson() const;
  /// In a case of doubles the names of NaN, the infinities and -0.0 stand for them.
  static Value of(const nlohmann::json& json, bool doubles);
};

/// Double.toString of Java: the shortest digits that give the same double, with a decimal point, in scientific form outside 1e-3 to 1e7.
std::string javaDouble(double value);

/// What flows between the operators of a case.
struct Item {
  std::optional<std::string> key;
  Value value;
  std::optional<std::string> tag;
  bool hasWindow = false;
  int64_t windowStart = 0, windowEnd = 0;
  WEIR_FIELDS(key, value, tag, hasWindow, windowStart, windowEnd)
  bool operator==(const Item&) const = default;
};

}  // namespace weir::semantics
