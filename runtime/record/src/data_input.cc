#include "weir/record/data_input.h"

#include <fmt/format.h>

#include "weir/record/utf8.h"

namespace weir {

std::string DataInput::readUtf() {
  auto bytes = take(readUnsignedShort());
  std::string text(bytes.size(), '\0');  // never shorter than in modified UTF-8
  Utf16ToUtf8 joined(text.data());
  for (size_t i = 0; i < bytes.size();) {
    auto continuation = [&](size_t at) { return at < bytes.size() && (bytes[at] & 0xc0) == 0x80 ? bytes[at] & 0x3f : -1; };
    int first = bytes[i], second = continuation(i + 1), third = continuation(i + 2);
    int unit = -1;
    if (first < 0x80) {
      unit = first;
      i += 1;
    } else if ((first & 0xe0) == 0xc0 && second >= 0) {
      unit = (first & 0x1f) << 6 | second;
      i += 2;
    } else if ((first & 0xf0) == 0xe0 && second >= 0 && third >= 0) {
      unit = (first & 0x0f) << 12 | second << 6 | third;
      i += 3;
    }
    if (unit < 0 || !joined.feed(static_cast<uint16_t>(unit))) {
      fail("holds a name that is no modified UTF-8");
      return {};
    }
  }
  if (!joined.complete()) {
    fail("holds a name that ends inside a surrogate pair");
    return {};
  }
  text.resize(static_cast<size_t>(joined.end() - text.data()));
  return text;
}

bool DataInput::fail(const char* why) {
  if (failure_) return false;
  failedAt_ = position();
  sizeAtFailure_ = static_cast<size_t>(end_ - begin_);
  failure_ = why;
  at_ = end_;
  return false;
}

Error DataInput::error(std::string_view what) const {
  return {ErrorCode::kCorrupt,
          fmt::format("{} {} (at byte {} of {})", what, failure_ ? failure_ : "is correct", failedAt_, sizeAtFailure_)};
}

}  // namespace weir
