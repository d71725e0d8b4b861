#include "weir/exchange/java_hash.h"

namespace weir::detail {

uint32_t hashOfWideText(uint32_t hash, std::string_view text, std::string_view whole) {
  if (!forEachUtf16Unit(text, [&](uint16_t unit) { hash = 31 * hash + unit; })) throwInvalidUtf8(whole);
  return hash;
}

}  // namespace weir::detail
