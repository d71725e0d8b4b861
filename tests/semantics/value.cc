#include "semantics/value.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace weir::semantics {

std::string javaDouble(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  char buffer[64];
  const auto scientific = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  std::string text(buffer, scientific.ptr);
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  if (exponent < -3 || exponent >= 7) {
    std::string mantissa = text.substr(0, e);
    if (mantissa.find('.') == mantissa.npos) mantissa += ".0";
    return mantissa + "E" + std::to_string(exponent);
  }
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
  text.assign(buffer, fixed.ptr);
  return text.find('.') == text.npos ? text + ".0" : text;
}

std::string Value::toString() const {
  switch (kind) {
    case kLong: return std::to_string(number);
    case kDouble: return javaDouble(real);
    case kText: return text;
    default: return "null";
  }
}

nlohmann::json Value::toJson() const {
  if (kind == kLong) return number;
  if (kind == kText) return text;
  if (kind == kNull) return nullptr;
  const bool special = !std::isfinite(real) || (real == 0 && std::signbit(real));
  return special ? nlohmann::json(javaDouble(real)) : nlohmann::json(real);
}

Value Value::of(const nlohmann::json& json, bool doubles) {
  if (json.is_null()) return Value();
  if (json.is_string()) {
    const std::string text = json;
    if (doubles && text == "NaN") return Value(std::numeric_limits<double>::quiet_NaN());
    if (doubles && text == "Infinity") return Value(std::numeric_limits<double>::infinity());
    if (doubles && text == "-Infinity") return Value(-std::numeric_limits<double>::infinity());
    if (doubles && text == "-0.0") return Value(-0.0);
    return Value(text);
  }
  if (json.is_number_float() || doubles) return Value(json.get<double>());
  return Value(json.get<int64_t>());
}

}  // namespace weir::semantics
