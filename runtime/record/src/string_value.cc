#include "weir/record/string_value.h"

namespace weir::detail {

uint8_t* writeWideString(uint8_t* at, std::string_view text) {
  uint32_t units = 0;
  if (!forEachUtf16Unit(text, [&](uint16_t) { ++units; })) throwInvalidUtf8(text);
  at = putGroups(at, units + 1);
  forEachUtf16Unit(text, [&](uint16_t unit) { at = putGroups(at, unit); });
  return at;
}

bool readWideString(DataInput& in, size_t units, std::string& into) {
  into.resize(3 * units);  // units are bounded by the bytes that are there
  Utf16ToUtf8 joined(into.data());
  for (size_t i = 0; i < units; ++i) {
    uint32_t unit = in.readUnsignedByte();
    if (unit >= 0x80) {
      uint32_t second = in.readUnsignedByte();
      unit = (unit & 0x7f) | (second & 0x7f) << 7;
      if (second >= 0x80) {
        uint32_t third = in.readUnsignedByte();
        if (third > 3) return in.fail("holds a string with a character above 65535");
        unit |= third << 14;
      }
    }
    if (!joined.feed(static_cast<uint16_t>(unit))) return in.fail("holds a string with half a surrogate pair");
  }
  if (in.ok() && !joined.complete()) in.fail("holds a string that ends inside a surrogate pair");
  into.resize(static_cast<size_t>(joined.end() - into.data()));
  return in.ok();
}

}  // namespace weir::detail
