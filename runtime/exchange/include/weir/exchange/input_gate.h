#pragma once

#include <memory>
#include <optional>
#include <span>

#include "weir/exchange/input_channel.h"

namespace weir {

class SingleInputGate;

/// What a gate hands out. Flink: BufferOrEvent. Events come as bytes with their type: whoever handles them decodes them.
struct BufferOrEvent {
  Buffer buffer;
  InputChannelInfo channel;
  int32_t channelIndex = 0;  ///< in the gate that was asked: for a union, counted over all its gates
  int32_t sequenceNumber = 0;
  bool moreAvailable = false;
  bool morePriorityEvents = false;

  bool isBuffer() const { return buffer.isBuffer(); }
  DataType dataType() const { return buffer.dataType(); }
};

enum class EndOfDataStatus : uint8_t { kNotEndOfData, kDrained, kStopped };

/// One logical input of a task.
///
/// Flink: IndexedInputGate, InputGate. Threads: the consuming task, but for the gauges of channels.
///
/// Waiting: once pollNext() returned nothing and the gate is not finished, wait for available(); the same for pollPriority() and
/// priorityAvailable(). Nobody else resets these signals. One waiter.
class InputGate {
 public:
  virtual ~InputGate() = default;

  /// The next buffer or event, channels in turn, priority events first. Throws what a channel throws.
  virtual std::optional<BufferOrEvent> pollNext() = 0;
  /// Only if a priority event is next: may be called while the task must not take input.
  virtual std::optional<BufferOrEvent> pollPriority() = 0;
  virtual Signal& available() = 0;
  virtual Signal& priorityAvailable() = 0;

  /// All channels have ended. Then available() stays set.
  virtual bool isFinished() const = 0;
  virtual EndOfDataStatus hasReceivedEndOfData() const = 0;
  virtual int32_t numberOfChannels() const = 0;
  virtual InputChannel& channel(int32_t index) = 0;
  /// The gates it is made of, in order; of a single gate itself.
  virtual std::span<SingleInputGate* const> gates() = 0;
  /// The index that BufferOrEvent gives to this channel.
  virtual int32_t channelIndexOf(InputChannelInfo info) const = 0;

  /// Connects all channels. Returns the pause after which to call it again, if some partition is not there yet; throws
  /// PartitionNotFoundException when it is time to give up.
  virtual std::optional<Millis> requestPartitions() = 0;
  virtual void close() = 0;

  void resumeConsumption(InputChannelInfo info) { channel(channelIndexOf(info)).resumeConsumption(); }
  void acknowledgeAllRecordsProcessed(InputChannelInfo info) { channel(channelIndexOf(info)).acknowledgeAllRecordsProcessed(); }
  void convertToPriorityEvent(InputChannelInfo info, int32_t sequenceNumber) {
    channel(channelIndexOf(info)).convertToPriorityEvent(sequenceNumber);
  }
  void checkpointStarted(const CheckpointBarrier& barrier) {
    for (int32_t i = 0; i < numberOfChannels(); ++i) channel(i).checkpointStarted(barrier);
  }
  void checkpointStopped(int64_t checkpointId) {
    for (int32_t i = 0; i < numberOfChannels(); ++i) channel(i).checkpointStopped(checkpointId);
  }
  void announceBufferSize(int32_t size) {
    for (int32_t i = 0; i < numberOfChannels(); ++i) channel(i).announceBufferSize(size);
  }
};

}  // namespace weir
