#include "weir/operators/cells.h"

#include <charconv>

namespace weir {
namespace {

using Kind = Cell::Kind;

/// All of the text as a number of this type.
template <class T>
bool parseNumber(const Cell& cell, T& into) {
  if (cell.kind != Kind::kText && cell.kind != Kind::kNumber) return false;
  const char* const end = cell.text.data() + cell.text.size();
  const auto [at, error] = std::from_chars(cell.text.data(), end, into);
  return error == std::errc() && at == end;
}

}  // namespace

const char* parseCell(const Cell& cell, bool& into) {
  if (cell.kind == Kind::kText || cell.kind == Kind::kBool) {
    if (cell.text == "true" || cell.text == "1") return into = true, nullptr;
    if (cell.text == "false" || cell.text == "0") return into = false, nullptr;
  }
  return "true or false";
}

const char* parseCell(const Cell& cell, int8_t& into) { return parseNumber(cell, into) ? nullptr : "a whole number from -128 to 127"; }
const char* parseCell(const Cell& cell, int16_t& into) { return parseNumber(cell, into) ? nullptr : "a whole number from -32768 to 32767"; }
const char* parseCell(const Cell& cell, int32_t& into) {
  return parseNumber(cell, into) ? nullptr : "a whole number from -2147483648 to 2147483647";
}
const char* parseCell(const Cell& cell, int64_t& into) {
  return parseNumber(cell, into) ? nullptr : "a whole number from -9223372036854775808 to 9223372036854775807";
}
const char* parseCell(const Cell& cell, float& into) { return parseNumber(cell, into) ? nullptr : "a number"; }
const char* parseCell(const Cell& cell, double& into) { return parseNumber(cell, into) ? nullptr : "a number"; }

const char* parseCell(const Cell& cell, std::string& into) {
  if (cell.kind != Kind::kText && cell.kind != Kind::kString && cell.kind != Kind::kEmpty) return "a string";
  into.assign(cell.text);
  return nullptr;
}

namespace detail {

std::vector<std::string> splitNames(std::string_view commaSeparated) {
  std::vector<std::string> names;
  while (!commaSeparated.empty()) {
    const size_t end = std::min(commaSeparated.find(','), commaSeparated.size());
    std::string_view name = commaSeparated.substr(0, end);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    names.emplace_back(name);
    commaSeparated.remove_prefix(std::min(end + 1, commaSeparated.size()));
  }
  return names;
}

std::vector<std::string> numberedNames(size_t count) {
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("f" + std::to_string(i));
  return names;
}

}  // namespace detail
}  // namespace weir
