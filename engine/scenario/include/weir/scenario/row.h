#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "weir/exchange/java_hash.h"
#include "weir/backend/fast_hash.h"
#include "weir/record/serializer.h"

namespace weir {

/// One value of a row whose types are known only at run time. std::monostate is null. Timestamps are int64_t: a schema tells them apart.
using Value = std::variant<std::monostate, bool, int32_t, int64_t, double, std::string>;

inline bool isNull(const Value& value) { return value.index() == 0; }
/// Order of values of one kind as Java orders them (-0.0 below 0.0, NaN above all, strings by UTF-16 unit); null is below everything.
std::strong_ordering compareValues(const Value& a, const Value& b);

/// A record of a job file: the values of its schema's columns, in order. Copies are deep; a batch keeps the memory of its rows.
/// Flink: Row without field names and row kind.
struct Row {
  std::vector<Value> values;
  bool operator==(const Row&) const = default;
};

/// The key of a keyed stream of rows: one column, or several as a tuple. Hashes, and so reaches the key groups, as Flink's String, Integer,
/// Long, Double and Boolean keys, and as its tuples of them. A field of a tuple may be null, a single column may not.
struct RowKey {
  Value first;
  std::vector<Value> rest;  ///< empty: the key is `first` itself
  size_t size() const { return 1 + rest.size(); }
  const Value& at(size_t index) const { return index == 0 ? first : rest[index - 1]; }
  bool operator==(const RowKey& other) const;
};
/// Order of the first column, then of the next.
std::strong_ordering operator<=>(const RowKey& a, const RowKey& b);

int32_t javaHash(const RowKey& key);
uint64_t fastHash(const RowKey& key);
/// Equal as keys are in Java: NaN equals itself, 0.0 and -0.0 differ.
template <>
inline bool sameKey<RowKey>(const RowKey& a, const RowKey& b) {
  return a == b;
}

/// Takes the key out of a row. Throws Flink's exception of a null key where it is a single null.
class RowKeySelector {
 public:
  /// `randomSalts`: puts one of so many salts behind the key, another one with each call. That is the mistake of a key selector that draws
  /// at random, which is called once for the exchange and again for the state; kept for teaching.
  explicit RowKeySelector(std::vector<size_t> columns, int32_t randomSalts = 0) : columns_(std::move(columns)), salts_(randomSalts) {}
  RowKey operator()(const Row& row) const;

 private:
  std::vector<size_t> columns_;
  int32_t salts_;
  mutable uint32_t drawn_ = 0;
};

namespace detail {
size_t maxSizeOfValues(std::span<const Value> values);
uint8_t* writeValues(uint8_t* at, std::span<const Value> values);
bool readValues(DataInput& in, std::vector<Value>& into);

template <>
struct IsKey<RowKey> : std::true_type {};

/// A layout of Weir's own inside a byte array: the number of bytes, then the bytes. So whoever reads a state file, which knows Flink's
/// serializers alone, can pass over it. `Layout` has maxSize, write and read.
template <class T, class Layout>
struct FramedSerializer {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const T& value) { return 4 + Layout::maxSize(value); }
  static uint8_t* write(uint8_t* at, const T& value) {
    uint8_t* const end = Layout::write(at + 4, value);
    storeBigEndian(at, static_cast<int32_t>(end - at - 4));
    return end;
  }
  static bool read(DataInput& in, T& into) {
    const size_t size = readCount(in);
    DataInput bytes(in.take(size));
    if (in.failed()) return false;
    if (Layout::read(bytes, into) && bytes.remaining() == 0) return true;
    return in.fail("holds a row or an accumulator that does not fit its bytes");
  }
  static SerializerSnapshot snapshot() { return Serializer<std::vector<uint8_t>>::snapshot(); }
};

/// The number of fields (2 bytes), their kinds (4 bits each), then the fields one behind the other as Flink writes a tuple of their types,
/// nothing for null. Flink's RowSerializer knows the types from its schema and writes a mask of nulls in front instead of the kinds.
struct RowLayout {
  static size_t maxSize(const Row& row) { return maxSizeOfValues(row.values); }
  static uint8_t* write(uint8_t* at, const Row& row) { return writeValues(at, row.values); }
  static bool read(DataInput& in, Row& into) { return readValues(in, into.values); }
};
struct ValueLayout {
  static size_t maxSize(const Value& value) { return maxSizeOfValues({&value, 1}); }
  static uint8_t* write(uint8_t* at, const Value& value) { return writeValues(at, {&value, 1}); }
  static bool read(DataInput& in, Value& into);
};
struct RowKeyLayout {
  static size_t maxSize(const RowKey& key) { return maxSizeOfValues({&key.first, 1}) + maxSizeOfValues(key.rest); }
  static uint8_t* write(uint8_t* at, const RowKey& key) { return writeValues(writeValues(at, {&key.first, 1}), key.rest); }
  static bool read(DataInput& in, RowKey& into) { return ValueLayout::read(in, into.first) && readValues(in, into.rest); }
};
}  // namespace detail

template <>
struct Serializer<Row> : detail::FramedSerializer<Row, detail::RowLayout> {};
template <>
struct Serializer<Value> : detail::FramedSerializer<Value, detail::ValueLayout> {};
template <>
struct Serializer<RowKey> : detail::FramedSerializer<RowKey, detail::RowKeyLayout> {};

}  // namespace weir
