#include "weir/buffer/buffer.h"

#include <cstring>
#include <memory>
#include <new>

namespace weir {

MemorySegment* MemorySegment::allocate(uint32_t size) {
  // Aligned here: malloc's own way to do it goes past its thread cache, and each barrier comes by here.
  size_t room = sizeof(MemorySegment) + size + alignof(MemorySegment);
  void* const allocation = ::operator new(room);
  void* at = allocation;
  auto* segment = new (std::align(alignof(MemorySegment), sizeof(MemorySegment) + size, at, room)) MemorySegment;
  segment->allocation_ = allocation;
  segment->data_ = reinterpret_cast<uint8_t*>(segment + 1);
  segment->capacity_ = size;
  segment->open(nullptr, -1);
  segment->marker_.store(size | kFinished, std::memory_order_relaxed);
  return segment;
}

void MemorySegment::lastReleased() {
  if (recycler_) {
    references_.store(0, std::memory_order_relaxed);
    recycler_->recycle(*this);
  } else {
    void* const allocation = allocation_;
    this->~MemorySegment();
    ::operator delete(allocation);
  }
}

Buffer Buffer::copyOf(std::span<const uint8_t> bytes, DataType type) {
  const auto size = static_cast<uint32_t>(bytes.size());
  MemorySegment* segment = MemorySegment::allocate(size);
  if (size) std::memcpy(segment->data(), bytes.data(), size);
  return adopt(segment, 0, size, type);
}

}  // namespace weir
