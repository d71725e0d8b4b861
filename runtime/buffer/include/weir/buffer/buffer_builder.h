#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "weir/buffer/buffer.h"

namespace weir {

/// The reading end of a builder, or a whole event: hands out what was committed since the last time.
///
/// Flink: BufferConsumer. Threads: guarded by the lock of the queue that it lies in; it meets its builder only in the segment's marker.
class BufferConsumer {
 public:
  BufferConsumer() = default;
  /// Takes over one reference to `segment`. `partialRecordLength`: how many of its first bytes end a record that began earlier.
  BufferConsumer(MemorySegment* segment, DataType type, uint32_t partialRecordLength = 0)
      : buffer_(Buffer::adopt(segment, 0, 0, type)), partialRecordLength_(partialRecordLength) {}
  /// A finished one over a whole buffer.
  explicit BufferConsumer(Buffer buffer)
      : buffer_(std::move(buffer)), end_((buffer_.offset() + buffer_.size()) | MemorySegment::kFinished), readPosition_(buffer_.offset()) {}

  DataType dataType() const { return buffer_.dataType(); }
  bool isBuffer() const { return buffer_.isBuffer(); }
  bool isFinished() const { return (marker() & MemorySegment::kFinished) != 0; }
  bool isDataAvailable() const { return (marker() & ~MemorySegment::kFinished) > readPosition_; }
  uint32_t readPosition() const { return readPosition_; }
  uint32_t partialRecordLength() const { return partialRecordLength_; }

  struct Slice {
    Buffer buffer;
    bool finished = false;  ///< nothing will come after it
  };
  /// What was committed and not yet built, possibly empty. One look at the marker decides both size and end. The last slice takes the
  /// reference along: after it this is an empty shell that knows its type.
  Slice build() {
    const uint32_t marker = this->marker();
    const uint32_t end = marker & ~MemorySegment::kFinished, start = readPosition_;
    const bool finished = (marker & MemorySegment::kFinished) != 0;
    MemorySegment* segment = buffer_.segment();
    readPosition_ = end;
    if (finished) (void)buffer_.detach();
    else segment->retain();
    return {Buffer::adopt(segment, start, end - start, buffer_.dataType()), finished};
  }
  /// What build() would hand out next. Valid while this holds its reference.
  std::span<const uint8_t> bytes() const {
    return {buffer_.segment()->data() + readPosition_, (marker() & ~MemorySegment::kFinished) - readPosition_};
  }
  /// What build() would return, without moving on: for the channel state of a checkpoint.
  Buffer peek() const {
    const uint32_t end = marker() & ~MemorySegment::kFinished;
    buffer_.segment()->retain();
    return Buffer::adopt(buffer_.segment(), readPosition_, end - readPosition_, buffer_.dataType());
  }

 private:
  uint32_t marker() const { return end_ ? end_ : buffer_.segment()->marker(); }

  Buffer buffer_;
  uint32_t end_ = 0;  ///< the marker of a whole buffer; 0: that of the segment decides
  uint32_t readPosition_ = 0;
  uint32_t partialRecordLength_ = 0;
};

/// The writing end of one segment. At most one per segment.
///
/// Flink: BufferBuilder. Threads: the writing task. Bytes become visible with commit(); finish() says that no more will come.
/// Units: bytes. A closed builder has no room: writable() is 0, so that a hot path needs one comparison.
class BufferBuilder {
 public:
  BufferBuilder() = default;
  /// Takes over one reference.
  explicit BufferBuilder(MemorySegment* segment) : segment_(segment), data_(segment->data()), limit_(segment->capacity()) {}
  BufferBuilder(BufferBuilder&& other) noexcept { *this = std::move(other); }
  BufferBuilder& operator=(BufferBuilder&& other) noexcept {
    if (this == &other) return *this;
    if (segment_) finish();
    segment_ = std::exchange(other.segment_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    position_ = std::exchange(other.position_, 0);
    limit_ = std::exchange(other.limit_, 0);
    return *this;
  }
  ~BufferBuilder() {
    if (segment_) finish();
  }

  bool isOpen() const { return segment_ != nullptr; }
  bool isFull() const { return position_ == limit_; }
  uint32_t written() const { return position_; }
  uint32_t writable() const { return limit_ - position_; }
  uint32_t maxCapacity() const { return limit_; }
  /// Where the next byte goes.
  uint8_t* at() const { return data_ + position_; }
  /// Publishes everything up to `end`. Requires: at() <= end, inside the limit.
  void commitTo(const uint8_t* end) {
    position_ = static_cast<uint32_t>(end - data_);
    segment_->commit(position_);
  }
  /// Copies and commits what fits; returns how much that was.
  uint32_t append(std::span<const uint8_t> bytes) {
    const auto size = static_cast<uint32_t>(std::min<size_t>(bytes.size(), writable()));
    if (size) std::memcpy(at(), bytes.data(), size);
    commitTo(at() + size);
    return size;
  }
  /// Changes the size: never below what is written, never above the segment.
  void trim(uint32_t newSize) { limit_ = std::clamp(newSize, position_, segment_->capacity()); }
  /// A reader of all bytes from the start.
  BufferConsumer createConsumer(uint32_t partialRecordLength = 0, DataType type = DataType::DATA_BUFFER) {
    segment_->retain();
    return BufferConsumer(segment_, type, partialRecordLength);
  }
  /// For n consumers at once: one atomic operation. The caller makes them with BufferConsumer's constructor.
  MemorySegment* retain(uint32_t n) {
    segment_->retain(n);
    return segment_;
  }
  /// Closes it; returns the bytes written.
  uint32_t finish() {
    segment_->commit(position_ | MemorySegment::kFinished);
    segment_->release();
    segment_ = nullptr;
    data_ = nullptr;
    limit_ = 0;
    return std::exchange(position_, 0);
  }

 private:
  MemorySegment* segment_ = nullptr;
  uint8_t* data_ = nullptr;
  uint32_t position_ = 0;
  uint32_t limit_ = 0;
};

}  // namespace weir
