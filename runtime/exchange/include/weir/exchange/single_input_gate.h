#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/buffer/buffer_debloater.h"
#include "weir/buffer/local_buffer_pool.h"
#include "weir/exchange/channel_turns.h"
#include "weir/exchange/input_gate.h"

namespace weir {

/// All channels of one input edge of one subtask, read in turn.
///
/// Flink: SingleInputGate. Differs: its queue of channels is in two parts. What others report lies in a shared ReadyQueue; the gate moves
/// it, a batch at a time, into ChannelTurns that are the task's alone, so that a poll takes no lock of the gate. Threads: as InputGate.
/// Invariants: a channel with readable data is in one of the
/// two parts, or is just being polled; a finished channel is in neither.
class SingleInputGate final : public InputGate {
 public:
  /// `owningTask` and the index are for messages.
  SingleInputGate(std::string owningTask, int32_t gateIndex) : owningTask_(std::move(owningTask)), gateIndex_(gateIndex), self_(this) {}
  ~SingleInputGate() override { close(); }

  /// Once, before anything else. Channel i has index i.
  void setInputChannels(std::vector<std::unique_ptr<InputChannel>> channels);
  /// Takes the pool of floating buffers and reserves its first segment; waits for it.
  Result<void> setup(ExecutionContext& context, std::shared_ptr<LocalBufferPool> pool);

  std::optional<BufferOrEvent> pollNext() override { return poll(false); }
  std::optional<BufferOrEvent> pollPriority() override { return poll(true); }
  Signal& available() override { return queue_->signals().available; }
  Signal& priorityAvailable() override { return queue_->signals().priorityAvailable; }
  bool isFinished() const override { return finished_; }
  EndOfDataStatus hasReceivedEndOfData() const override;
  int32_t numberOfChannels() const override { return static_cast<int32_t>(channels_.size()); }
  InputChannel& channel(int32_t index) override { return *channels_[index]; }
  std::span<SingleInputGate* const> gates() override { return {&self_, 1}; }
  int32_t channelIndexOf(InputChannelInfo info) const override { return info.channel; }
  std::optional<Millis> requestPartitions() override;
  void close() override;

  /// From now on its traffic is measured, and triggerDebloating() works. Before the first poll.
  void enableDebloating(const BufferDebloatSettings& settings, const Clock& clock);
  /// Once per period, by the task: tells the producers if they should fill their buffers more or less.
  void triggerDebloating();
  /// Its numbers, any thread; zero where it is not on.
  int32_t debloatedBufferSize() const { return debloatedSize_.load(std::memory_order_relaxed); }
  Millis estimatedTimeToConsumeBuffers() const { return Millis(estimatedMillis_.load(std::memory_order_relaxed)); }

  int32_t gateIndex() const { return gateIndex_; }
  LocalBufferPool* bufferPool() const { return pool_.get(); }
  /// Queued buffers, events and bytes of all channels; any thread once the channels are set.
  int32_t queueLength() const;
  int64_t queuedBytes() const;
  int32_t buffersInUse() const;

  // For UnionInputGate. -------------------------------------------------------------------------------------------------------------
  /// Reports to these signals from now on, and leaves resetting them to the union.
  void joinUnion(std::shared_ptr<GateSignals> signals);
  /// Takes over what was reported; true if some channel is queued.
  bool refresh();
  /// The same without a look first: after the union has reset its signals.
  void takeReportedAfterReset() { takeReported(); }
  bool looksReady() const { return !ready_.empty() || queue_->looksNonEmpty(); }
  bool hasPriorityQueued() const { return ready_.hasPriority(); }
  const std::shared_ptr<ReadyQueue>& readyQueue() const { return queue_; }

 private:
  struct ChannelState {
    bool endOfData = false;
    bool endOfPartition = false;
    bool sawPriority = false;
    int32_t lastPrioritySequence = 0;  ///< meaningful where sawPriority
  };

  std::optional<BufferOrEvent> poll(bool priorityOnly);
  void measure(const std::optional<BufferOrEvent>& polled, bool priorityOnly);
  bool takeReported();
  bool findReady(bool priorityOnly);
  void enqueue(uint32_t channel, bool priority);
  void onEndOfData(uint32_t channel, const Buffer& event);
  void onEndOfPartition(uint32_t channel);

  const std::string owningTask_;
  const int32_t gateIndex_;
  SingleInputGate* const self_;
  std::vector<std::unique_ptr<InputChannel>> channels_;
  std::vector<ChannelState> states_;
  std::shared_ptr<ReadyQueue> queue_;
  std::shared_ptr<LocalBufferPool> pool_;
  struct Debloating {
    ThroughputCalculator throughput;
    BufferDebloater debloater;
  };
  std::unique_ptr<Debloating> debloating_;  ///< null: off
  std::atomic<int32_t> debloatedSize_{0};
  std::atomic<int64_t> estimatedMillis_{0};
  ChannelTurns ready_;
  std::vector<uint32_t> reported_;                      ///< scratch of takeReported
  std::vector<ReadyQueue::Priority> reportedPriority_;  ///< scratch of takeReported
  int32_t endOfDataCount_ = 0;
  int32_t endOfPartitionCount_ = 0;
  bool allDrain_ = true;
  bool finished_ = false;
  bool closed_ = false;
  bool ownsSignals_ = true;
};

}  // namespace weir
