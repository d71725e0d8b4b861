#pragma once

#include <memory>
#include <vector>

#include "weir/barrier/checkpoint_barrier_handler.h"
#include "weir/task/channel_state_recovery.h"
#include "weir/task/operator_chain.h"
#include "weir/task/virtual_channels.h"
#include "weir/time/status_watermark_valve.h"

namespace weir {

enum class InputStatus {
  kMoreAvailable,
  kNothingAvailable,
  kEndOfData,   ///< said once: every channel has sent its last record; barriers may follow
  kEndOfInput,  ///< every channel has ended
};

/// The network inputs of one task: polls its gates, cuts buffers into records for the head operator, and gives events to the barrier
/// handler. Lives on its task.
///
/// Flink: StreamInputProcessor, StreamTaskNetworkInput and CheckpointedInputGate. Channels are numbered through all gates.
class TaskInput {
 public:
  TaskInput(OperatorChain& chain, TaskEnvironment& environment, ExecutionContext& context);
  /// Before anything else; the handler calls resumeConsumption() through its task.
  void setBarrierHandler(std::unique_ptr<CheckpointBarrierHandler> handler) {
    handler_ = std::move(handler);
    handler_->setTrace(trace_);
  }
  CheckpointBarrierHandler& barrierHandler() { return *handler_; }
  InputGate& gate() { return *gate_; }
  /// Else no barrier will ever come.
  bool hasOpenChannels() const { return openChannels_ > 0; }
  int numberOfChannels() const { return static_cast<int>(channels_.size()); }

  /// Reads at most one batch of `limit` records, or handles one event.
  InputStatus emitNext(size_t limit);
  /// A relaxed look: a barrier may be here that overtakes.
  bool looksLikePriority() const { return priorityAvailable_->looksSet(); }
  /// Handles them, ahead of the records, also in the middle of a buffer. May be called while no record may be read.
  void processPriorityEvents();
  /// Takes a buffer that was in flight in a checkpoint, in front of all that the gates give. Requires: not isReading().
  void replay(RecoveredInput recovered);
  /// In the middle of a buffer: emitNext() goes on with it.
  bool isReading() const { return current_ >= 0; }
  /// What to wait for after kNothingAvailable.
  Signal& available() { return gate_->available(); }
  void resumeConsumption(int channel);
  /// Hands over, per channel, what it has polled and not read: the beginning of a record that spans buffers, then the rest of its buffer.
  void persistUnread(ChannelStateWriter& writer, int64_t checkpointId);
  void checkpointStarted(const CheckpointBarrier& barrier);
  void checkpointStopped(int64_t checkpointId);
  void convertToPriorityEvent(int channel, int32_t sequenceNumber);
  /// A checkpoint that the coordinator triggers here, because some upstream tasks have ended: every channel still open counts as if its
  /// barrier had come. False if none is open.
  bool triggerOnOpenChannels(const CheckpointBarrier& barrier);

 private:
  struct Channel {
    int gate;
    int valveChannel;  ///< its number among all channels of the same head input
    RecordDeserializer deserializer;
    Buffer buffer{};  ///< being read
    std::unique_ptr<VirtualChannels> recovering{};  ///< after a rescale, until all in-flight data has come
    bool endOfData = false, ended = false, recovered = false;
  };
  struct Gate {
    std::unique_ptr<ElementReader> reader, filteringReader;  ///< the latter keeps what is sent here; null without a rescale
    int firstChannel, channels;
    int openData, recovering;  ///< channels without EndOfData; channels whose recovery has not ended
    int headInput;
  };

  void demultiplex(const TaskEnvironment& environment);
  void beginBuffer(Channel& channel, Buffer buffer);
  InputStatus readCurrent(size_t limit);
  void onControl(Channel& channel, const ControlElement& element);
  void emit(int headInput, const MergedWatermark& merged);
  InputStatus onEvent(int channel, const RuntimeEvent& event);
  void traceReceived(const CheckpointBarrier& barrier, int channel);
  InputStatus onEndOfData(int channel);
  void onEndOfRecovery(int channel);

  OperatorChain& chain_;
  ExecutionContext& context_;
  BarrierTracer* const trace_;  ///< may be null
  std::unique_ptr<CheckpointBarrierHandler> handler_;
  std::unique_ptr<UnionInputGate> union_;  ///< null: one gate
  InputGate* gate_;                        ///< all channels
  Signal* priorityAvailable_;              ///< the gate's
  std::vector<Channel> channels_;
  std::vector<Gate> gates_;
  std::vector<int> openGatesOfInput_;  ///< by head input: gates with data to come
  std::vector<StatusWatermarkValve> valves_;  ///< by head input
  int openChannels_ = 0, openDataChannels_ = 0;
  int current_ = -1;  ///< the channel whose buffer is being read
};

}  // namespace weir
