#pragma once

#include <map>

#include "weir/aggregate/numbers.h"

namespace weir {

/// Counts of values by magnitude: bucket i holds those in (gamma^(i-1), gamma^i].
struct PercentileBuckets {
  std::map<int32_t, int64_t> negative, positive;
  int64_t zeros = 0, count = 0;
  WEIR_FIELDS(negative, positive, zeros, count)
  bool operator==(const PercentileBuckets&) const = default;
};

/// About the value that a share `quantile` of all values does not exceed: a histogram of relative width `accuracy`, so that the result is
/// off by at most that share of itself (DDSketch). Deterministic: counts in fixed buckets, which do not depend on order or on how the
/// values were split. Values up to 1e-300 from zero count as zero; NaN is no value; no value gives NaN.
struct Percentile {
  using In = double;
  using Acc = PercentileBuckets;
  using Out = double;
  static constexpr AggregateTraits kTraits{.associative = true, .commutative = true, .mergeable = true, .exact = false};
  double quantile = 0.5;   ///< 0 to 1
  double accuracy = 0.01;  ///< above 0, below 1; the same for all accumulators that are merged
  Acc createAccumulator() const { return {}; }
  void add(Acc& acc, double value) const;
  void merge(Acc& into, const Acc& other) const;
  Out getResult(const Acc& acc) const;
};

}  // namespace weir
