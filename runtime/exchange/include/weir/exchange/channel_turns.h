#pragma once

#include <cstdint>
#include <vector>

#include "weir/exchange/prioritized_deque.h"

namespace weir {

/// Whose turn it is among the channels of a gate: each is in here at most once, those with a priority event in front.
///
/// Flink: the PrioritizedDeque of SingleInputGate. Differs: every step takes constant time, however many channels a barrier overtakes in.
/// A channel that gains priority leaves its place among the others behind; it is passed over when it comes up, unless the channel has come
/// back by then without priority, and so has it again. Threads: none of its own.
class ChannelTurns {
 public:
  /// Once, before the first add.
  void resize(size_t channels) { states_.resize(channels); }
  bool empty() const { return size_ == 0; }
  bool hasPriority() const { return !priority_.empty(); }
  bool contains(uint32_t channel) const { return states_[channel].in != In::kNone; }

  /// Does nothing where the channel is in already, unless it gains priority.
  void add(uint32_t channel, bool priority) {
    State& state = states_[channel];
    if (state.in != In::kNone && (!priority || state.in == In::kPriority)) return;
    if (state.in == In::kNone) ++size_;
    if (priority) {
      state.in = In::kPriority;
      priority_.pushBack(channel);
    } else {
      state.in = In::kOthers;
      if (!state.hasPlace) others_.pushBack(channel);
      state.hasPlace = true;
    }
  }
  /// Requires: not empty.
  uint32_t popFront() {
    WEIR_CHECK(size_ > 0);
    --size_;
    uint32_t channel = 0;
    if (!priority_.empty()) {
      channel = priority_.popFront();
    } else {
      do {
        channel = others_.popFront();
        states_[channel].hasPlace = false;
      } while (states_[channel].in != In::kOthers);
    }
    states_[channel].in = In::kNone;
    return channel;
  }
  /// Calls with the channel `ahead` places behind the front, where there is one: to touch its memory early. It may be one that is passed
  /// over.
  template <class F>
  void lookAhead(uint32_t ahead, const F& f) const {
    if (ahead < priority_.size()) f(priority_.at(ahead));
    else if (ahead - priority_.size() < others_.size()) f(others_.at(ahead - priority_.size()));
  }
  void clear() {
    while (!empty()) (void)popFront();
  }

 private:
  enum class In : uint8_t { kNone, kOthers, kPriority };
  struct State {
    In in = In::kNone;
    bool hasPlace = false;  ///< in others_
  };

  std::vector<State> states_;
  PrioritizedDeque<uint32_t> priority_, others_;  ///< as plain rings
  uint32_t size_ = 0;
};

}  // namespace weir
