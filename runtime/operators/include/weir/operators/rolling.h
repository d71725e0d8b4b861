#pragma once

#include <functional>
#include <utility>

#include "weir/aggregate/numbers.h"

/// What sum, min, max, minBy and maxBy do with the value so far and one more. Numbers as in Java: whole ones wrap around, doubles are
/// ordered as Double.compareTo orders them. Flink: SumAggregator, ComparableAggregator.
namespace weir::rolling {

template <class M>
void sum(M& all, const M& one) {
  if constexpr (std::is_arithmetic_v<M>)
    all = detail::javaPlus(all, one);
  else
    all += one;
}
template <class M>
void min(M& all, const M& one) {
  if (JavaLess()(one, all)) all = one;
}
template <class M>
void max(M& all, const M& one) {
  if (JavaLess()(all, one)) all = one;
}
/// The whole record with the smaller member; of equal ones the `first`, or else the last.
template <class T, class Member>
void minBy(T& all, const T& one, const Member& member, bool first) {
  const auto& best = std::invoke(member, all);
  const auto& fresh = std::invoke(member, one);
  if (JavaLess()(fresh, best) || (!first && !JavaLess()(best, fresh))) all = one;
}
template <class T, class Member>
void maxBy(T& all, const T& one, const Member& member, bool first) {
  const auto& best = std::invoke(member, all);
  const auto& fresh = std::invoke(member, one);
  if (JavaLess()(best, fresh) || (!first && !JavaLess()(fresh, best))) all = one;
}

}  // namespace weir::rolling
