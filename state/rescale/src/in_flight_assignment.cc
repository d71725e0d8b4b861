#include "in_flight_assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "weir/base/check.h"
#include "weir/rescale/subtask_state_mapper.h"

namespace weir {
namespace {

using Handles = std::vector<ChannelStateHandle> OperatorSubtaskState::*;
/// By subtask of now: the subtasks of before.
using Mapping = std::vector<std::vector<int32_t>>;

/// The in-flight data of one end of a vertex: its inputs or its outputs.
class Side {
 public:
  Side(const OperatorState* state, Handles member, int32_t newParallelism)
      : state_(state), member_(member), newParallelism_(newParallelism), taken_(static_cast<size_t>(newParallelism)) {}

  int32_t oldParallelism() const { return state_ ? state_->parallelism : newParallelism_; }
  int32_t newParallelism() const { return newParallelism_; }
  bool changed() const { return oldParallelism() != newParallelism_; }
  bool holds(int32_t gateOrPartition) const {
    bool found = false;
    forEachChannel([&](const ChannelStateHandle&, const ChannelStateHandle::Channel& c) { found |= c.gateOrPartition == gateOrPartition; });
    return found;
  }

  Result<Mapping> mapping(SubtaskStateMapper mapper) const {
    Mapping all;
    for (int32_t i = 0; i < newParallelism_; ++i) {
      std::vector<int32_t> old{i};
      if (changed()) {
        WEIR_ASSIGN(old, oldSubtasksOf(mapper, i, oldParallelism(), newParallelism_));
      }
      all.push_back(std::move(old));
    }
    return all;
  }

  /// Each subtask takes the channels of a gate or partition over from those in `mapping`.
  void take(int32_t gateOrPartition, const Mapping& mapping) {
    handled_.push_back(gateOrPartition);
    for (size_t i = 0; i < mapping.size(); ++i) {
      forEachChannel([&](const ChannelStateHandle& handle, const ChannelStateHandle::Channel& channel) {
        if (channel.gateOrPartition != gateOrPartition) return;
        if (std::find(mapping[i].begin(), mapping[i].end(), handle.subtask) != mapping[i].end()) taken_[i][&handle].push_back(channel);
      });
    }
  }

  /// What no edge has taken stays where it was; false where that cannot be.
  bool takeTheRest() {
    bool fits = true;
    forEachChannel([&](const ChannelStateHandle& handle, const ChannelStateHandle::Channel& channel) {
      if (std::find(handled_.begin(), handled_.end(), channel.gateOrPartition) != handled_.end()) return;
      if (changed() || handle.subtask >= newParallelism_) fits = false;
      else taken_[static_cast<size_t>(handle.subtask)][&handle].push_back(channel);
    });
    return fits;
  }

  void finish(RestoreAssignment& into) const {
    if (!state_ || state_->fullyFinished) return;
    for (size_t i = 0; i < taken_.size(); ++i) {
      auto& handles = into.subtasks[i].operators[state_->id].*member_;
      handles.clear();
      forEachHandle([&](const ChannelStateHandle& old) {  // in the order of the checkpoint, not of addresses
        const auto found = taken_[i].find(&old);
        if (found == taken_[i].end()) return;
        ChannelStateHandle handle{old.subtask, 0, old.stream, found->second};
        for (const auto& channel : handle.channels) handle.size += channel.size;
        handles.push_back(std::move(handle));
      });
    }
  }

 private:
  template <class F>
  void forEachHandle(F&& visit) const {
    if (!state_) return;
    for (const auto& [index, subtask] : state_->subtasks)
      for (const ChannelStateHandle& handle : subtask.*member_) visit(handle);
  }
  template <class F>
  void forEachChannel(F&& visit) const {
    forEachHandle([&](const ChannelStateHandle& handle) {
      for (const auto& channel : handle.channels) visit(handle, channel);
    });
  }

  const OperatorState* state_;  ///< of the operator that has it; null: it was not in the checkpoint
  const Handles member_;
  const int32_t newParallelism_;
  std::vector<int32_t> handled_;  ///< gates or partitions
  std::vector<std::map<const ChannelStateHandle*, std::vector<ChannelStateHandle::Channel>>> taken_;  ///< by new subtask
};

/// Old subtasks that several new ones take over.
std::set<int32_t> shared(const Mapping& mapping) {
  std::set<int32_t> once, several;
  for (const auto& old : mapping)
    for (const int32_t subtask : old)
      if (!once.insert(subtask).second) several.insert(subtask);
  return several;
}

void describe(std::vector<TaskStateSnapshot>& subtasks, std::vector<InFlightRescaling> TaskStateSnapshot::*member, int32_t gateOrPartition,
              const Mapping& own, const Mapping& others, const std::set<int32_t>& ambiguous) {
  for (size_t i = 0; i < subtasks.size(); ++i) {
    auto& all = subtasks[i].*member;
    if (all.size() <= static_cast<size_t>(gateOrPartition)) all.resize(static_cast<size_t>(gateOrPartition) + 1);
    InFlightRescaling& rescaling = all[static_cast<size_t>(gateOrPartition)];
    rescaling.oldSubtasks = own[i];
    rescaling.oldChannels = others;
    for (const int32_t old : own[i])
      if (ambiguous.contains(old)) rescaling.ambiguous.insert(old);
  }
}

/// One edge: where the parallelism of an end has changed, both ends agree on who takes over which logical channel.
Result<void> assignEdge(Side& sender, int32_t partition, Side& receiver, int32_t gate, PartitionerKind kind, RestoreAssignment& senders,
                        RestoreAssignment& receivers) {
  if (!sender.changed() && !receiver.changed()) return {};
  if (!sender.holds(partition) && !receiver.holds(gate)) return {};  // then it does not matter whether it could be rescaled
  const PartitionerTraits traits = traitsOf(kind);
  WEIR_ASSIGN(const Mapping ofSenders, sender.mapping(traits.upstream));
  WEIR_ASSIGN(const Mapping ofReceivers, receiver.mapping(traits.downstream));
  sender.take(partition, ofSenders);
  receiver.take(gate, ofReceivers);
  const std::set<int32_t> ambiguous = isAmbiguous(traits.downstream) ? shared(ofReceivers) : std::set<int32_t>{};
  describe(senders.subtasks, &TaskStateSnapshot::outputRescaling, partition, ofSenders, ofReceivers, {});
  describe(receivers.subtasks, &TaskStateSnapshot::inputRescaling, gate, ofReceivers, ofSenders, ambiguous);
  return {};
}

Error misplaced(const RestoreTarget& target, const OperatorState& state) {
  return {
      ErrorCode::kInvalidArgument,
      fmt::format("Cannot recover from unaligned checkpoint when topology changes, such that data exchanges with persisted data are now "
                  "chained. The operator {} of task {} has in-flight data of an exchange that is none any more; keep its chain, or take "
                  "an aligned checkpoint or a savepoint first.",
                  state.name.empty() ? state.id.toString() : state.name, target.name)};
}

bool has(const OperatorState& state, Handles member) {
  return std::any_of(state.subtasks.begin(), state.subtasks.end(), [&](const auto& subtask) { return !(subtask.second.*member).empty(); });
}

/// The state of the operator that has the in-flight data of this end of the chain; an error where another one has some.
Result<const OperatorState*> ownerOf(const std::vector<const OperatorState*>& states, const RestoreTarget& target, Handles member,
                                     const OperatorID& owner) {
  const OperatorState* found = nullptr;
  for (const OperatorState* state : states) {
    if (state->id == owner) found = state;
    else if (has(*state, member)) return misplaced(target, *state);
  }
  return found;
}

}  // namespace

Result<void> assignInFlightData(const std::vector<std::vector<const OperatorState*>>& states, const std::vector<RestoreTarget>& targets,
                                std::vector<RestoreAssignment>& assignments) {
  std::vector<Side> inputs, outputs;
  for (size_t t = 0; t < targets.size(); ++t) {
    if (targets[t].operators.empty()) {
      inputs.emplace_back(nullptr, &OperatorSubtaskState::inputChannels, targets[t].parallelism);
      outputs.emplace_back(nullptr, &OperatorSubtaskState::outputChannels, targets[t].parallelism);
      continue;
    }
    WEIR_ASSIGN(const auto head, ownerOf(states[t], targets[t], &OperatorSubtaskState::inputChannels, targets[t].operators.front()));
    WEIR_ASSIGN(const auto tail, ownerOf(states[t], targets[t], &OperatorSubtaskState::outputChannels, targets[t].operators.back()));
    inputs.emplace_back(head, &OperatorSubtaskState::inputChannels, targets[t].parallelism);
    outputs.emplace_back(tail, &OperatorSubtaskState::outputChannels, targets[t].parallelism);
  }
  for (size_t t = 0; t < targets.size(); ++t) {
    for (size_t gate = 0; gate < targets[t].inputs.size(); ++gate) {
      const RestoreTarget::Input& input = targets[t].inputs[gate];
      if (input.producer < 0) continue;
      const auto producer = static_cast<size_t>(input.producer);
      auto done = assignEdge(outputs[producer], input.partition, inputs[t], static_cast<int32_t>(gate), input.partitioner,
                             assignments[producer], assignments[t]);
      if (done.has_error())
        return done.error().in(fmt::format("the in-flight data from task {} to task {}", targets[producer].name, targets[t].name));
    }
  }
  for (size_t t = 0; t < targets.size(); ++t) {
    for (Side* side : {&inputs[t], &outputs[t]}) {
      if (!side->takeTheRest())
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("The checkpoint holds in-flight data of task {} on an input or output that it has no more; keep its "
                                 "connections, or take an aligned checkpoint or a savepoint first.",
                                 targets[t].name)};
      side->finish(assignments[t]);
    }
  }
  return {};
}

}  // namespace weir
