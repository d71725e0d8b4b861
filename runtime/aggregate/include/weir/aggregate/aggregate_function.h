#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <utility>

#include "weir/record/serializer.h"

namespace weir {

/// What an aggregate function promises of itself. Every promise is proved, or refuted, by the laws in tests/support/aggregate_laws.h.
struct AggregateTraits {
  /// merge(merge(a, b), c) and merge(a, merge(b, c)) are the same, bit for bit. Sums of doubles are not.
  bool associative = false;
  /// merge(a, b) and merge(b, a) are the same, bit for bit.
  bool commutative = false;
  /// The accumulator of two halves of a stream, merged, stands for the whole stream: the same bits where associative, else a result within
  /// the rounding bound. What two stages, and windows that merge, ask for.
  bool mergeable = false;
  /// The result is the value that the name promises, not an estimate and not rounded.
  bool exact = false;
  /// The result depends on the order of the values, by more than rounding. Between subtasks there is no order.
  bool orderSensitive = false;

  /// In two stages the results are those of one stage, bit for bit.
  constexpr bool splitsExactly() const { return mergeable && associative && commutative && !orderSensitive; }
  /// In two stages the results are those of one stage but for the rounding that the order of summation makes.
  constexpr bool splitsUpToRounding() const { return mergeable && !orderSensitive && !splitsExactly(); }
  constexpr bool operator==(const AggregateTraits&) const = default;
};

/// "associative, commutative, mergeable, exact".
std::string toString(const AggregateTraits& traits);

/// An aggregation with a state smaller than its input: a value (accumulator) that takes in one element after the other. Copied for each
/// operator; its members are settings, never state. Used by one task at a time.
///
///   using In, Acc, Out; static constexpr AggregateTraits kTraits
///   Acc createAccumulator() const
///   void add(Acc&, const In&) const
///   Out getResult(const Acc&) const          // more may be added afterwards
///   void merge(Acc& into, const Acc&) const  // where kTraits.mergeable; `into` stands for the earlier part
///
/// Flink: AggregateFunction. Differs: changes accumulators in place; declares what it promises; the input comes second in add().
template <class F>
concept AggregateFunction = std::copyable<F> && Serializable<typename F::Acc> &&
    requires(const F& f, typename F::Acc& acc, const typename F::Acc& other, const typename F::In& in) {
  { F::kTraits } -> std::convertible_to<AggregateTraits>;
  { f.createAccumulator() } -> std::same_as<typename F::Acc>;
  f.add(acc, in);
  { f.getResult(other) } -> std::convertible_to<typename F::Out>;
};

/// One whose accumulators can be merged: what two stages and merging windows take.
template <class F>
concept MergeableAggregate = AggregateFunction<F> && F::kTraits.mergeable &&
    requires(const F& f, typename F::Acc& acc, const typename F::Acc& other) {
  f.merge(acc, other);
};

/// The result of all `values`, in their order.
template <AggregateFunction F, class Range>
typename F::Out aggregateAll(const F& f, const Range& values) {
  auto accumulator = f.createAccumulator();
  for (const auto& value : values) f.add(accumulator, value);
  return f.getResult(accumulator);
}

/// An aggregate of a part of each record: `on(&Order::amount, Sum<int64_t>())`.
template <class T, class Projection, AggregateFunction F>
struct AggregateOn {
  using In = T;
  using Acc = typename F::Acc;
  using Out = typename F::Out;
  static constexpr AggregateTraits kTraits = F::kTraits;

  Projection projection;
  F function;

  Acc createAccumulator() const { return function.createAccumulator(); }
  void add(Acc& acc, const T& record) const { function.add(acc, std::invoke(projection, record)); }
  void merge(Acc& into, const Acc& other) const requires MergeableAggregate<F> { function.merge(into, other); }
  Out getResult(const Acc& acc) const { return function.getResult(acc); }
};

template <class T, class M, AggregateFunction F>
AggregateOn<T, M T::*, F> on(M T::*member, F function) {
  return {member, std::move(function)};
}
/// `on<Order>([](const Order& order) { return order.price * order.pieces; }, Sum<int64_t>())`
template <class T, class Projection, AggregateFunction F>
requires std::invocable<const Projection&, const T&> AggregateOn<T, Projection, F> on(Projection projection, F function) {
  return {std::move(projection), std::move(function)};
}

}  // namespace weir
