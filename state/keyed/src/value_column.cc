#include "weir/keyed/value_column.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace weir {

namespace {

constexpr size_t kCacheLine = 64;

/// Entries per chunk as a power of two: few enough that copying a chunk stays cheap where values are large.
uint32_t chunkShift(size_t size) { return size <= 64 ? 8 : size <= 512 ? 6 : 3; }

}  // namespace

ValueColumn::ValueColumn(std::shared_ptr<const StateType> type, SnapshotEpochs& epochs)
    : type_(std::move(type)), epochs_(&epochs), size_(type_->size()), shift_(chunkShift(size_)), mask_((1u << shift_) - 1),
      alignment_(std::max(kCacheLine, type_->alignment())), valuesAt_((sizeof(Chunk) + alignment_ - 1) / alignment_ * alignment_) {}

ValueColumn::~ValueColumn() {
  for (const Retired& r : retired_) deleteChunk(r.chunk);
  for (Chunk* chunk : chunks_) deleteChunk(chunk);
}

ValueColumn::Chunk* ValueColumn::newChunk() const {
  void* memory = ::operator new (valuesAt_ + (size_ << shift_), std::align_val_t{alignment_});
  return new (memory) Chunk{epochs_->current(), {}};
}

void ValueColumn::deleteChunk(Chunk* chunk) const {
  if (!type_->isTrivial()) {
    for (uint32_t i = 0; i <= mask_; ++i)
      if (chunk->live[i / 64] >> (i % 64) & 1) type_->destroy(place(*chunk, i));
  }
  ::operator delete (chunk, std::align_val_t{alignment_});
}

void* ValueColumn::construct(uint32_t entry) {
  const uint32_t number = entry >> shift_;
  if (number == chunks_.size()) chunks_.push_back(newChunk());
  // Also where no snapshot looks at this entry: others of the same chunk may be written later in the same batch.
  void* at = write(entry);
  type_->construct(at);
  chunks_[number]->live[(entry & mask_) / 64] |= uint64_t{1} << (entry & 63 & mask_);
  return at;
}

void ValueColumn::destroy(uint32_t entry) {
  if (type_->isTrivial()) return;
  void* at = write(entry);
  type_->destroy(at);
  chunks_[entry >> shift_]->live[(entry & mask_) / 64] &= ~(uint64_t{1} << (entry & 63 & mask_));
}

ValueColumn::Chunk* ValueColumn::ownChunk(uint32_t number) {
  epochs_->refresh();
  releaseRetired();
  Chunk* old = chunks_[number];
  if (old->epoch > epochs_->sharedUpTo()) return old;
  Chunk* mine = newChunk();
  if (type_->isTrivial()) {
    std::memcpy(place(*mine, 0), place(*old, 0), size_ << shift_);
  } else {
    for (uint32_t i = 0; i <= mask_; ++i)
      if (old->live[i / 64] >> (i % 64) & 1) type_->copy(place(*mine, i), place(*old, i));
  }
  mine->live = old->live;
  chunks_[number] = mine;
  retired_.push_back({old, epochs_->current()});
  return mine;
}

void ValueColumn::releaseRetired() {
  if (endedSeen_ == epochs_->ended()) return;
  endedSeen_ = epochs_->ended();
  std::erase_if(retired_, [&](const Retired& r) {
    if (epochs_->isRead(r.chunk->epoch, r.replaced)) return false;
    deleteChunk(r.chunk);
    return true;
  });
}

}  // namespace weir
