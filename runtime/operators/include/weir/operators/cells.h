#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "weir/record/serializer.h"

namespace weir {

/// One value of a row of text, before it has a type. Points into the row.
struct Cell {
  enum class Kind : uint8_t {
    kAbsent,  ///< JSON: null, or no such key
    kEmpty,   ///< CSV: nothing between two commas; an empty string, or no value
    kText,    ///< CSV, text: whatever the field wants to see in it
    kString,  ///< JSON from here on
    kNumber,
    kBool,
    kNested
  };
  Kind kind = Kind::kAbsent;
  std::string_view text{};
};

/// Reads a cell into a field, whose memory is reused. Null, or what was expected ("a whole number from ... to ...").
const char* parseCell(const Cell& cell, bool& into);
const char* parseCell(const Cell& cell, int8_t& into);
const char* parseCell(const Cell& cell, int16_t& into);
const char* parseCell(const Cell& cell, int32_t& into);
const char* parseCell(const Cell& cell, int64_t& into);
const char* parseCell(const Cell& cell, float& into);
const char* parseCell(const Cell& cell, double& into);
const char* parseCell(const Cell& cell, std::string& into);
/// No value where the cell is empty or absent.
template <class X>
const char* parseCell(const Cell& cell, std::optional<X>& into) {
  if (cell.kind == Cell::Kind::kAbsent || cell.kind == Cell::Kind::kEmpty) {
    into.reset();
    return nullptr;
  }
  return parseCell(cell, into ? *into : into.emplace());
}

namespace detail {
template <class T>
constexpr bool kIsTupleLike = false;
template <class... F>
constexpr bool kIsTupleLike<std::tuple<F...>> = true;
template <class A, class B>
constexpr bool kIsTupleLike<std::pair<A, B>> = true;

std::vector<std::string> splitNames(std::string_view commaSeparated);
std::vector<std::string> numberedNames(size_t count);
}  // namespace detail

/// Has fields: a struct with WEIR_FIELDS, a tuple or a pair. Everything else is a row of one field.
template <class T>
constexpr bool kIsRow = HasFields<T> || detail::kIsTupleLike<T>;

/// The fields of a row as a tuple of references.
template <class T>
constexpr auto rowFields(T& row) {
  if constexpr (kIsRow<std::remove_const_t<T>>)
    return fieldsOf(row);
  else
    return std::tie(row);
}
template <class T>
constexpr size_t kRowSize = std::tuple_size_v<decltype(rowFields(std::declval<T&>()))>;

/// The names of its fields: those in WEIR_FIELDS, otherwise f0, f1, ... as Flink names the fields of a tuple.
template <class T>
std::vector<std::string> fieldNames() {
  if constexpr (requires { T::fieldNames(); })
    return detail::splitNames(T::fieldNames());
  else
    return detail::numberedNames(kRowSize<T>);
}

/// Reads cells into the fields, in order. kRowSize<T>, or the index of the field that could not be read and what it `expected`.
template <class T>
size_t parseRow(std::span<const Cell> cells, T& into, const char*& expected) {
  return std::apply(
      [&](auto&... field) {
        size_t at = 0;
        static_cast<void>(((expected = parseCell(cells[at], field), expected == nullptr && (++at, true)) && ...));
        return at;
      },
      rowFields(into));
}

}  // namespace weir
