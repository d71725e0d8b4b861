#pragma once

#include <vector>

#include "weir/exchange/single_input_gate.h"

namespace weir {

/// Several gates as one input: channel indices count on from gate to gate, and gates take turns, a buffer each.
///
/// Flink: UnionInputGate. Differs: gates are few, so their readiness is looked up, not queued by notifications; all report to the same
/// signals.
class UnionInputGate final : public InputGate {
 public:
  /// The gates have their channels, nobody reports yet; they outlive this.
  explicit UnionInputGate(std::vector<SingleInputGate*> gates);

  std::optional<BufferOrEvent> pollNext() override { return poll(false); }
  std::optional<BufferOrEvent> pollPriority() override { return poll(true); }
  Signal& available() override { return signals_->available; }
  Signal& priorityAvailable() override { return signals_->priorityAvailable; }
  bool isFinished() const override;
  EndOfDataStatus hasReceivedEndOfData() const override;
  int32_t numberOfChannels() const override { return channels_; }
  InputChannel& channel(int32_t index) override;
  std::span<SingleInputGate* const> gates() override { return gates_; }
  int32_t channelIndexOf(InputChannelInfo info) const override;
  std::optional<Millis> requestPartitions() override;
  void close() override;

 private:
  std::optional<BufferOrEvent> poll(bool priorityOnly);
  bool collectReady(bool priorityOnly);

  std::vector<SingleInputGate*> gates_;
  std::vector<int32_t> offsets_;
  std::vector<uint8_t> queued_;       ///< by gate: is in turn_
  std::shared_ptr<GateSignals> signals_ = std::make_shared<GateSignals>();
  PrioritizedDeque<uint32_t> turn_;  ///< gates with something to read
  int32_t channels_ = 0;
};

}  // namespace weir
