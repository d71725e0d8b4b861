#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weir/exchange/key_groups.h"

namespace weir {

/// In which order the entries of a state with time to live are looked at by the accesses that clean up: bucket by bucket of a hash table
/// per key group, at most five entries an access, and no further where five buckets in a row were empty.
///
/// The buckets are those of Flink's table, so that an expired value that may still be seen is seen as long as there. Flink: the
/// StateIncrementalVisitor of CopyOnWriteStateMap. Differs: the buckets do not grow in number, which shows from 97 entries of one key group
/// on.
class CleanupTurns {
 public:
  explicit CleanupTurns(KeyGroupRange range) : range_(range), groups_(static_cast<size_t>(range.size())) {}

  /// `hash`: Java's, of key and namespace together.
  void add(uint32_t entry, int32_t keyGroup, int32_t hash) {
    Group& group = groupOf(keyGroup);
    if (!group.buckets) group.buckets = std::make_unique<Buckets>();
    auto& bucket = (*group.buckets)[bucketOf(hash)];
    bucket.insert(bucket.begin(), entry);
    ++group.size;
  }
  void remove(uint32_t entry, int32_t keyGroup, int32_t hash) {
    Group& group = groupOf(keyGroup);
    std::erase((*group.buckets)[bucketOf(hash)], entry);
    --group.size;
  }
  /// The entries whose turn it is. Valid until the next call.
  std::span<const uint32_t> next() {
    if (!hasNext()) current_ = bucket_ = 0;
    entries_.clear();
    while (entries_.size() < kEntriesPerAccess && hasNext()) {
      const size_t before = entries_.size();
      nextBucket();
      if (entries_.size() == before) break;
    }
    return entries_;
  }

 private:
  static constexpr size_t kBuckets = 128, kEntriesPerAccess = 5, kEmptyBuckets = 5;
  using Buckets = std::array<std::vector<uint32_t>, kBuckets>;
  struct Group {
    size_t size = 0;
    std::unique_ptr<Buckets> buckets;
  };

  /// Flink: MathUtils.bitMix.
  static size_t bucketOf(int32_t hash) {
    auto h = static_cast<uint32_t>(hash);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return (h ^ (h >> 16)) % kBuckets;
  }
  Group& groupOf(int32_t keyGroup) { return groups_[static_cast<size_t>(keyGroup - range_.first)]; }
  bool hasNext() {
    while (current_ < groups_.size() && (groups_[current_].size == 0 || bucket_ == kBuckets)) {
      ++current_;
      bucket_ = 0;
    }
    return current_ < groups_.size();
  }
  void nextBucket() {
    const Buckets& buckets = *groups_[current_].buckets;
    for (size_t empty = 0; bucket_ < kBuckets && empty < kEmptyBuckets; ++empty) {
      const auto& bucket = buckets[bucket_++];
      entries_.insert(entries_.end(), bucket.begin(), bucket.end());
      if (!bucket.empty()) return;
    }
  }

  const KeyGroupRange range_;
  std::vector<Group> groups_;
  size_t current_ = 0, bucket_ = 0;  ///< where the next look begins
  std::vector<uint32_t> entries_;    ///< used again: an access allocates nothing
};

}  // namespace weir
