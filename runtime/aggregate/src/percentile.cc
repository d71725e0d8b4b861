#include "weir/aggregate/percentile.h"

#include <algorithm>
#include <cmath>

namespace weir {

namespace {

constexpr double kZero = 1e-300;

double logOfGamma(double accuracy) { return std::log((1 + accuracy) / (1 - accuracy)); }

int32_t bucketOf(double magnitude, double accuracy) {
  magnitude = std::min(magnitude, std::numeric_limits<double>::max());  // infinity counts as the largest number
  return static_cast<int32_t>(std::ceil(std::log(magnitude) / logOfGamma(accuracy)));
}

/// The value that is nearest, in relative terms, to all of a bucket.
double valueOf(int32_t bucket, double accuracy) { return std::exp(bucket * logOfGamma(accuracy)) * (1 - accuracy); }

}  // namespace

void Percentile::add(Acc& acc, double value) const {
  if (std::isnan(value)) return;
  ++acc.count;
  if (std::fabs(value) <= kZero)
    ++acc.zeros;
  else if (value < 0)
    ++acc.negative[bucketOf(-value, accuracy)];
  else
    ++acc.positive[bucketOf(value, accuracy)];
}

void Percentile::merge(Acc& into, const Acc& other) const {
  for (const auto& [bucket, count] : other.negative) into.negative[bucket] += count;
  for (const auto& [bucket, count] : other.positive) into.positive[bucket] += count;
  into.zeros += other.zeros;
  into.count += other.count;
}

double Percentile::getResult(const Acc& acc) const {
  if (acc.count == 0) return std::numeric_limits<double>::quiet_NaN();
  // The rank counts from 0, as if all values stood in order.
  auto left = static_cast<int64_t>(std::floor(quantile * static_cast<double>(acc.count - 1)));
  for (auto at = acc.negative.rbegin(); at != acc.negative.rend(); ++at)
    if ((left -= at->second) < 0) return -valueOf(at->first, accuracy);
  if ((left -= acc.zeros) < 0) return 0;
  for (const auto& [bucket, count] : acc.positive)
    if ((left -= count) < 0) return valueOf(bucket, accuracy);
  return valueOf(acc.positive.rbegin()->first, accuracy);
}

}  // namespace weir
