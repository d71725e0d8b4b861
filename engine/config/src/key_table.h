#pragma once

#include <string_view>

namespace weir {
/// The text of keys.tsv.
std::string_view keyTable();
}  // namespace weir
