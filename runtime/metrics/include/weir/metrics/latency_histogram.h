#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace weir {

/// Counts of durations in buckets whose width grows with the value, so that every percentile is right to 1/128 of itself from nanoseconds
/// to minutes, in a fixed 45 KiB. Values: nanoseconds, at least 0; above 2^48 (78 hours) they count as that. One thread.
///
/// Like an HDR histogram with two significant digits.
class LatencyHistogram {
 public:
  void record(int64_t nanos) {
    const int64_t value = std::clamp<int64_t>(nanos, 0, kMax);
    ++counts_[indexOf(value)];
    ++count_;
    max_ = std::max(max_, value);
  }
  void add(const LatencyHistogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    max_ = std::max(max_, other.max_);
  }
  int64_t count() const { return count_; }
  int64_t max() const { return max_; }
  /// The smallest value that `share` (0 to 1) of all values do not exceed, rounded up to the end of its bucket. 0 where nothing was
  /// recorded.
  int64_t quantile(double share) const {
    const auto wanted = std::max<int64_t>(1, static_cast<int64_t>(share * static_cast<double>(count_) + 0.999999));
    int64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i)
      if (seen += counts_[i]; seen >= wanted) return std::min(highestOf(i), max_);
    return max_;
  }

 private:
  static constexpr int kSubBits = 7;  ///< 128 buckets for each power of two
  static constexpr int kTopBit = 48;
  static constexpr int64_t kMax = (int64_t{1} << kTopBit) - 1;
  static constexpr size_t kBuckets = static_cast<size_t>(kTopBit - kSubBits + 1) << kSubBits;

  static size_t indexOf(int64_t value) {
    const int shift = std::max(0, static_cast<int>(std::bit_width(static_cast<uint64_t>(value))) - kSubBits - 1);
    return (static_cast<size_t>(shift) << kSubBits) + static_cast<size_t>(value >> shift);
  }
  static int64_t highestOf(size_t index) {
    const size_t row = index >> kSubBits;
    if (row <= 1) return static_cast<int64_t>(index);  // exact
    const int shift = static_cast<int>(row) - 1;
    const auto inRow = static_cast<int64_t>(index - (static_cast<size_t>(shift) << kSubBits));
    return ((inRow + 1) << shift) - 1;
  }

  std::array<int64_t, kBuckets> counts_{};
  int64_t count_ = 0, max_ = 0;
};

}  // namespace weir
