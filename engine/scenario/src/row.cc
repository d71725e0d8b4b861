#include "weir/scenario/row.h"

#include "weir/base/error.h"

namespace weir {
namespace {

enum Kind : uint8_t { kNull = 0, kBool, kInt, kLong, kDouble, kString, kKinds };

std::strong_ordering orderOfDoubles(double a, double b) {
  if (a < b) return std::strong_ordering::less;
  if (a > b) return std::strong_ordering::greater;
  // Equal, or a NaN: the bits with one NaN, as Double.compare does.
  return static_cast<int64_t>(wireBits(a)) <=> static_cast<int64_t>(wireBits(b));
}

/// UTF-8 has the order of code points; Java's strings have that of UTF-16 units, where surrogates stand below U+E000.
std::strong_ordering orderOfStrings(const std::string& a, const std::string& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at.first == a.end() || at.second == b.end()) return a.size() <=> b.size();
  const auto x = static_cast<uint8_t>(*at.first), y = static_cast<uint8_t>(*at.second);
  const bool fourBytesX = x >= 0xf0, fourBytesY = y >= 0xf0;
  if (fourBytesX != fourBytesY && x >= 0xee && y >= 0xee) return fourBytesX ? std::strong_ordering::less : std::strong_ordering::greater;
  return x <=> y;
}

int32_t javaHashOf(const Value& value) {
  switch (value.index()) {
    case kBool: return javaHash(std::get<bool>(value));
    case kInt: return javaHash(std::get<int32_t>(value));
    case kLong: return javaHash(std::get<int64_t>(value));
    case kDouble: return javaHash(std::get<double>(value));
    case kString: return javaHash(std::get<std::string>(value));
    default: return 0;
  }
}

uint64_t fastHashOf(const Value& value) {
  switch (value.index()) {
    case kBool: return fastHash(std::get<bool>(value));
    case kInt: return fastHash(std::get<int32_t>(value));
    case kLong: return fastHash(std::get<int64_t>(value));
    case kDouble: return fastHash(std::get<double>(value));
    case kString: return fastHash(std::get<std::string>(value));
    default: return detail::kHashB;
  }
}

uint8_t* writeOne(uint8_t* at, const Value& value) {
  switch (value.index()) {
    case kBool: return Serializer<bool>::write(at, std::get<bool>(value));
    case kInt: return Serializer<int32_t>::write(at, std::get<int32_t>(value));
    case kLong: return Serializer<int64_t>::write(at, std::get<int64_t>(value));
    case kDouble: return Serializer<double>::write(at, std::get<double>(value));
    case kString: return Serializer<std::string>::write(at, std::get<std::string>(value));
    default: return at;
  }
}

/// The alternative `T` of a value, whose memory is used again where it holds one already.
template <class T>
T& alternative(Value& value) {
  if (T* held = std::get_if<T>(&value)) return *held;
  return value.emplace<T>();
}

bool readOne(DataInput& in, uint8_t kind, Value& into) {
  switch (kind) {
    case kNull: into.emplace<std::monostate>(); return in.ok();
    case kBool: return Serializer<bool>::read(in, alternative<bool>(into));
    case kInt: return Serializer<int32_t>::read(in, alternative<int32_t>(into));
    case kLong: return Serializer<int64_t>::read(in, alternative<int64_t>(into));
    case kDouble: return Serializer<double>::read(in, alternative<double>(into));
    case kString: return Serializer<std::string>::read(in, alternative<std::string>(into));
    default: return in.fail("holds a value of an unknown kind");
  }
}

}  // namespace

std::strong_ordering compareValues(const Value& a, const Value& b) {
  if (a.index() != b.index()) return a.index() <=> b.index();
  switch (a.index()) {
    case kBool: return std::get<bool>(a) <=> std::get<bool>(b);
    case kInt: return std::get<int32_t>(a) <=> std::get<int32_t>(b);
    case kLong: return std::get<int64_t>(a) <=> std::get<int64_t>(b);
    case kDouble: return orderOfDoubles(std::get<double>(a), std::get<double>(b));
    case kString: return orderOfStrings(std::get<std::string>(a), std::get<std::string>(b));
    default: return std::strong_ordering::equal;
  }
}

bool RowKey::operator==(const RowKey& other) const {
  if (rest.size() != other.rest.size() || compareValues(first, other.first) != 0) return false;
  for (size_t i = 0; i < rest.size(); ++i)
    if (compareValues(rest[i], other.rest[i]) != 0) return false;
  return true;
}

std::strong_ordering operator<=>(const RowKey& a, const RowKey& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (const auto order = compareValues(a.at(i), b.at(i)); order != 0) return order;
  return a.size() <=> b.size();
}

int32_t javaHash(const RowKey& key) {
  auto hash = static_cast<uint32_t>(javaHashOf(key.first));
  for (const Value& value : key.rest) hash = 31 * hash + static_cast<uint32_t>(javaHashOf(value));
  return static_cast<int32_t>(hash);
}

uint64_t fastHash(const RowKey& key) {
  uint64_t hash = fastHashOf(key.first);
  for (const Value& value : key.rest) hash = combineHash(hash, fastHashOf(value));
  return hash;
}

RowKey RowKeySelector::operator()(const Row& row) const {
  RowKey key;
  key.first = row.values[columns_[0]];
  if (salts_ > 0) {
    drawn_ = drawn_ * 1664525 + 1013904223;
    key.rest.emplace_back(static_cast<int32_t>(drawn_ >> 16) % salts_);
  } else if (columns_.size() == 1) {
    if (isNull(key.first)) throw Throwable("java.lang.NullPointerException", "Assigned key must not be null!");
    return key;
  }
  for (size_t i = 1; i < columns_.size(); ++i) key.rest.push_back(row.values[columns_[i]]);
  return key;
}

namespace detail {

size_t maxSizeOfValues(std::span<const Value> values) {
  size_t size = 2 + (values.size() + 1) / 2;
  for (const Value& value : values) {
    const auto* text = std::get_if<std::string>(&value);
    size += text ? Serializer<std::string>::maxSize(*text) : 8;
  }
  return size;
}

uint8_t* writeValues(uint8_t* at, std::span<const Value> values) {
  at = storeBigEndian(at, static_cast<uint16_t>(values.size()));
  for (size_t i = 0; i < values.size(); i += 2) {
    const size_t low = values[i].index(), high = i + 1 < values.size() ? values[i + 1].index() : 0;
    *at++ = static_cast<uint8_t>(low | high << 4);
  }
  for (const Value& value : values) at = writeOne(at, value);
  return at;
}

bool readValues(DataInput& in, std::vector<Value>& into) {
  const size_t count = in.readUnsignedShort();
  const std::span<const uint8_t> kinds = in.take((count + 1) / 2);
  if (in.failed()) return false;
  into.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const uint8_t both = kinds[i / 2];
    if (!readOne(in, i % 2 == 0 ? both & 15 : both >> 4, into[i])) return false;
  }
  return in.ok();
}

bool ValueLayout::read(DataInput& in, Value& into) {
  if (in.readUnsignedShort() != 1) return in.fail("holds no single value");
  const uint8_t kind = in.readUnsignedByte();
  return in.ok() && readOne(in, kind, into);
}

}  // namespace detail
}  // namespace weir
