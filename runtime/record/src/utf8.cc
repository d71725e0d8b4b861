#include "weir/record/utf8.h"

#include <fmt/format.h>

#include "weir/base/error.h"

namespace weir {

bool isValidUtf8(std::string_view text) {
  text.remove_prefix(asciiPrefix(text.data(), text.size()));
  return forEachUtf16Unit(text, [](uint16_t) {});
}

void throwInvalidUtf8(std::string_view text) {
  auto begin = reinterpret_cast<const uint8_t*>(text.data()), at = begin, end = begin + text.size();
  while (at < end && nextCodePoint(at, end) != kInvalidCodePoint) {
  }
  throw Throwable("java.nio.charset.MalformedInputException",
                  fmt::format("A string of {} bytes is no UTF-8 at byte {}; the source that read it must refuse or repair it.", text.size(),
                              at - begin));
}

}  // namespace weir
