#include "weir/record/data_output.h"

#include <algorithm>

#include <fmt/format.h>

#include "weir/base/check.h"
#include "weir/base/error.h"
#include "weir/record/utf8.h"

namespace weir {

namespace {
/// Java's modified UTF-8: every UTF-16 unit by itself, zero in two bytes.
size_t modifiedSize(uint16_t unit) { return unit == 0 || unit >= 0x80 ? (unit >= 0x800 ? 3 : 2) : 1; }

uint8_t* putModified(uint8_t* at, uint16_t unit) {
  switch (modifiedSize(unit)) {
    case 1:
      *at++ = static_cast<uint8_t>(unit);
      break;
    case 2:
      *at++ = static_cast<uint8_t>(0xc0 | unit >> 6);
      *at++ = static_cast<uint8_t>(0x80 | (unit & 0x3f));
      break;
    default:
      *at++ = static_cast<uint8_t>(0xe0 | unit >> 12);
      *at++ = static_cast<uint8_t>(0x80 | ((unit >> 6) & 0x3f));
      *at++ = static_cast<uint8_t>(0x80 | (unit & 0x3f));
  }
  return at;
}
}  // namespace

void DataOutput::writeUtf(std::string_view text) {
  size_t size = 0;
  if (!forEachUtf16Unit(text, [&](uint16_t unit) { size += modifiedSize(unit); })) throwInvalidUtf8(text);
  if (size > 0xffff) throw Throwable("java.io.UTFDataFormatException", fmt::format("A string of {} bytes does not fit in 65535.", size));
  put(static_cast<uint16_t>(size));
  uint8_t* at = prepare(size);
  forEachUtf16Unit(text, [&](uint16_t unit) { at = putModified(at, unit); });
  commit(at);
}

void DataOutput::patchInt(size_t position, int32_t value) {
  WEIR_CHECK_LE(position + sizeof value, size_);
  storeBigEndian(data_.get() + position, value);
}

void DataOutput::grow(size_t more) {
  size_t capacity = std::max({capacity_ * 2, size_ + more, size_t{64}});
  auto larger = std::make_unique_for_overwrite<uint8_t[]>(capacity);
  if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
  data_ = std::move(larger);
  capacity_ = capacity;
}

}  // namespace weir
