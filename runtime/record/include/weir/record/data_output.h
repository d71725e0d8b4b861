#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weir/record/big_endian.h"

namespace weir {

/// A growing block of bytes that is written from front to back, numbers with the most significant byte first.
///
/// Flink: DataOutputSerializer. Threads: belongs to its owner. Nothing is initialized before it is written; growth doubles.
class DataOutput {
 public:
  DataOutput() = default;
  explicit DataOutput(size_t capacity) { reserve(capacity); }

  void writeBoolean(bool value) { put<uint8_t>(value ? 1 : 0); }
  void writeByte(int8_t value) { put(value); }
  void writeShort(int16_t value) { put(value); }
  void writeChar(char16_t value) { put(static_cast<uint16_t>(value)); }
  void writeInt(int32_t value) { put(value); }
  void writeLong(int64_t value) { put(value); }
  void writeFloat(float value) { put(value); }
  void writeDouble(double value) { put(value); }
  void writeBytes(std::span<const uint8_t> bytes) { writeBytes(bytes.data(), bytes.size()); }
  void writeBytes(std::string_view bytes) { writeBytes(bytes.data(), bytes.size()); }
  /// Java's writeUTF: 2-byte length, then modified UTF-8. Throws where `text` is no UTF-8 or longer than 65535 encoded bytes.
  void writeUtf(std::string_view text);

  /// Room for `size` more bytes, to be written through the returned pointer and then taken over with commit().
  uint8_t* prepare(size_t size) {
    if (__builtin_expect(capacity_ - size_ < size, 0)) grow(size);
    return data_.get() + size_;
  }
  /// Takes over everything up to `end`, which must lie inside the last prepare().
  void commit(const uint8_t* end) { size_ = static_cast<size_t>(end - data_.get()); }

  /// Overwrites four bytes that were written before: a length that was not known when its place came.
  void patchInt(size_t position, int32_t value);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::span<const uint8_t> bytes() const { return {data_.get(), size_}; }
  std::vector<uint8_t> toVector() const { return {data_.get(), data_.get() + size_}; }
  /// Forgets the content and keeps the memory.
  void clear() { size_ = 0; }
  void reserve(size_t capacity) {
    if (capacity > capacity_) grow(capacity - size_);
  }

 private:
  template <class T>
  void put(T value) {
    size_ = static_cast<size_t>(storeBigEndian(prepare(sizeof(T)), value) - data_.get());
  }
  void writeBytes(const void* from, size_t size) {
    if (size == 0) return;
    std::memcpy(prepare(size), from, size);
    size_ += size;
  }
  void grow(size_t more);

  std::unique_ptr<uint8_t[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace weir
