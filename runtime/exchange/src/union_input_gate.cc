#include "weir/exchange/union_input_gate.h"

#include <algorithm>

namespace weir {

UnionInputGate::UnionInputGate(std::vector<SingleInputGate*> gates) : gates_(std::move(gates)), queued_(gates_.size(), 0) {
  WEIR_CHECK_GE(gates_.size(), 2u);
  for (SingleInputGate* gate : gates_) {
    offsets_.push_back(channels_);
    channels_ += gate->numberOfChannels();
    gate->joinUnion(signals_);
  }
}

bool UnionInputGate::collectReady(bool priorityOnly) {
  for (uint32_t i = 0; i < gates_.size(); ++i) {
    if (gates_[i]->isFinished() || !gates_[i]->refresh()) continue;
    if (!queued_[i]) turn_.pushBack(i);
    queued_[i] = 1;
  }
  return priorityOnly ? std::any_of(gates_.begin(), gates_.end(), [](const auto* gate) { return gate->hasPriorityQueued(); })
                      : !turn_.empty();
}

std::optional<BufferOrEvent> UnionInputGate::poll(bool priorityOnly) {
  if (isFinished()) return std::nullopt;
  if (!collectReady(priorityOnly)) {
    Signal& signal = priorityOnly ? priorityAvailable() : available();
    if (!signal.isSet()) return std::nullopt;
    signal.reset();
    for (SingleInputGate* gate : gates_) gate->takeReportedAfterReset();
    if (!collectReady(priorityOnly)) return std::nullopt;
  }
  while (true) {
    // A gate with a priority event goes first, wherever it stands.
    uint32_t position = 0;
    while (position < turn_.size() && !gates_[turn_.at(position)]->hasPriorityQueued()) ++position;
    if (position == turn_.size()) {
      if (priorityOnly || turn_.empty()) return std::nullopt;
      position = 0;
    }
    const uint32_t index = turn_.remove(position);
    queued_[index] = 0;
    SingleInputGate& gate = *gates_[index];
    std::optional<BufferOrEvent> next = priorityOnly ? gate.pollPriority() : gate.pollNext();
    if (gate.looksReady() && !gate.isFinished()) {
      turn_.pushBack(index);
      queued_[index] = 1;
    }
    if (!next) continue;
    next->channelIndex += offsets_[index];
    next->moreAvailable =
        !turn_.empty() || std::any_of(gates_.begin(), gates_.end(), [](const auto* g) { return !g->isFinished() && g->looksReady(); });
    next->morePriorityEvents = std::any_of(gates_.begin(), gates_.end(), [](const auto* g) { return g->hasPriorityQueued(); });
    return next;
  }
}

bool UnionInputGate::isFinished() const {
  return std::all_of(gates_.begin(), gates_.end(), [](const auto* gate) { return gate->isFinished(); });
}

EndOfDataStatus UnionInputGate::hasReceivedEndOfData() const {
  EndOfDataStatus all = EndOfDataStatus::kDrained;
  for (const SingleInputGate* gate : gates_) {
    const EndOfDataStatus status = gate->hasReceivedEndOfData();
    if (status == EndOfDataStatus::kNotEndOfData) return status;
    if (status == EndOfDataStatus::kStopped) all = status;
  }
  return all;
}

InputChannel& UnionInputGate::channel(int32_t index) {
  const auto gate = std::upper_bound(offsets_.begin(), offsets_.end(), index) - offsets_.begin() - 1;
  return gates_[gate]->channel(index - offsets_[gate]);
}

int32_t UnionInputGate::channelIndexOf(InputChannelInfo info) const {
  for (size_t i = 0; i < gates_.size(); ++i)
    if (gates_[i]->gateIndex() == info.gate) return offsets_[i] + info.channel;
  WEIR_CHECK(false, "gate {} is not part of this union", info.gate);
  return -1;
}

std::optional<Millis> UnionInputGate::requestPartitions() {
  std::optional<Millis> pause;
  for (SingleInputGate* gate : gates_)
    if (const auto one = gate->requestPartitions()) pause = pause ? std::min(*pause, *one) : *one;
  return pause;
}

void UnionInputGate::close() {
  for (SingleInputGate* gate : gates_) gate->close();
}

}  // namespace weir
