#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "weir/backend/time_window.h"
#include "weir/backend/fast_hash.h"
#include "weir/keyed/snapshot_epochs.h"

namespace weir {

/// Key, namespace and key group of each entry of one state. Entries whose numbers were freed are used again. The same rules of copying and
/// of threads as in ValueColumn: keys never change, so only removing and reusing an entry copies a chunk.
template <class K, class N>
class KeyColumn {
 public:
  static constexpr uint16_t kFree = 0xffff;

  explicit KeyColumn(SnapshotEpochs& epochs) : epochs_(&epochs) {}
  ~KeyColumn() {
    for (const Retired& r : retired_) delete r.chunk;
    for (Chunk* chunk : chunks_) delete chunk;
  }
  KeyColumn(const KeyColumn&) = delete;
  KeyColumn& operator=(const KeyColumn&) = delete;

  const K& key(uint32_t entry) const { return chunks_[entry >> kShift]->key(entry); }
  bool matches(uint32_t entry, const K& key, const N& space) const {
    const Chunk& chunk = *chunks_[entry >> kShift];
    if (!sameKey(chunk.key(entry), key)) return false;
    if constexpr (kHasNamespace)
      return chunk.space(entry) == space;
    else
      return true;
  }
  void prefetch(uint32_t entry) const { __builtin_prefetch(&chunks_[entry >> kShift]->key(entry)); }

  uint32_t add(const K& key, const N& space, uint16_t keyGroup) {
    const bool fresh = free_.empty();
    const uint32_t entry = fresh ? used_++ : free_.back();
    if (!fresh) free_.pop_back();
    if (entry >> kShift == chunks_.size()) chunks_.push_back(new Chunk(epochs_->current()));
    // A fresh entry lies behind what any snapshot reads.
    Chunk& chunk = fresh ? *chunks_[entry >> kShift] : ownChunk(entry >> kShift);
    chunk.put(entry, key, space, keyGroup);
    return entry;
  }
  void remove(uint32_t entry) {
    ownChunk(entry >> kShift).clear(entry);
    free_.push_back(entry);
  }

  struct Chunk {
    explicit Chunk(uint64_t e) : epoch(e) { keyGroups.fill(kFree); }
    Chunk(uint64_t e, const Chunk& other) : Chunk(e) {
      for (uint32_t i = 0; i < kEntries; ++i)
        if (other.keyGroups[i] != kFree) put(i, other.key(i), other.spaces[i * kHasNamespace], other.keyGroups[i]);
    }
    ~Chunk() {
      for (uint32_t i = 0; i < kEntries; ++i)
        if (keyGroups[i] != kFree) clear(i);
    }
    Chunk(const Chunk&) = delete;
    Chunk& operator=(const Chunk&) = delete;

    const K& key(uint32_t entry) const { return *std::launder(reinterpret_cast<const K*>(keys + (entry & kMask) * sizeof(K))); }
    const N& space(uint32_t entry) const { return spaces[(entry & kMask) * kHasNamespace]; }
    void put(uint32_t entry, const K& k, const N& n, uint16_t keyGroup) {
      new (keys + (entry & kMask) * sizeof(K)) K(k);
      if constexpr (kHasNamespace) spaces[entry & kMask] = n;
      keyGroups[entry & kMask] = keyGroup;
    }
    void clear(uint32_t entry) {
      key(entry).~K();
      keyGroups[entry & kMask] = kFree;
    }

    const uint64_t epoch;
    std::array<uint16_t, 256> keyGroups;
    std::array<N, std::is_same_v<N, VoidNamespace> ? 1 : 256> spaces;
    alignas(K) std::byte keys[256 * sizeof(K)];
  };
  using ChunkList = std::vector<Chunk*>;

  /// What a snapshot takes with it: where the keys are now, and how many entry numbers are in use.
  const ChunkList& chunks() const { return chunks_; }
  uint32_t used() const { return used_; }
  static const Chunk& chunkOf(const ChunkList& list, uint32_t entry) { return *list[entry >> kShift]; }
  static uint16_t keyGroup(const ChunkList& list, uint32_t entry) { return chunkOf(list, entry).keyGroups[entry & kMask]; }

  /// Frees what no snapshot reads any more.
  void releaseRetired() {
    if (endedSeen_ == epochs_->ended()) return;
    endedSeen_ = epochs_->ended();
    std::erase_if(retired_, [&](const Retired& r) {
      if (epochs_->isRead(r.chunk->epoch, r.replaced)) return false;
      delete r.chunk;
      return true;
    });
  }

 private:
  static constexpr uint32_t kShift = 8, kEntries = 1u << kShift, kMask = kEntries - 1;
  static constexpr size_t kHasNamespace = std::is_same_v<N, VoidNamespace> ? 0 : 1;
  struct Retired {
    Chunk* chunk;
    uint64_t replaced;
  };

  Chunk& ownChunk(uint32_t number) {
    if (__builtin_expect(chunks_[number]->epoch > epochs_->sharedUpTo(), 1)) return *chunks_[number];
    epochs_->refresh();
    releaseRetired();
    Chunk* old = chunks_[number];
    if (old->epoch > epochs_->sharedUpTo()) return *old;
    chunks_[number] = new Chunk(epochs_->current(), *old);
    retired_.push_back({old, epochs_->current()});
    return *chunks_[number];
  }

  SnapshotEpochs* const epochs_;
  ChunkList chunks_;
  std::vector<uint32_t> free_;
  uint32_t used_ = 0;
  std::vector<Retired> retired_;
  uint64_t endedSeen_ = 0;
};

}  // namespace weir
