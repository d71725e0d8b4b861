#pragma once

#include <utility>
#include <vector>

#include "weir/backend/fast_hash.h"
#include "weir/backend/hash_index.h"

namespace weir {

/// Values by key in memory, emptied all at once and filled again: what a pre-aggregation keeps between two flushes. Entries stand in the
/// order in which their keys came first, so that what is flushed does not depend on hashes. Keys are equal as in Java. Belongs to one task.
template <class K, class V>
class AccumulatorTable {
 public:
  struct Entry {
    K key;
    V value;
  };

  /// The entry of `key`; where there is none, one with the value that `make()` returns. Valid until the next call.
  template <class Make>
  V& get(const K& key, Make make) {
    const uint32_t hash = hashOf(key);
    if (const uint32_t found = find(key, hash); found != HashIndex::kNone) return entries_[found].value;
    index_.insert(hash, static_cast<uint32_t>(entries_.size()));
    entries_.push_back({key, make()});
    hashes_.push_back(hash);
    return entries_.back().value;
  }
  bool contains(const K& key) const { return find(key, hashOf(key)) != HashIndex::kNone; }
  std::vector<Entry>& entries() { return entries_; }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// Keeps its memory.
  void clear() {
    for (size_t i = 0; i < hashes_.size(); ++i) index_.erase(hashes_[i], static_cast<uint32_t>(i));
    hashes_.clear();
    entries_.clear();
  }

 private:
  static uint32_t hashOf(const K& key) { return static_cast<uint32_t>(fastHash(key) >> 32); }
  uint32_t find(const K& key, uint32_t hash) const {
    size_t position = index_.home(hash);
    uint32_t found = index_.next(hash, position);
    while (found != HashIndex::kNone && !sameKey(entries_[found].key, key)) found = index_.next(hash, position);
    return found;
  }
  HashIndex index_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> hashes_;  ///< of entries_
};

}  // namespace weir
