#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "weir/backend/state_type.h"
#include "weir/keyed/snapshot_epochs.h"

namespace weir {

/// The values of one state, by entry number, in chunks that are copied when they are written while a snapshot reads them. A value's type is
/// erased; on the way to a value that exists nothing virtual is called.
///
/// Threads: the task; a snapshot reads, from any thread, the chunks of its ChunkList below the entry count that it took with it, and holds
/// the column through a shared pointer.
class ValueColumn {
 public:
  ValueColumn(std::shared_ptr<const StateType> type, SnapshotEpochs& epochs);
  ~ValueColumn();
  ValueColumn(const ValueColumn&) = delete;
  ValueColumn& operator=(const ValueColumn&) = delete;

  const StateType& type() const { return *type_; }
  const void* read(uint32_t entry) const { return place(*chunks_[entry >> shift_], entry); }
  /// To be changed: copies the chunk if a snapshot reads it.
  void* write(uint32_t entry) {
    Chunk* chunk = chunks_[entry >> shift_];
    if (__builtin_expect(chunk->epoch <= epochs_->sharedUpTo(), 0)) chunk = ownChunk(entry >> shift_);
    return place(*chunk, entry);
  }
  void prefetch(uint32_t entry) const { __builtin_prefetch(place(*chunks_[entry >> shift_], entry)); }
  /// The first value of an entry, which is at most one behind the last one.
  void* construct(uint32_t entry);
  void destroy(uint32_t entry);
  /// Frees what no snapshot reads any more.
  void releaseRetired();

  struct Chunk;
  using ChunkList = std::vector<Chunk*>;
  /// Where the values are now, for a snapshot.
  const ChunkList& chunks() const { return chunks_; }
  const void* at(const ChunkList& list, uint32_t entry) const { return place(*list[entry >> shift_], entry); }

  static constexpr size_t kMaxEntries = 256;
  struct Chunk {
    uint64_t epoch;
    std::array<uint64_t, kMaxEntries / 64> live{};  ///< which values are constructed
    // The values follow: see place().
  };

 private:
  struct Retired {
    Chunk* chunk;
    uint64_t replaced;
  };

  std::byte* place(const Chunk& chunk, uint32_t entry) const {
    return const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&chunk)) + valuesAt_ + (entry & mask_) * size_;
  }
  Chunk* ownChunk(uint32_t number);
  Chunk* newChunk() const;
  void deleteChunk(Chunk* chunk) const;

  const std::shared_ptr<const StateType> type_;
  SnapshotEpochs* const epochs_;
  const size_t size_;
  const uint32_t shift_, mask_;
  const size_t alignment_, valuesAt_;  ///< of a chunk's memory; where its values start in it
  ChunkList chunks_;
  std::vector<Retired> retired_;
  uint64_t endedSeen_ = 0;
};

}  // namespace weir
