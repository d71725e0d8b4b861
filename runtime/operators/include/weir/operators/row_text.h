#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/operators/cells.h"

namespace weir {

/// Rows as text, appended to a string that keeps its memory. Fields come from WEIR_FIELDS, tuples and pairs; names where they are known.
/// Floating-point numbers are printed as short as reads back the same.

namespace detail {
void appendNumber(std::string& out, int64_t value);
void appendNumber(std::string& out, float value);
void appendNumber(std::string& out, double value);
void appendCsvString(std::string& out, std::string_view value, bool quoteEmpty);
/// Throws for a string that is no UTF-8.
void appendJsonString(std::string& out, std::string_view value);
bool isFinite(double value);

template <class T>
constexpr bool kIsOptionalField = false;
template <class T>
constexpr bool kIsOptionalField<std::optional<T>> = true;
template <class T>
constexpr bool kIsVectorField = false;
template <class T>
constexpr bool kIsVectorField<std::vector<T>> = true;
template <class T>
constexpr bool kIsMapField = false;
template <class K, class V, class L>
constexpr bool kIsMapField<std::map<K, V, L>> = true;
template <class T>
constexpr bool kHasNames = requires {
  T::fieldNames();
};
template <class T>
constexpr bool kCannotPrint = false;

/// The names of T's fields, made once.
template <class T>
const std::vector<std::string>& namesOf() {
  static const std::vector<std::string> names = weir::fieldNames<T>();
  return names;
}

template <class T>
void appendScalar(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>)
    out += value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    appendNumber(out, static_cast<int64_t>(value));
  else
    appendNumber(out, value);
}
}  // namespace detail

/// As print() shows a value: (Anna,3) for a tuple, {word=Anna, count=3} for a struct, [1, 2], {a=1}, null.
template <class T>
void appendText(std::string& out, const T& value) {
  using namespace detail;
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    appendScalar(out, value);
  } else if constexpr (kIsOptionalField<T>) {
    if (value)
      appendText(out, *value);
    else
      out += "null";
  } else if constexpr (kIsVectorField<T>) {
    out += '[';
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ", ";
      appendText(out, value[i]);
    }
    out += ']';
  } else if constexpr (kIsMapField<T>) {
    out += '{';
    for (auto entry = value.begin(); entry != value.end(); ++entry) {
      if (entry != value.begin()) out += ", ";
      appendText(out, entry->first);
      out += '=';
      appendText(out, entry->second);
    }
    out += '}';
  } else if constexpr (kIsRow<T>) {
    constexpr bool named = kHasNames<T>;
    out += named ? '{' : '(';
    size_t at = 0;
    auto field = [&](const auto& f) {
      if (at > 0) out += named ? ", " : ",";
      if constexpr (named) (out += namesOf<T>()[at]) += '=';
      ++at;
      appendText(out, f);
    };
    std::apply([&](const auto&... f) { (field(f), ...); }, rowFields(value));
    out += named ? '}' : ')';
  } else {
    static_assert(kCannotPrint<T>, "Weir cannot print this type: give it WEIR_FIELDS(member, ...), or map it to a string before");
  }
}

/// One line of a CSV file, without its end (RFC 4180). Quotes where it must. No value is an empty cell; an empty std::optional<std::string>
/// that has a value is "". Fields must be cells: bool, numbers, strings, std::optional of these.
template <class T>
void appendCsvRow(std::string& out, const T& row) {
  auto cell = [&]<class X>(const X& value) {
    if constexpr (std::is_arithmetic_v<X>)
      detail::appendScalar(out, value);
    else
      detail::appendCsvString(out, value, kRowSize<T> == 1);
  };
  auto field = [&]<class X>(const X& value) {
    if constexpr (std::is_same_v<X, std::optional<std::string>>) {
      if (value) detail::appendCsvString(out, *value, true);
    } else if constexpr (detail::kIsOptionalField<X>) {
      if (value) cell(*value);
    } else {
      static_assert(
          std::is_arithmetic_v<X> || std::is_same_v<X, std::string>,
          "A CSV cell is a bool, a number, a string, or a std::optional of one: flatten the row with a map before, or use JSON lines");
      cell(value);
    }
  };
  bool first = true;
  std::apply([&](const auto&... f) { ((out.append(first ? "" : ","), first = false, field(f)), ...); }, rowFields(row));
}

/// The first line of a CSV file of T, without its end.
template <class T>
std::string csvHeader() {
  std::string out;
  for (const std::string& name : detail::namesOf<T>()) {
    if (!out.empty()) out += ',';
    detail::appendCsvString(out, name, true);
  }
  return out;
}

/// A JSON value: rows are objects (tuples have the keys f0, f1, ...), vectors arrays, maps objects; no value, NaN and infinities are null.
template <class T>
void appendJson(std::string& out, const T& value) {
  using namespace detail;
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    appendJsonString(out, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (isFinite(value))
      appendNumber(out, value);
    else
      out += "null";
  } else if constexpr (std::is_arithmetic_v<T>) {
    appendScalar(out, value);
  } else if constexpr (kIsOptionalField<T>) {
    if (value)
      appendJson(out, *value);
    else
      out += "null";
  } else if constexpr (kIsVectorField<T>) {
    out += '[';
    for (size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ',';
      appendJson(out, value[i]);
    }
    out += ']';
  } else if constexpr (kIsMapField<T>) {
    static_assert(std::is_convertible_v<const typename T::key_type&, std::string_view>, "The keys of a JSON object are strings");
    out += '{';
    for (auto entry = value.begin(); entry != value.end(); ++entry) {
      if (entry != value.begin()) out += ',';
      appendJsonString(out, entry->first);
      out += ':';
      appendJson(out, entry->second);
    }
    out += '}';
  } else if constexpr (kIsRow<T>) {
    out += '{';
    size_t at = 0;
    auto field = [&](const auto& f) {
      if (at > 0) out += ',';
      appendJsonString(out, namesOf<T>()[at++]);
      out += ':';
      appendJson(out, f);
    };
    std::apply([&](const auto&... f) { (field(f), ...); }, rowFields(value));
    out += '}';
  } else {
    static_assert(kCannotPrint<T>, "Weir cannot write this type as JSON: give it WEIR_FIELDS(member, ...)");
  }
}

}  // namespace weir
