#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weir/base/check.h"
#include "weir/buffer/data_type.h"

namespace weir {

class MemorySegment;

/// Takes a segment back when its last reference is gone. Called by the actor that releases, with no lock of the caller's held.
class BufferRecycler {
 public:
  virtual void recycle(MemorySegment& segment) = 0;

 protected:
  ~BufferRecycler() = default;
};

/// Bytes with a reference count: a fixed block of a NetworkBufferPool, or heap bytes of one event (no recycler).
///
/// Flink: MemorySegment together with the marker of BufferBuilder and the reference count of NetworkBuffer. Holding all three in one
/// header of one cache line is what makes a buffer cost no allocation.
/// Threads: the count and the marker are atomics; the bytes below the marker are immutable once committed; the rest of the fields is set
/// by the owner between two lives.
class alignas(64) MemorySegment {
 public:
  static constexpr uint32_t kFinished = 1u << 31;

  uint8_t* data() const { return data_; }
  uint32_t capacity() const { return capacity_; }

  void retain(uint32_t n = 1) { references_.fetch_add(n, std::memory_order_relaxed); }
  void release() {
    // A sole owner cannot be raced: nobody else has a reference to copy.
    if (references_.load(std::memory_order_acquire) == 1 || references_.fetch_sub(1, std::memory_order_acq_rel) == 1) lastReleased();
  }
  uint32_t references() const { return references_.load(std::memory_order_relaxed); }

  /// Bytes written so far, with kFinished once no more will come. The release makes the bytes visible to whoever reads the marker.
  void commit(uint32_t marker) { marker_.store(marker, std::memory_order_release); }
  uint32_t marker() const { return marker_.load(std::memory_order_acquire); }

  /// Starts a life with one reference, nothing written, to come back to `recycler`. Requires: not in use.
  void open(BufferRecycler* recycler, int32_t subpartition) {
    recycler_ = recycler;
    subpartition_ = subpartition;
    marker_.store(0, std::memory_order_relaxed);
    references_.store(1, std::memory_order_relaxed);
  }
  /// Whose share of its pool it counts towards; -1: nobody's.
  int32_t subpartition() const { return subpartition_; }

  /// Heap bytes with one reference, all written.
  static MemorySegment* allocate(uint32_t size);

 private:
  friend class NetworkBufferPool;
  void lastReleased();

  std::atomic<uint32_t> references_{0};
  std::atomic<uint32_t> marker_{0};
  uint8_t* data_ = nullptr;
  BufferRecycler* recycler_ = nullptr;
  uint32_t capacity_ = 0;
  int32_t subpartition_ = -1;
  void* allocation_ = nullptr;  ///< of heap bytes: where their memory begins
};

/// A view of bytes that holds one reference to them. Copying retains, destroying releases; a default one is empty and holds nothing.
///
/// Flink: Buffer (NetworkBuffer, ReadOnlySlicedNetworkBuffer). Threads: a handle belongs to one actor; the bytes may be shared.
class Buffer {
 public:
  Buffer() = default;
  /// Takes over one reference of the caller.
  static Buffer adopt(MemorySegment* segment, uint32_t offset, uint32_t size, DataType type) { return Buffer(segment, offset, size, type); }
  /// A copy of `bytes` on the heap: what events are made of.
  static Buffer copyOf(std::span<const uint8_t> bytes, DataType type);

  Buffer(const Buffer& other) : segment_(other.segment_), offset_(other.offset_), size_(other.size_), type_(other.type_) {
    if (segment_) segment_->retain();
  }
  Buffer(Buffer&& other) noexcept
      : segment_(std::exchange(other.segment_, nullptr)), offset_(other.offset_), size_(other.size_), type_(other.type_) {}
  Buffer& operator=(Buffer other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (segment_) segment_->release();
  }
  void swap(Buffer& other) noexcept {
    std::swap(segment_, other.segment_);
    std::swap(offset_, other.offset_);
    std::swap(size_, other.size_);
    std::swap(type_, other.type_);
  }
  void reset() { *this = Buffer(); }
  /// Gives the reference to the caller.
  MemorySegment* detach() { return std::exchange(segment_, nullptr); }

  explicit operator bool() const { return segment_ != nullptr; }
  std::span<const uint8_t> bytes() const { return {segment_ ? segment_->data() + offset_ : nullptr, size_}; }
  const uint8_t* data() const { return segment_->data() + offset_; }
  uint32_t size() const { return size_; }
  uint32_t offset() const { return offset_; }
  DataType dataType() const { return type_; }
  bool isBuffer() const { return weir::isBuffer(type_); }
  MemorySegment* segment() const { return segment_; }

  /// The same bytes under another type: a barrier that turns into a priority event keeps its memory where its bytes stay.
  Buffer as(DataType type) const {
    Buffer copy(*this);
    copy.type_ = type;
    return copy;
  }
  /// A part of it, with a reference of its own.
  Buffer slice(uint32_t offset, uint32_t size) const {
    WEIR_CHECK(offset <= size_ && size <= size_ - offset, "slice of {} at {} out of {} bytes", size, offset, size_);
    Buffer copy(*this);
    copy.offset_ += offset;
    copy.size_ = size;
    return copy;
  }

 private:
  Buffer(MemorySegment* segment, uint32_t offset, uint32_t size, DataType type)
      : segment_(segment), offset_(offset), size_(size), type_(type) {}

  MemorySegment* segment_ = nullptr;
  uint32_t offset_ = 0;
  uint32_t size_ = 0;
  DataType type_ = DataType::NONE;
};

}  // namespace weir
