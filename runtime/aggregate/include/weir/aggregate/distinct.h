#pragma once

#include <set>
#include <span>
#include <vector>

#include "weir/aggregate/numbers.h"

namespace weir {

/// A set: laid out as a list of its elements in order.
template <Serializable T, class Less>
struct Serializer<std::set<T, Less>> {
  static constexpr bool kSupported = true;
  static constexpr size_t kFixedSize = 0;
  static size_t maxSize(const std::set<T, Less>& value) {
    if constexpr (Serializer<T>::kFixedSize > 0) return 4 + value.size() * Serializer<T>::kFixedSize;
    size_t size = 4;
    for (const T& element : value) size += Serializer<T>::maxSize(element);
    return size;
  }
  static uint8_t* write(uint8_t* at, const std::set<T, Less>& value) {
    at = storeBigEndian(at, static_cast<int32_t>(value.size()));
    for (const T& element : value) at = Serializer<T>::write(at, element);
    return at;
  }
  static bool read(DataInput& in, std::set<T, Less>& into) {
    into.clear();
    for (size_t left = detail::readCount(in); left > 0 && in.ok(); --left) {
      T element{};
      if (Serializer<T>::read(in, element)) into.insert(into.end(), std::move(element));
    }
    return in.ok();
  }
  static SerializerSnapshot snapshot() { return SerializerSnapshot::list(Serializer<T>::snapshot()); }
};

/// How many different values there were, exactly: keeps them all, so a merge unites sets. Adding up the counts of parts would count
/// twice what both have seen. Two stages spread the work but ship every value: see docs/decisions, "two-stage aggregation".
template <class T>
struct DistinctExact {
  using In = T;
  using Acc = std::set<T, JavaLess>;
  using Out = int64_t;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = true};
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, const T& value) const { acc.insert(value); }
  void merge(Acc& into, const Acc& other) const { into.insert(other.begin(), other.end()); }
  Out getResult(const Acc& acc) const { return static_cast<int64_t>(acc.size()); }
};

namespace detail {
/// 64 bits of a value's serialized form, the same on every machine.
uint64_t hashOfBytes(std::span<const uint8_t> bytes);
template <class T>
uint64_t stableHash(const T& value) {
  if constexpr (Serializer<T>::kFixedSize > 0) {
    uint8_t bytes[Serializer<T>::kFixedSize];
    return hashOfBytes({bytes, static_cast<size_t>(Serializer<T>::write(bytes, value) - bytes)});
  } else {
    DataOutput out;
    serialize(out, value);
    return hashOfBytes(out.bytes());
  }
}
void addToSketch(std::vector<uint8_t>& registers, int precision, uint64_t hash);
void mergeSketches(std::vector<uint8_t>& into, const std::vector<uint8_t>& other);
int64_t estimateOf(const std::vector<uint8_t>& registers, int precision);
}  // namespace detail

/// About how many different values there were, in 2^precision bytes however many they are: HyperLogLog, with linear counting where few
/// registers are set. The standard error is 1.04 / sqrt(2^precision): 1.6 % with the default. The estimate does not depend on the order of
/// values or on how they were split.
template <class T, int precision = 12>
requires(precision >= 4 && precision <= 16) struct DistinctSketch {
  using In = T;
  using Acc = std::vector<uint8_t>;
  using Out = int64_t;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = false};
  /// No registers until the first value.
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, const T& value) const { detail::addToSketch(acc, precision, detail::stableHash(value)); }
  void merge(Acc& into, const Acc& other) const { detail::mergeSketches(into, other); }
  Out getResult(const Acc& acc) const { return detail::estimateOf(acc, precision); }
};

}  // namespace weir
