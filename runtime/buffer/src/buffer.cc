#include "weir/buffer/buffer.h"

#include <cstring>
#include <new>

namespace weir {

MemorySegment* MemorySegment::allocate(uint32_t size) {
  void* memory = ::operator new(sizeof(MemorySegment) + size, std::align_val_t{alignof(MemorySegment)});
  auto* segment = new (memory) MemorySegment;
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
    this->~MemorySegment();
    ::operator delete(this, std::align_val_t{alignof(MemorySegment)});
  }
}

Buffer Buffer::copyOf(std::span<const uint8_t> bytes, DataType type) {
  const auto size = static_cast<uint32_t>(bytes.size());
  MemorySegment* segment = MemorySegment::allocate(size);
  if (size) std::memcpy(segment->data(), bytes.data(), size);
  return adopt(segment, 0, size, type);
}

}  // namespace weir
