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
inline bool sameKey(const RowKey& a, const RowKey& b) { return a == b; }

/// Takes the key out of a row. Throws Flink's exception of a null key where it is a single null.
class RowKeySelector {
 public:
  explicit RowKeySelector(std::vector<size_t> columns) : columns_(std::move(columns)) {}
  RowKey operator()(const Row& row) const;
  const std::vector<size_t>& columns() const { return columns_; }

 private:
  std::vector<size_t> columns_;
};

namespace detail {
size_t maxSizeOfValues(std::span<const Value> values);
uint8_t* writeValues(uint8_t* at, std::span<const Value> values);
bool readValues(DataInput& in, std::vector<Value>& into);

/// The kinds of two values a byte in front, then each value as Flink writes its type.
template <>
struct IsKey<RowKey> : std::true_type {};
}  // namespace detail

/// The number of fields (2 bytes), their kinds (4 bits each), then the fields one behind the other as Flink writes a tuple of their types,
/// nothing for null. Flink's RowSerializer knows the types from its schema and writes a mask of nulls in front instead of the kinds.
template <>
struct Serializer<Row> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const Row& row) { return detail::maxSizeOfValues(row.values); }
  static uint8_t* write(uint8_t* at, const Row& row) { return detail::writeValues(at, row.values); }
  static bool read(DataInput& in, Row& into) { return detail::readValues(in, into.values); }
  static SerializerSnapshot snapshot() { return SerializerSnapshot::simple("weir.scenario.RowSerializer$RowSerializerSnapshot"); }
};

template <>
struct Serializer<Value> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const Value& value) { return detail::maxSizeOfValues({&value, 1}); }
  static uint8_t* write(uint8_t* at, const Value& value) { return detail::writeValues(at, {&value, 1}); }
  static bool read(DataInput& in, Value& into);
  static SerializerSnapshot snapshot() { return SerializerSnapshot::simple("weir.scenario.ValueSerializer$ValueSerializerSnapshot"); }
};

template <>
struct Serializer<RowKey> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const RowKey& key);
  static uint8_t* write(uint8_t* at, const RowKey& key);
  static bool read(DataInput& in, RowKey& into);
  static SerializerSnapshot snapshot() { return SerializerSnapshot::simple("weir.scenario.RowKeySerializer$RowKeySerializerSnapshot"); }
};

}  // namespace weir
