#include "weir/checkpoint/value_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weir/backend/time_window.h"
#include "weir/record/serializer.h"

namespace weir {

namespace {

void printQuoted(std::string_view text, std::string& into) {
  into += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (into += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      into += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      into += c;
  }
  into += '"';
}

template <class T>
void printNumber(DataInput& in, std::string& into) {
  const T value = in.number<T>();
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return printQuoted(fmt::format("{}", value), into);
  }
  into += fmt::format("{}", value);
}

void printBoolean(DataInput& in, std::string& into) { into += in.readBoolean() ? "true" : "false"; }
void printChar(DataInput& in, std::string& into) {
  const char16_t unit = in.readChar();
  std::string text;
  if (unit < 0x80)
    text = static_cast<char>(unit);
  else if (unit < 0x800)
    text = {static_cast<char>(0xc0 | unit >> 6), static_cast<char>(0x80 | (unit & 0x3f))};
  else if (unit >= 0xd800 && unit < 0xe000)  // half of a character
    text = fmt::format("U+{:04X}", static_cast<int>(unit));
  else
    text = {static_cast<char>(0xe0 | unit >> 12), static_cast<char>(0x80 | (unit >> 6 & 0x3f)), static_cast<char>(0x80 | (unit & 0x3f))};
  printQuoted(text, into);
}
void printNothing(DataInput& in, std::string& into) {
  in.take(1);
  into += "null";
}
void printWindow(DataInput& in, std::string& into) {
  const int64_t start = in.readLong(), end = in.readLong();
  into += fmt::format("{{\"start\":{},\"end\":{}}}", start, end);
}

size_t readCount(DataInput& in) {
  const int32_t count = in.readInt();
  if (count >= 0 && static_cast<size_t>(count) <= in.remaining()) return static_cast<size_t>(count);
  in.fail("announces more entries than there are bytes");
  return 0;
}

}  // namespace

ValueShape ValueShape::fixed(size_t size, Print print) {
  ValueShape shape;
  shape.size_ = size;
  shape.print_ = print;
  return shape;
}

Result<ValueShape> ValueShape::of(const SerializerSnapshot& snapshot) {
  struct Known {
    std::string className;
    ValueShape shape;
    size_t parts = 0;
  };
  const auto composite = [](const SerializerSnapshot& s, Kind kind, size_t parts) {
    ValueShape shape;
    shape.kind_ = kind;
    return Known{s.className, shape, parts};
  };
  static const std::array<Known, 15> kKnown{{{Serializer<bool>::snapshot().className, fixed(1, printBoolean)},
                                             {Serializer<int8_t>::snapshot().className, fixed(1, printNumber<int8_t>)},
                                             {Serializer<int16_t>::snapshot().className, fixed(2, printNumber<int16_t>)},
                                             {Serializer<int32_t>::snapshot().className, fixed(4, printNumber<int32_t>)},
                                             {Serializer<int64_t>::snapshot().className, fixed(8, printNumber<int64_t>)},
                                             {Serializer<float>::snapshot().className, fixed(4, printNumber<float>)},
                                             {Serializer<double>::snapshot().className, fixed(8, printNumber<double>)},
                                             {Serializer<char16_t>::snapshot().className, fixed(2, printChar)},
                                             {Serializer<VoidNamespace>::snapshot().className, fixed(1, printNothing)},
                                             {Serializer<TimeWindow>::snapshot().className, fixed(16, printWindow)},
                                             composite(Serializer<std::string>::snapshot(), Kind::kString, 0),
                                             composite(Serializer<std::vector<uint8_t>>::snapshot(), Kind::kBytes, 0),
                                             composite(SerializerSnapshot::list({}), Kind::kList, 1),
                                             composite(SerializerSnapshot::map({}, {}), Kind::kMap, 2),
                                             composite(SerializerSnapshot::nullable({}), Kind::kNullable, 1)}};
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.className == snapshot.className; });
  ValueShape shape;
  if (known == kKnown.end())
    shape.kind_ = Kind::kFields;  // every other known composite is its parts in a row
  else
    shape = known->shape;
  for (const auto& nested : snapshot.nested) {
    WEIR_ASSIGN(auto part, of(nested));
    shape.nested_.push_back(std::move(part));
  }
  const size_t parts = snapshot.nested.size();
  if (known == kKnown.end() ? parts == 0 : parts != known->parts)
    return Error{ErrorCode::kCorrupt, fmt::format("it has a serializer {} with {} parts", snapshot.className, parts)};
  // Records in windows have something in front of their parts that no part stands for.
  if (snapshot.className.ends_with("$BufferEntrySerializerSnapshot")) {
    shape.nested_.insert(shape.nested_.begin(), fixed(1, nullptr));
  } else if (snapshot.className.ends_with("$StreamElementSerializerSnapshot")) {
    ValueShape timestamp;  // behind the tag 0; there is none behind the tag 1
    timestamp.kind_ = Kind::kNullable;
    timestamp.nested_.push_back(fixed(8, printNumber<int64_t>));
    shape.nested_.insert(shape.nested_.begin(), std::move(timestamp));
  } else if (snapshot.className.ends_with("$UnionSerializerSnapshot")) {
    if (parts != 2) return Error{ErrorCode::kCorrupt, fmt::format("it has a serializer {} with {} parts", snapshot.className, parts)};
    shape.kind_ = Kind::kEither;
  }
  return shape;
}

bool ValueShape::hasFixedSize() const {
  if (kind_ == Kind::kFields)
    return std::all_of(nested_.begin(), nested_.end(), [](const ValueShape& field) { return field.hasFixedSize(); });
  return kind_ == Kind::kFixed;
}

bool ValueShape::skip(DataInput& in) const {
  switch (kind_) {
    case Kind::kFixed: in.take(size_); break;
    case Kind::kString:
      for (uint32_t left = readStringLength(in); left > 1 && in.ok(); --left) {
        // A unit takes as many bytes as have their high bit set, and one.
        while (in.ok() && in.readUnsignedByte() >= 0x80) {
        }
      }
      break;
    case Kind::kBytes: in.take(readCount(in)); break;
    case Kind::kList:
      for (size_t left = readCount(in); left > 0 && in.ok(); --left) nested_[0].skip(in);
      break;
    case Kind::kMap:
      for (size_t left = readCount(in); left > 0 && in.ok(); --left) {
        nested_[0].skip(in);
        if (!in.readBoolean()) nested_[1].skip(in);
      }
      break;
    case Kind::kNullable:
      if (in.readUnsignedByte() == 0) nested_[0].skip(in);
      break;
    case Kind::kEither: nested_[in.readUnsignedByte() == 1 ? 0 : 1].skip(in); break;
    case Kind::kFields:
      for (const auto& field : nested_) field.skip(in);
      break;
  }
  return in.ok();
}

bool ValueShape::print(DataInput& in, std::string& into) const {
  auto separate = [&, first = true]() mutable {
    if (!first) into += ',';
    first = false;
  };
  switch (kind_) {
    case Kind::kFixed:
      if (print_)
        print_(in, into);
      else
        in.take(size_);
      break;
    case Kind::kString: {
      const uint32_t length = readStringLength(in);  // and one: 0 stands for null
      std::string text;
      if (in.failed() || (length > 0 && !readStringUnits(in, length - 1, text))) return false;
      if (length == 0)
        into += "null";
      else
        printQuoted(text, into);
      break;
    }
    case Kind::kBytes:
      into += '"';
      for (const uint8_t byte : in.take(readCount(in))) into += fmt::format("{:02x}", byte);
      into += '"';
      break;
    case Kind::kList:
      into += '[';
      for (size_t left = readCount(in); left > 0 && in.ok(); --left) {
        separate();
        nested_[0].print(in, into);
      }
      into += ']';
      break;
    case Kind::kMap:
      into += '[';
      for (size_t left = readCount(in); left > 0 && in.ok(); --left) {
        separate();
        into += '[';
        nested_[0].print(in, into);
        into += ',';
        if (in.readBoolean())
          into += "null";
        else
          nested_[1].print(in, into);
        into += ']';
      }
      into += ']';
      break;
    case Kind::kNullable:
      if (in.readUnsignedByte() == 0)
        nested_[0].print(in, into);
      else
        into += "null";
      break;
    case Kind::kEither: nested_[in.readUnsignedByte() == 1 ? 0 : 1].print(in, into); break;
    case Kind::kFields:
      into += '[';
      for (const auto& field : nested_) {
        if (field.kind_ == Kind::kFixed && !field.print_) {
          field.skip(in);
          continue;
        }
        separate();
        field.print(in, into);
      }
      into += ']';
      break;
  }
  return in.ok();
}

}  // namespace weir
