#pragma once

#include <string>
#include <vector>

namespace weir {

/// The candidate that differs least from `wanted`, by inserted, removed and replaced bytes; empty where none is close.
std::string nearest(const std::string& wanted, const std::vector<std::string>& candidates);

}  // namespace weir
