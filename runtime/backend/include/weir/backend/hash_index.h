#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/check.h"

namespace weir {

/// From hashes to entry numbers: open addressing, linear probing, removal without marks. Knows no keys: whoever asks compares them.
/// Not part of snapshots. At most half full, so that a probe ends soon.
class HashIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  HashIndex() : buckets_(kInitial), mask_(kInitial - 1) {}

  void prefetch(uint32_t hash) const { __builtin_prefetch(&buckets_[hash & mask_]); }

  /// Entries with this hash, one after the other: `position` starts with home(hash) and goes on with what the last call left. kNone: no
  /// more.
  uint32_t next(uint32_t hash, size_t& position) const {
    for (;; position = (position + 1) & mask_) {
      const Bucket& bucket = buckets_[position];
      if (bucket.entry == kNone) return kNone;
      if (bucket.hash == hash) {
        position = (position + 1) & mask_;
        return bucket.entry;
      }
    }
  }
  size_t home(uint32_t hash) const { return hash & mask_; }

  void insert(uint32_t hash, uint32_t entry) {
    if ((size_ + 1) * 2 > buckets_.size()) grow();
    place(hash, entry);
    ++size_;
  }

  /// Requires: the entry is there under this hash.
  void erase(uint32_t hash, uint32_t entry) {
    size_t hole = home(hash);
    while (buckets_[hole].entry != entry) {
      WEIR_CHECK(buckets_[hole].entry != kNone);
      hole = (hole + 1) & mask_;
    }
    // Whoever stands behind the hole and may stand in it moves up.
    for (size_t at = (hole + 1) & mask_; buckets_[at].entry != kNone; at = (at + 1) & mask_) {
      const size_t wanted = home(buckets_[at].hash);
      if (((at - wanted) & mask_) < ((at - hole) & mask_)) continue;
      buckets_[hole] = buckets_[at];
      hole = at;
    }
    buckets_[hole].entry = kNone;
    --size_;
  }

  size_t size() const { return size_; }

 private:
  struct Bucket {
    uint32_t hash = 0;
    uint32_t entry = kNone;
  };
  static constexpr size_t kInitial = 64;

  void place(uint32_t hash, uint32_t entry) {
    size_t at = home(hash);
    while (buckets_[at].entry != kNone) at = (at + 1) & mask_;
    buckets_[at] = {hash, entry};
  }
  void grow() {
    WEIR_CHECK_LT(buckets_.size(), size_t{1} << 31);
    std::vector<Bucket> old(buckets_.size() * 2);
    old.swap(buckets_);
    mask_ = buckets_.size() - 1;
    for (const Bucket& bucket : old)
      if (bucket.entry != kNone) place(bucket.hash, bucket.entry);
  }

  std::vector<Bucket> buckets_;
  size_t mask_;
  size_t size_ = 0;
};

}  // namespace weir
