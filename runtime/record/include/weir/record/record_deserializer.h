#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/result.h"
#include "weir/record/stream_element.h"

namespace weir {

/// Cuts the byte stream of one input channel back into records.
///
/// Flink: SpillingAdaptiveSpanningRecordDeserializer with its two wrappers. Differs: a record that spans buffers always stays in
/// memory (Flink moves what exceeds 5 MiB to a file); it grows with the bytes that arrive, never ahead of them, at most to
/// maxRecordBytes, and a large one's memory is given back after it.
///
/// Use: setNextBuffer(bytes); next() until it says kNeedBuffer; then the buffer may be recycled; the next one.
/// Threads: the consuming task's. Zero-copy: a payload that lies within one buffer points into it, one that spans points into this
/// object; either is valid until the following call of next() or setNextBuffer().
/// Errors: kCorrupt (a negative length, or one above maxRecordBytes) is final; error() names the channel.
class RecordDeserializer {
 public:
  enum class Next : uint8_t {
    kRecord,      ///< `payload` is the next record
    kNeedBuffer,  ///< every byte of the buffer was taken; what is left of a record was copied
    kCorrupt,
  };
  static constexpr size_t kDefaultMaxRecordBytes = size_t{256} << 20;

  /// `channel` is how errors name it, as "channel 3 of gate 0 (from Map (2/4))".
  explicit RecordDeserializer(std::string channel, size_t maxRecordBytes = kDefaultMaxRecordBytes)
      : channel_(std::move(channel)), maxRecordBytes_(maxRecordBytes) {}

  /// Requires: the previous buffer was read to its end. The bytes must stay until next() asks for another buffer.
  void setNextBuffer(std::span<const uint8_t> bytes) {
    WEIR_CHECK(at_ == end_, "{}: a buffer was set before the previous one was read", channel_);
    at_ = bytes.data();
    end_ = at_ + bytes.size();
  }

  Next next(std::span<const uint8_t>& payload) {
    if (__builtin_expect(partial_.empty(), 1)) {
      auto left = static_cast<size_t>(end_ - at_);
      if (__builtin_expect(left >= kLengthBytes, 1)) {
        auto length = static_cast<uint32_t>(loadBigEndian<int32_t>(at_));
        if (__builtin_expect(length <= left - kLengthBytes && length <= maxRecordBytes_ && !corrupt_, 1)) {
          payload = {at_ + kLengthBytes, length};
          at_ += kLengthBytes + length;
          return Next::kRecord;
        }
      }
    }
    return nextSpanning(payload);
  }

  /// Everything that has arrived and was not handed out, for an unaligned checkpoint: the collected part of a record that spans (its
  /// length included), and what was not yet read of the current buffer. Valid until the following call.
  struct Unconsumed {
    std::span<const uint8_t> partial;
    std::span<const uint8_t> rest;  ///< the tail of the current buffer, so that its owner can share the buffer and copy nothing
    size_t size() const { return partial.size() + rest.size(); }
  };
  Unconsumed getUnconsumedBuffer() const {
    return {partialDelivered_ ? std::span<const uint8_t>{} : std::span<const uint8_t>(partial_), {at_, static_cast<size_t>(end_ - at_)}};
  }

  /// Whether the current buffer was read to its end.
  bool isBufferConsumed() const { return at_ == end_; }
  /// Forgets buffer and partial record (a channel that is released). After an error it stays corrupt.
  void clear();
  /// Requires: next() said kCorrupt.
  Error error() const { return {ErrorCode::kCorrupt, error_}; }
  const std::string& channel() const { return channel_; }

 private:
  Next nextSpanning(std::span<const uint8_t>& payload);
  Next corrupt(int32_t length);
  /// Moves bytes from the buffer until partial_ holds `size` of them; false where the buffer has too few.
  bool collect(size_t size);
  void dropPartial();

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  std::vector<uint8_t> partial_;   ///< the record that spans, its length first
  bool partialDelivered_ = false;  ///< partial_ was handed out and is dropped by the following next()
  bool corrupt_ = false;
  std::string channel_, error_;
  size_t maxRecordBytes_;
};

/// Why readRecords() stopped.
enum class ReadStop : uint8_t { kFull, kNeedBuffer, kControl, kCorrupt };
struct ReadResult {
  size_t count = 0;  ///< records read, all of them in front of what made it stop
  ReadStop stop = ReadStop::kFull;
};

/// Reads records into `into` (reusing the memory of what is there) until it is full, the buffer is used up, or an element that is no
/// record came, which is then in `control`. kCorrupt: `error` says why, and the channel must not be read any more.
template <class T>
ReadResult readRecords(RecordDeserializer& deserializer, std::span<StreamRecord<T>> into, ControlElement& control, Error& error) {
  std::span<const uint8_t> payload;
  for (size_t count = 0; count < into.size();) {
    switch (deserializer.next(payload)) {
      case RecordDeserializer::Next::kNeedBuffer:
        return {count, ReadStop::kNeedBuffer};
      case RecordDeserializer::Next::kCorrupt:
        return error = deserializer.error(), ReadResult{count, ReadStop::kCorrupt};
      case RecordDeserializer::Next::kRecord:
        break;
    }
    DataInput in(payload);
    ElementKind kind = readElement(in, into[count], control);
    if (__builtin_expect(kind == ElementKind::kRecord, 1)) {
      ++count;
      continue;
    }
    if (kind == ElementKind::kControl) return {count, ReadStop::kControl};
    error = in.error("A record").in(deserializer.channel());
    return {count, ReadStop::kCorrupt};
  }
  return {into.size(), ReadStop::kFull};
}

}  // namespace weir
