#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "weir/aggregate/aggregate_function.h"
#include "weir/base/error.h"

namespace weir {

/// Java's order: like <, but -0.0 before 0.0, and NaN, equal to itself, last. Flink compares values so in min and max. Text goes by its
/// bytes (Java: by UTF-16 units, which differs beyond U+FFFF only).
struct JavaLess {
  template <class T>
  constexpr bool operator()(const T& a, const T& b) const {
    if constexpr (std::floating_point<T>) {
      if (a < b) return true;
      if (a > b) return false;
      if (a == b) return std::signbit(a) && !std::signbit(b);
      return std::isnan(b) && !std::isnan(a);
    } else {
      return a < b;
    }
  }
};

/// How far apart two results over the same doubles can be that differ only in the order of summation, from the first-order analysis of
/// recursive summation: each of two sums is off by at most (n - 1) u sum|x|, where u is half the machine's epsilon; ten times where n u is
/// no small number. Feed it all values that went into the result.
class RoundingBound {
 public:
  void add(double value) {
    ++count_;
    sumOfMagnitudes_ += std::fabs(value);
    sumOfSquares_ += value * value;
  }
  void merge(const RoundingBound& other) {
    count_ += other.count_;
    sumOfMagnitudes_ += other.sumOfMagnitudes_;
    sumOfSquares_ += other.sumOfSquares_;
  }
  /// Of values whose sums are known.
  static RoundingBound of(int64_t count, double sumOfMagnitudes, double sumOfSquares) {
    RoundingBound bound;
    bound.count_ = count;
    bound.sumOfMagnitudes_ = sumOfMagnitudes;
    bound.sumOfSquares_ = sumOfSquares;
    return bound;
  }
  int64_t count() const { return count_; }
  double ofSum() const { return static_cast<double>(count_) * std::numeric_limits<double>::epsilon() * sumOfMagnitudes_; }
  /// One more rounding each for the division.
  double ofAverage() const {
    if (count_ == 0) return 0;
    return ofSum() / static_cast<double>(count_) + 2 * std::numeric_limits<double>::epsilon() * magnitude();
  }
  /// Of squared distances from a mean that is itself off: four sums and a product deep.
  double ofVariance() const {
    if (count_ == 0) return 0;
    return 8 * std::numeric_limits<double>::epsilon() * (sumOfSquares_ + magnitude() * sumOfMagnitudes_);
  }

 private:
  double magnitude() const { return sumOfMagnitudes_ / static_cast<double>(count_); }
  int64_t count_ = 0;
  double sumOfMagnitudes_ = 0, sumOfSquares_ = 0;
};

namespace detail {
/// Java's addition: whole numbers wrap around.
template <class T>
constexpr T javaPlus(T a, T b) {
  if constexpr (std::integral<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}
[[noreturn]] void throwNoValues(const char* what);
}  // namespace detail

/// The sum, in the type of the values: whole numbers wrap as in Java, doubles are added in the order of arrival.
template <class T>
requires std::is_arithmetic_v<T>
struct Sum {
  using In = T;
  using Acc = T;
  using Out = T;
  static constexpr AggregateTraits kTraits{
      .associative = std::integral<T>, .commutative = true, .mergeable = true, .exact = std::integral<T>, .orderSensitive = false};
  Acc createAccumulator() const { return T{}; }
  void add(Acc& acc, const T& value) const { acc = detail::javaPlus(acc, value); }
  void merge(Acc& into, const Acc& other) const { into = detail::javaPlus(into, other); }
  Out getResult(const Acc& acc) const { return acc; }
};

/// A sum of doubles and what rounding took from it.
struct CompensatedValue {
  double sum = 0, lost = 0;
  WEIR_FIELDS(sum, lost)
  bool operator==(const CompensatedValue&) const = default;
};

/// A sum of doubles that carries its rounding error along (Neumaier): off by one unit in the last place, and by n^2 u^2 sum|x|
/// where it cancels. For results that must hardly depend on how a stream was split.
struct CompensatedSum {
  using In = double;
  using Acc = CompensatedValue;
  using Out = double;
  static constexpr AggregateTraits kTraits{.commutative = true, .mergeable = true};
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, double value) const {
    const double sum = acc.sum + value;
    if (std::isfinite(sum)) acc.lost += std::fabs(acc.sum) >= std::fabs(value) ? (acc.sum - sum) + value : (value - sum) + acc.sum;
    acc.sum = sum;
  }
  void merge(Acc& into, const Acc& other) const {
    into.lost += other.lost;
    add(into, other.sum);
  }
  Out getResult(const Acc& acc) const { return acc.sum + acc.lost; }
};

/// How many values there were.
template <class T>
struct Count {
  using In = T;
  using Acc = int64_t;
  using Out = int64_t;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = true};
  Acc createAccumulator() const { return 0; }
  void add(Acc& acc, const T&) const { acc = detail::javaPlus<int64_t>(acc, 1); }
  void merge(Acc& into, const Acc& other) const { into = detail::javaPlus(into, other); }
  Out getResult(const Acc& acc) const { return acc; }
};

namespace detail {
/// Keeps the value that comes before all others in `Less`; of equal ones the first, which is as good as the others.
template <class T, bool (*before)(const T&, const T&), const char* name>
struct Extreme {
  using In = T;
  using Acc = std::optional<T>;
  using Out = T;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = true};
  Acc createAccumulator() const { return std::nullopt; }
  void add(Acc& acc, const T& value) const {
    if (!acc || before(value, *acc)) acc = value;
  }
  void merge(Acc& into, const Acc& other) const {
    if (other) add(into, *other);
  }
  Out getResult(const Acc& acc) const {
    if (!acc) throwNoValues(name);
    return *acc;
  }
};
template <class T>
constexpr bool isLess(const T& a, const T& b) {
  return JavaLess()(a, b);
}
template <class T>
constexpr bool isGreater(const T& a, const T& b) {
  return JavaLess()(b, a);
}
inline constexpr char kMinName[] = "min";
inline constexpr char kMaxName[] = "max";
}  // namespace detail

/// The smallest value in Java's order. The first record by time is the Min of pairs (timestamp, value).
template <class T>
struct Min : detail::Extreme<T, &detail::isLess<T>, detail::kMinName> {};
/// The largest value in Java's order.
template <class T>
struct Max : detail::Extreme<T, &detail::isGreater<T>, detail::kMaxName> {};

/// The part of an average: without the count an average of averages would forget how much each stands for.
template <class S>
struct SumAndCount {
  S sum{};
  int64_t count = 0;
  WEIR_FIELDS(sum, count)
  bool operator==(const SumAndCount&) const = default;
};

/// The mean, a double also for whole numbers, which are summed as 64 bits (and wrap there). `S` sums doubles: Sum or CompensatedSum.
/// No value: NaN, so that an empty part counts as nothing.
template <class T, AggregateFunction S = Sum<std::conditional_t<std::integral<T>, int64_t, double>>>
struct Avg {
  using In = T;
  using Acc = SumAndCount<typename S::Acc>;
  using Out = double;
  static constexpr AggregateTraits kTraits{
      .associative = S::kTraits.associative, .commutative = S::kTraits.commutative, .mergeable = true, .exact = false};
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, const T& value) const {
    S().add(acc.sum, static_cast<typename S::In>(value));
    ++acc.count;
  }
  void merge(Acc& into, const Acc& other) const {
    S().merge(into.sum, other.sum);
    into.count += other.count;
  }
  Out getResult(const Acc& acc) const {
    if (acc.count == 0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(S().getResult(acc.sum)) / static_cast<double>(acc.count);
  }
};

/// Count, mean, and the sum of squared distances from the mean.
struct Moments {
  int64_t count = 0;
  double mean = 0, squares = 0;
  WEIR_FIELDS(count, mean, squares)
  bool operator==(const Moments&) const = default;
};

/// The variance of doubles without the cancellation of sums of squares: Welford's update, Chan's merge in a form that treats both sides
/// alike. Of the values themselves, or (`sample`) estimated from them for what they are drawn from. Too few values: NaN.
template <bool sample = false>
struct Variance {
  using In = double;
  using Acc = Moments;
  using Out = double;
  static constexpr AggregateTraits kTraits{.associative = false, .commutative = true, .mergeable = true, .exact = false};
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, double value) const {
    ++acc.count;
    const double distance = value - acc.mean;
    acc.mean += distance / static_cast<double>(acc.count);
    acc.squares += distance * (value - acc.mean);
  }
  void merge(Acc& into, const Acc& other) const {
    if (other.count == 0) return;
    if (into.count == 0) {
      into = other;
      return;
    }
    const auto left = static_cast<double>(into.count), right = static_cast<double>(other.count), all = left + right;
    const double distance = other.mean - into.mean;
    into.squares = into.squares + other.squares + distance * distance * (left * right / all);
    into.mean = left / all * into.mean + right / all * other.mean;
    into.count += other.count;
  }
  Out getResult(const Acc& acc) const {
    const int64_t divisor = acc.count - (sample ? 1 : 0);
    return divisor > 0 ? acc.squares / static_cast<double>(divisor) : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace weir
