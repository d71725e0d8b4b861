#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weir/backend/fast_hash.h"
#include "weir/backend/hash_index.h"
#include "weir/base/check.h"

namespace weir {

/// Which keys of a stream come most often, in memory for `capacity` of them: the Space-Saving sketch. A key that is not kept takes the
/// place of the rarest one and its count, as the most by which its own may be too high. So every key that makes up more than 1/capacity of
/// the stream is kept, and no count is too low. Old records fade: all counts are halved whenever they add up to `memory`. Deterministic.
/// Belongs to one task.
template <class K>
class HeavyHitters {
 public:
  struct Entry {
    K key{};
    int64_t count = 0;  ///< at least as often as it came
    int64_t error = 0;  ///< at most by so much too high
  };

  explicit HeavyHitters(size_t capacity, int64_t memory = 1 << 16) : capacity_(capacity), memory_(memory) {
    WEIR_CHECK(capacity > 0 && memory > 1);
  }

  /// Counts one record of `key`. Returns its entry.
  const Entry& add(const K& key) {
    if (++total_ >= memory_) fade();
    const auto hash = hashOf(key);
    size_t position = index_.home(hash);
    for (uint32_t found = index_.next(hash, position); found != HashIndex::kNone; found = index_.next(hash, position)) {
      if (!sameKey(entries_[found].key, key)) continue;
      ++entries_[found].count;
      return entries_[found];
    }
    if (entries_.size() < capacity_) {
      index_.insert(hash, static_cast<uint32_t>(entries_.size()));
      entries_.push_back({key, 1, 0});
      return entries_.back();
    }
    const uint32_t rarest = findRarest();
    Entry& entry = entries_[rarest];
    index_.erase(hashOf(entry.key), rarest);
    index_.insert(hash, rarest);
    entry = {key, entry.count + 1, entry.count};
    return entry;
  }

  /// Records counted, faded ones less.
  int64_t total() const { return total_; }
  /// At least this share of the records had the key of `entry`, and at most this share.
  double surely(const Entry& entry) const { return share(entry.count - entry.error); }
  double atMost(const Entry& entry) const { return share(entry.count); }
  /// Most frequent first.
  std::vector<Entry> top() const {
    std::vector<Entry> sorted = entries_;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) { return a.count > b.count; });
    return sorted;
  }

 private:
  static uint32_t hashOf(const K& key) { return static_cast<uint32_t>(fastHash(key) >> 32); }
  double share(int64_t count) const { return total_ == 0 ? 0 : static_cast<double>(count) / static_cast<double>(total_); }
  /// Looks from where it stopped: whatever it finds becomes less rare, so that a round through all entries is paid by as many finds.
  uint32_t findRarest() {
    for (size_t looked = 0; looked < entries_.size(); ++looked) {
      cursor_ = cursor_ + 1 < entries_.size() ? cursor_ + 1 : 0;
      if (entries_[cursor_].count <= least_) return static_cast<uint32_t>(cursor_);
    }
    const auto rarest =
        std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.count < b.count; });
    least_ = rarest->count;
    cursor_ = static_cast<size_t>(rarest - entries_.begin());
    return static_cast<uint32_t>(cursor_);
  }
  void fade() {
    for (Entry& entry : entries_) entry.count /= 2, entry.error /= 2;
    total_ /= 2;
    least_ = 0;
  }

  const size_t capacity_;
  const int64_t memory_;
  HashIndex index_;
  std::vector<Entry> entries_;
  int64_t total_ = 0, least_ = 0;
  size_t cursor_ = 0;
};

}  // namespace weir
