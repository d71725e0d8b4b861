#include "weir/cli/keygroup_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "weir/cli/terminal.h"
#include "weir/exchange/key_groups.h"

namespace weir {
namespace {

template <class T>
std::optional<int32_t> hashOfNumber(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return javaHash(value);
}

std::optional<int32_t> hashOfBool(const std::string& text) {
  if (text == "true") return javaHash(true);
  if (text == "false") return javaHash(false);
  return std::nullopt;
}

struct KeyType {
  std::string_view name, values;
  std::optional<int32_t> (*hash)(const std::string&);
};
constexpr KeyType kTypes[] = {
    {"string", "text", [](const std::string& text) -> std::optional<int32_t> { return javaHash(text); }},
    {"int", "a whole number from -2147483648 to 2147483647", hashOfNumber<int32_t>},
    {"long", "a whole number from -9223372036854775808 to 9223372036854775807", hashOfNumber<int64_t>},
    {"short", "a whole number from -32768 to 32767", hashOfNumber<int16_t>},
    {"byte", "a whole number from -128 to 127", hashOfNumber<int8_t>},
    {"double", "a number", hashOfNumber<double>},
    {"float", "a number", hashOfNumber<float>},
    {"boolean", "true or false", hashOfBool},
};

struct Owner {
  std::string key;
  int32_t hash, keyGroup, subtask;
};

ExitCode usage(const std::string& message) {
  std::cerr << "weir: " << message << '\n';
  return kExitUsage;
}

void printJson(const std::vector<Owner>& owners, const KeyGroupOptions& options, int32_t maxParallelism, std::ostream& out) {
  nlohmann::ordered_json report = {{"type", options.type}, {"parallelism", options.parallelism}, {"maxParallelism", maxParallelism}};
  report["keys"] = nlohmann::ordered_json::array();
  for (const Owner& o : owners) {
    const KeyGroupRange range = keyGroupRangeForOperatorIndex(o.subtask, options.parallelism, maxParallelism);
    report["keys"].push_back({{"key", o.key},
                              {"hash", o.hash},
                              {"keyGroup", o.keyGroup},
                              {"subtask", o.subtask},
                              {"keyGroupsOfSubtask", {range.first, range.last}}});
  }
  out << report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

/// Keys that share a subtask, and subtasks that have none: what an uneven load looks like.
void printSharing(const std::vector<Owner>& owners, int32_t parallelism, std::ostream& out) {
  std::vector<int> owned(static_cast<size_t>(parallelism));
  for (const Owner& o : owners) ++owned[static_cast<size_t>(o.subtask)];
  const auto busiest = std::max_element(owned.begin(), owned.end());
  const auto withKeys = parallelism - std::count(owned.begin(), owned.end(), 0);
  out << fmt::format("\n{} of {} subtasks own one of these keys", withKeys, parallelism);
  out << (*busiest > 1 ? fmt::format("; subtask {} owns {}.\n", busiest - owned.begin(), *busiest) : ", no two the same.\n");
}

}  // namespace

ExitCode showKeyGroups(const KeyGroupOptions& options, std::ostream& out, bool colour) {
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const KeyType& t) { return t.name == options.type; });
  if (type == std::end(kTypes))
    return usage("'" + options.type + "' is no type of key; string, int, long, short, byte, double, float and boolean are");
  const int32_t maxParallelism = options.maxParallelism > 0 ? options.maxParallelism : computeDefaultMaxParallelism(options.parallelism);
  if (options.parallelism > maxParallelism)
    return usage(fmt::format("the parallelism {} is above the max parallelism {}: there would be subtasks without key groups",
                             options.parallelism, maxParallelism));
  std::vector<Owner> owners;
  for (const std::string& key : options.keys) {
    std::optional<int32_t> hash;
    try {
      hash = type->hash(key);
    } catch (const Throwable& e) {
      return usage(e.message());  // no UTF-8
    }
    if (!hash) return usage(fmt::format("'{}' is no {}: give {}", key, type->name, type->values));
    const int32_t group = keyGroupForHash(*hash, maxParallelism);
    owners.push_back({key, *hash, group, operatorIndexForKeyGroup(group, options.parallelism, maxParallelism)});
  }
  if (options.json) {
    printJson(owners, options, maxParallelism, out);
    return kExitOk;
  }
  using Align = TextTable::Align;
  TextTable table({{"key"},
                   {"hash", Align::kRight},
                   {"key group", Align::kRight},
                   {"subtask", Align::kRight},
                   {"its key groups", Align::kRight}});
  for (const Owner& o : owners) {
    const KeyGroupRange range = keyGroupRangeForOperatorIndex(o.subtask, options.parallelism, maxParallelism);
    table.addRow({o.key, std::to_string(o.hash), std::to_string(o.keyGroup), std::to_string(o.subtask),
                  fmt::format("{}..{}", range.first, range.last)});
  }
  table.print(out, colour);
  if (owners.size() > 1) printSharing(owners, options.parallelism, out);
  return kExitOk;
}

}  // namespace weir
