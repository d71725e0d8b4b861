#include "operator_state_repartitioner.h"

#include <algorithm>
#include <map>
#include <string>

#include "weir/exchange/java_hash.h"

namespace weir {

namespace {

/// One state of one old subtask, with the stream that holds it.
struct Part {
  size_t source;  ///< position among all old handles
  const OperatorStateHandle::State* state;
};
struct NamedState {
  std::string name;
  std::vector<Part> parts;  ///< by old subtask
};

/// Puts names into the order of a java.util.HashMap that they were added to one by one: the start of a split rotates in this order, so that
/// it decides who gets the odd elements.
void sortAsJavaHashMap(std::vector<NamedState>& states) {
  size_t buckets = 16;
  while (states.size() > buckets * 3 / 4) buckets *= 2;
  auto bucketOf = [&](const NamedState& s) {
    const auto hash = static_cast<uint32_t>(javaHash(s.name));
    return (hash ^ hash >> 16) & (buckets - 1);
  };
  std::stable_sort(states.begin(), states.end(), [&](const NamedState& a, const NamedState& b) { return bucketOf(a) < bucketOf(b); });
}

/// Collects what the new subtasks get: for each the old handles by position, with the parts of them.
class Redistribution {
 public:
  Redistribution(const OperatorState& state, OperatorHandles member, size_t newParallelism)
      : parallelism_(newParallelism), sameParallelism_(static_cast<size_t>(state.parallelism) == newParallelism), taken_(newParallelism) {
    for (const auto& [index, subtask] : state.subtasks) {
      for (const auto& handle : subtask.*member) {
        for (const auto& s : handle.states) stateOf(s).parts.push_back({sources_.size(), &s});
        sources_.push_back(&handle);
        owners_.push_back(static_cast<size_t>(index));
      }
    }
  }

  void run() {
    for (auto* states : {&split_, &union_, &broadcast_}) sortAsJavaHashMap(*states);
    if (sameParallelism_)
      keepSplit();
    else
      cutSplit();
    for (const auto& state : union_)
      for (size_t i = 0; i < parallelism_; ++i)
        for (const Part& part : state.parts) take(i, part, part.state->offsets);
    for (const auto& state : broadcast_) copyBroadcast(state);
  }

  void finish(OperatorHandles member, std::vector<OperatorSubtaskState>& into) {
    for (size_t i = 0; i < parallelism_; ++i) {
      for (auto& [source, states] : taken_[i]) (into[i].*member).push_back({std::move(states), sources_[source]->stream});
    }
  }

 private:
  NamedState& stateOf(const OperatorStateHandle::State& s) {
    auto& states = s.mode == OperatorStateMode::kSplit ? split_ : s.mode == OperatorStateMode::kUnion ? union_ : broadcast_;
    const auto known = std::find_if(states.begin(), states.end(), [&](const NamedState& n) { return n.name == s.name; });
    return known != states.end() ? *known : states.emplace_back(NamedState{s.name, {}});
  }

  void take(size_t newSubtask, const Part& part, std::vector<int64_t> offsets) {
    taken_[newSubtask][part.source].push_back({part.state->name, part.state->mode, std::move(offsets)});
  }

  void keepSplit() {
    for (const auto& state : split_)
      for (const Part& part : state.parts) take(owners_[part.source], part, part.state->offsets);
  }

  void cutSplit() {
    size_t start = 0;
    for (const auto& state : split_) {
      size_t total = 0;
      for (const Part& part : state.parts) total += part.state->offsets.size();
      auto part = state.parts.begin();
      size_t at = 0;  // in the offsets of *part
      for (size_t i = 0; i < parallelism_; ++i) {
        size_t wanted = total / parallelism_ + (i < total % parallelism_ ? 1 : 0);
        while (wanted > 0) {
          const auto& offsets = part->state->offsets;
          const size_t n = std::min(wanted, offsets.size() - at);
          const auto from = offsets.begin() + static_cast<ptrdiff_t>(at);
          if (n > 0) take((start + i) % parallelism_, *part, {from, from + static_cast<ptrdiff_t>(n)});
          wanted -= n;
          at += n;
          if (at == offsets.size()) ++part, at = 0;
        }
      }
      // The next state goes on with the first who got no odd element.
      start = (start + total % parallelism_) % parallelism_;
    }
  }

  void copyBroadcast(const NamedState& state) {
    for (size_t i = 0; i < parallelism_; ++i) {
      const Part* copy = &state.parts[i % state.parts.size()];
      if (sameParallelism_) {
        // One's own, unless the subtask had finished and left none.
        for (const Part& part : state.parts)
          if (owners_[part.source] == i) copy = &part;
      }
      take(i, *copy, copy->state->offsets);
    }
  }

  const size_t parallelism_;
  const bool sameParallelism_;
  std::vector<const OperatorStateHandle*> sources_;
  std::vector<size_t> owners_;  ///< old subtask of each source
  std::vector<NamedState> split_, union_, broadcast_;
  std::vector<std::map<size_t, std::vector<OperatorStateHandle::State>>> taken_;  ///< per new subtask, by source
};

}  // namespace

void redistributeOperatorState(const OperatorState& state, OperatorHandles member, std::vector<OperatorSubtaskState>& into) {
  Redistribution redistribution(state, member, into.size());
  redistribution.run();
  redistribution.finish(member, into);
}

}  // namespace weir
