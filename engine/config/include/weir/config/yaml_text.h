#pragma once

#include <string_view>

namespace weir {

/// Reads `text` to its end without keeping anything. Throws YAML::ParserException where it is no YAML, also for what yaml-cpp takes as
/// empty documents without end (a ',' where a document begins): to be called before YAML::LoadAll, which would take all memory.
void requireYamlThatEnds(std::string_view text);

}  // namespace weir
