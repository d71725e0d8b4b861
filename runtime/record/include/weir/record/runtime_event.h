#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "weir/buffer/data_type.h"
#include "weir/snapshot/checkpoint_options.h"

namespace weir {

/// Events travel between tasks in buffers of their own, in order with the data or (barriers) ahead of it.
/// Flink: RuntimeEvent and its subclasses. Here plain values in a variant.

struct EndOfPartition {
  bool operator==(const EndOfPartition&) const = default;
};
/// Cuts the stream into what belongs to a checkpoint and what comes after it.
struct CheckpointBarrier {
  int64_t id = 0;
  int64_t timestamp = 0;  ///< when the coordinator triggered it, epoch milliseconds
  CheckpointOptions options;
  bool operator==(const CheckpointBarrier&) const = default;
  /// The same barrier, allowed to overtake. Requires: aligned or already unaligned.
  CheckpointBarrier asUnaligned() const { return {id, timestamp, options.toUnaligned()}; }
};
struct EndOfSuperstep {
  bool operator==(const EndOfSuperstep&) const = default;
};
/// The checkpoint will not be taken here.
struct CancelCheckpointMarker {
  int64_t checkpointId = 0;
  bool operator==(const CancelCheckpointMarker&) const = default;
};
/// The producer has sent all its recovered output. Flink 2.x calls it EndOfOutputChannelState.
struct EndOfChannelState {
  bool operator==(const EndOfChannelState&) const = default;
};
/// Made by a receiver for its own task: a barrier lies further back in the channel. Only barriers are announced.
struct EventAnnouncement {
  CheckpointBarrier announced;
  int32_t sequenceNumber = 0;  ///< of the announced event in its channel
  bool operator==(const EventAnnouncement&) const = default;
};
/// What follows was in flight between this pair of subtasks of before a rescale.
struct SubtaskConnectionDescriptor {
  int32_t inputSubtaskIndex = 0;
  int32_t outputSubtaskIndex = 0;
  bool operator==(const SubtaskConnectionDescriptor&) const = default;
};
enum class StopMode : uint8_t { DRAIN = 0, NO_DRAIN = 1 };
/// All records were sent; checkpoints may still follow.
struct EndOfData {
  StopMode mode = StopMode::DRAIN;
  bool operator==(const EndOfData&) const = default;
};
struct EndOfSegment {
  bool operator==(const EndOfSegment&) const = default;
};
struct RecoveryMetadata {
  int32_t finalBufferSubpartitionId = 0;
  bool operator==(const RecoveryMetadata&) const = default;
};
/// A generalized watermark (FLIP-467).
struct WatermarkEvent {
  std::string identifier;
  bool aligned = false;
  std::variant<int64_t, bool> value;
  bool operator==(const WatermarkEvent&) const = default;
};
/// Local to a channel that recovers; never sent.
struct EndOfInputChannelState {
  bool operator==(const EndOfInputChannelState&) const = default;
};

using RuntimeEvent =
    std::variant<EndOfPartition, CheckpointBarrier, EndOfSuperstep, CancelCheckpointMarker, EndOfChannelState, EventAnnouncement,
                 SubtaskConnectionDescriptor, EndOfData, EndOfSegment, RecoveryMetadata, WatermarkEvent, EndOfInputChannelState>;

/// The type of the buffer that carries the event, which decides how queues treat it. A priority event is one its sender asked to overtake.
DataType dataTypeOf(const RuntimeEvent& event, bool priority);

/// "CheckpointBarrier 7 @ 1543488224622 ALIGNED", "EndOfData{mode=DRAIN}", ...: for logs and traces.
std::string toString(const RuntimeEvent& event);

}  // namespace weir
