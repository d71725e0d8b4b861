#pragma once

#include <algorithm>
#include <vector>

#include "weir/aggregate/numbers.h"

namespace weir {

/// The n largest values in Java's order, largest first, equal ones as often as they came. Pairs (score, id) make a ranking in which ties
/// do not depend on the order of arrival.
template <class T>
struct TopN {
  using In = T;
  using Acc = std::vector<T>;
  using Out = std::vector<T>;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = true};
  size_t n = 10;
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, const T& value) const {
    if (acc.size() >= n && (n == 0 || !JavaLess()(acc.back(), value))) return;
    acc.insert(std::upper_bound(acc.begin(), acc.end(), value, after), value);
    if (acc.size() > n) acc.pop_back();
  }
  void merge(Acc& into, const Acc& other) const {
    for (const T& value : other) add(into, value);
  }
  Out getResult(const Acc& acc) const { return acc; }

 private:
  static bool after(const T& a, const T& b) { return JavaLess()(b, a); }
};

/// The value that came first. Mergeable, since of two parts the earlier one decides; but between subtasks no part is the earlier one. The
/// first by time is the Min of pairs (timestamp, value), and splits exactly.
template <class T>
struct First {
  using In = T;
  using Acc = std::optional<T>;
  using Out = T;
  static constexpr AggregateTraits kTraits{
      .associative = true, .commutative = false, .mergeable = true, .exact = true, .orderSensitive = true};
  Acc createAccumulator() const { return std::nullopt; }
  void add(Acc& acc, const T& value) const {
    if (!acc) acc = value;
  }
  void merge(Acc& into, const Acc& other) const {
    if (!into) into = other;
  }
  Out getResult(const Acc& acc) const {
    if (!acc) detail::throwNoValues("first");
    return *acc;
  }
};

/// The value that came last. See First.
template <class T>
struct Last {
  using In = T;
  using Acc = std::optional<T>;
  using Out = T;
  static constexpr AggregateTraits kTraits{
      .associative = true, .commutative = false, .mergeable = true, .exact = true, .orderSensitive = true};
  Acc createAccumulator() const { return std::nullopt; }
  void add(Acc& acc, const T& value) const { acc = value; }
  void merge(Acc& into, const Acc& other) const {
    if (other) into = other;
  }
  Out getResult(const Acc& acc) const {
    if (!acc) detail::throwNoValues("last");
    return *acc;
  }
};

/// All values, in the order of arrival. Split, they are the same values in another order.
template <class T>
struct Collect {
  using In = T;
  using Acc = std::vector<T>;
  using Out = std::vector<T>;
  static constexpr AggregateTraits kTraits{
      .associative = true, .commutative = false, .mergeable = true, .exact = true, .orderSensitive = true};
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, const T& value) const { acc.push_back(value); }
  void merge(Acc& into, const Acc& other) const { into.insert(into.end(), other.begin(), other.end()); }
  Out getResult(const Acc& acc) const { return acc; }
};

/// A mean in which each value counts less with each that follows: result = result + alpha (value - result), beginning with the first value.
/// What a part of the stream gives depends on all that came before it, so that parts cannot be merged.
struct ExponentialAverage {
  using In = double;
  using Acc = std::optional<double>;
  using Out = double;
  static constexpr AggregateTraits kTraits{.orderSensitive = true};
  double alpha = 0.1;
  Acc createAccumulator() const { return std::nullopt; }
  void add(Acc& acc, double value) const { acc = acc ? *acc + alpha * (value - *acc) : value; }
  Out getResult(const Acc& acc) const { return acc.value_or(std::numeric_limits<double>::quiet_NaN()); }
};

}  // namespace weir
