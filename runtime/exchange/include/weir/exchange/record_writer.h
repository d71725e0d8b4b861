#pragma once

#include <memory>
#include <utility>

#include "weir/base/random.h"
#include "weir/exchange/result_partition.h"
#include "weir/record/stream_element.h"

namespace weir {

/// Serializes elements into the buffers of a result partition.
///
/// Flink: RecordWriter, ChannelSelectorRecordWriter, BroadcastRecordWriter. Differs: serializes straight into the open buffer where the
/// element is sure to fit, and takes the way over a scratch area only at the end of a buffer; which channel is the caller's choice (see
/// partitioner.h), so that it is inlined there.
/// Threads: the producing task. Cost: no lock, no allocation and no virtual call per record.
/// Errors: those of ResultPartition when a buffer has to be waited for.
///
/// The function given to emit writes an element (without its length) at the pointer that it gets and returns the end; at most `maxSize`
/// bytes.
class RecordWriter {
 public:
  /// `flushAlways`: execution.buffer-timeout is 0. The periodic flusher of other timeouts calls partition().flushAll() by itself.
  explicit RecordWriter(std::shared_ptr<ResultPartition> partition, bool flushAlways = false)
      : partition_(std::move(partition)), flushAlways_(flushAlways) {}

  template <class F>
  void emit(uint32_t subpartition, size_t maxSize, F&& write) {
    emitInto(partition_->slots_[subpartition], maxSize, write,
             [&](std::span<const uint8_t> framed) { partition_->emitRecord(framed, subpartition); });
    if (flushAlways_) partition_->flush(subpartition);
  }

  /// To all, each on its own: what an edge with a channel selector does with watermarks.
  template <class F>
  void broadcastEmit(size_t maxSize, F&& write) {
    const std::span<const uint8_t> framed = toScratch(maxSize, write);
    const auto n = static_cast<uint32_t>(partition_->subpartitionCount());
    for (uint32_t i = 0; i < n; ++i) {
      partition_->emitRecord(framed, i);
      if (flushAlways_) partition_->flush(i);
    }
    if (flushAlways_) partition_->flushAll();
  }

  /// To all, once in memory: what a broadcast edge does with everything.
  template <class F>
  void broadcastShared(size_t maxSize, F&& write) {
    emitInto(partition_->broadcastSlot(), maxSize, write, [&](std::span<const uint8_t> framed) { partition_->broadcastRecord(framed); });
    if (flushAlways_) partition_->flushAll();
  }

  void broadcastEvent(const RuntimeEvent& event, bool priority = false) {
    partition_->broadcastEvent(event, priority);
    if (flushAlways_) partition_->flushAll();
  }

  void flushAll() { partition_->flushAll(); }
  bool isAvailable() const { return partition_->isAvailable(); }
  ResultPartition& partition() const { return *partition_; }
  uint32_t channels() const { return static_cast<uint32_t>(partition_->subpartitionCount()); }
  bool flushAlways() const { return flushAlways_; }

 private:
  template <class F, class Slow>
  void emitInto(ResultPartition::Slot& slot, size_t maxSize, F& write, Slow&& slow) {
    BufferBuilder& builder = slot.builder;
    // More room than needed, not just as much: then the buffer cannot come out full, and a closed builder has none.
    if (builder.writable() > kLengthBytes + maxSize) [[likely]] {
      uint8_t* at = builder.at();
      uint8_t* end = write(at + kLengthBytes);
      storeBigEndian(at, static_cast<int32_t>(end - at - kLengthBytes));
      builder.commitTo(end);
      slot.wrote(end - at);
    } else {
      slow(toScratch(maxSize, write));
    }
  }
  template <class F>
  std::span<const uint8_t> toScratch(size_t maxSize, F& write) {
    uint8_t* at = scratch(kLengthBytes + maxSize);
    uint8_t* end = write(at + kLengthBytes);
    storeBigEndian(at, static_cast<int32_t>(end - at - kLengthBytes));
    return {at, static_cast<size_t>(end - at)};
  }
  uint8_t* scratch(size_t size) {
    if (size > scratchSize_) [[unlikely]] {
      scratchSize_ = size * 2;
      scratch_.reset(new uint8_t[scratchSize_]);
    }
    return scratch_.get();
  }

  const std::shared_ptr<ResultPartition> partition_;
  const bool flushAlways_;
  std::unique_ptr<uint8_t[]> scratch_;
  size_t scratchSize_ = 0;
};

/// Emits a record where `selector` sends it, or to all on a broadcast edge.
template <class T, class Selector>
inline void emitRecord(RecordWriter& writer, Selector& selector, const StreamRecord<T>& record) {
  const size_t maxSize = elementMaxSize(record);
  const auto write = [&](uint8_t* at) { return writeElement(at, record); };
  if constexpr (Selector::kIsBroadcast) writer.broadcastShared(maxSize, write);
  else writer.emit(selector.select(record.value), maxSize, write);
}

/// A watermark, a status or record attributes, to all.
template <class Selector>
inline void broadcastElement(RecordWriter& writer, const Selector&, const ControlElement& element) {
  const auto write = [&](uint8_t* at) { return writeElement(at, element); };
  if constexpr (Selector::kIsBroadcast) writer.broadcastShared(kMaxControlElementSize, write);
  else writer.broadcastEmit(kMaxControlElementSize, write);
}

/// A latency marker: to one channel, whatever the partitioner says.
inline void randomEmit(RecordWriter& writer, Random& random, const ControlElement& element) {
  writer.emit(static_cast<uint32_t>(random.below(writer.channels())), kMaxControlElementSize,
              [&](uint8_t* at) { return writeElement(at, element); });
}

}  // namespace weir
