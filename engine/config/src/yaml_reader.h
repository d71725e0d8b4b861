#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The elements of `[a, b]`, where the text is such a YAML sequence; as Flink reads list options given on a command line.
std::optional<std::vector<std::string>> flowSequence(std::string_view text);
/// Keys and values, in turn, of `{a: 1, b: 2}`, where the text is such a YAML mapping.
std::optional<std::vector<std::string>> flowMapping(std::string_view text);

}  // namespace weir
