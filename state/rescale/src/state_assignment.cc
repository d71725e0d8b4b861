#include "weir/rescale/state_assignment.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "in_flight_assignment.h"
#include "operator_state_repartitioner.h"
#include "weir/base/check.h"
#include "weir/exchange/key_groups.h"

namespace weir {

bool cutToRange(KeyedHandle& handle, KeyGroupRange range) {
  if (auto* groups = std::get_if<KeyGroupsHandle>(&handle)) {
    const KeyGroupRange cut = groups->range.intersect(range);
    if (cut.size() == 0) return false;
    const auto first = groups->offsets.begin() + (cut.first - groups->range.first);
    groups->offsets = std::vector<int64_t>(first, first + cut.size());
    groups->range = cut;
    return true;
  }
  // Files of a RocksDB are opened whole; the backend keeps what is in its range.
  return std::get<RocksDbHandle>(handle).range.intersect(range).size() > 0;
}

namespace {

using KeyedHandles = std::vector<KeyedHandle> OperatorSubtaskState::*;

void redistributeKeyed(const OperatorState& state, KeyedHandles member, std::vector<OperatorSubtaskState>& into) {
  const auto ranges = keyGroupRanges(static_cast<int32_t>(into.size()), state.maxParallelism);
  for (size_t i = 0; i < into.size(); ++i) {
    for (const auto& [index, old] : state.subtasks) {
      for (KeyedHandle handle : old.*member)
        if (cutToRange(handle, ranges[i])) (into[i].*member).push_back(std::move(handle));
    }
  }
}

bool isEmpty(const OperatorState& state) {
  if (!std::holds_alternative<std::monostate>(state.coordinatorState)) return false;
  for (const auto& [index, subtask] : state.subtasks)
    if (!subtask.empty()) return false;
  return true;
}

Result<void> checkParallelism(const OperatorState& state, const RestoreTarget& target, int32_t maxParallelism) {
  if (state.maxParallelism < target.parallelism) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("The state for task {} can not be restored. The maximum parallelism ({}) of the restored state is lower than the "
                    "configured parallelism ({}). Please reduce the parallelism of the task to be lower or equal to the maximum "
                    "parallelism.",
                    target.name, state.maxParallelism, target.parallelism)};
  }
  if (state.maxParallelism != maxParallelism) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("The maximum parallelism ({}) with which the latest checkpoint of the execution job vertex {} has been taken and "
                    "the current maximum parallelism ({}) changed. This is currently not supported.",
                    state.maxParallelism, target.name, maxParallelism)};
  }
  return {};
}

Result<RestoreAssignment> assign(const std::vector<const OperatorState*>& states, const RestoreTarget& target) {
  RestoreAssignment assignment;
  assignment.maxParallelism = target.maxParallelism;
  assignment.subtasks.resize(static_cast<size_t>(target.parallelism));
  if (states.empty()) return assignment;
  if (!target.maxParallelismConfigured) assignment.maxParallelism = states.front()->maxParallelism;
  size_t finished = 0;
  for (const OperatorState* state : states) {
    WEIR_TRY(checkParallelism(*state, target, assignment.maxParallelism));
    if (state->fullyFinished) {
      ++finished;
      continue;
    }
    auto parts = redistribute(*state, target.parallelism);
    for (size_t i = 0; i < parts.size(); ++i) assignment.subtasks[i].operators[state->id] = std::move(parts[i]);
  }
  if (finished == states.size() && finished == target.operators.size()) {
    for (auto& subtask : assignment.subtasks) subtask.finishedOnRestore = true;
  } else if (finished > 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("Task {} mixes operators that were finished in the checkpoint with others, which were not; keep finished operators in "
                    "tasks of their own.",
                    target.name)};
  }
  return assignment;
}

}  // namespace

std::vector<OperatorSubtaskState> redistribute(const OperatorState& state, int32_t newParallelism) {
  WEIR_CHECK(newParallelism >= 1 && newParallelism <= state.maxParallelism);
  std::vector<OperatorSubtaskState> into(static_cast<size_t>(newParallelism));
  redistributeOperatorState(state, &OperatorSubtaskState::managedOperator, into);
  redistributeOperatorState(state, &OperatorSubtaskState::rawOperator, into);
  if (newParallelism != state.parallelism) {
    redistributeKeyed(state, &OperatorSubtaskState::managedKeyed, into);
    redistributeKeyed(state, &OperatorSubtaskState::rawKeyed, into);
    return into;
  }
  for (const auto& [index, old] : state.subtasks) {
    auto& subtask = into[static_cast<size_t>(index)];
    subtask.managedKeyed = old.managedKeyed;
    subtask.rawKeyed = old.rawKeyed;
  }
  return into;
}

Result<std::vector<RestoreAssignment>> assignStates(const std::vector<OperatorState>& states, const std::vector<RestoreTarget>& targets,
                                                    bool allowNonRestoredState, const std::string& checkpoint) {
  std::map<OperatorID, const OperatorState*> byId;
  for (const auto& state : states) byId[state.id] = &state;
  std::vector<RestoreAssignment> assignments;
  std::vector<std::vector<const OperatorState*>> ownStates;
  std::set<OperatorID> used;
  for (const auto& target : targets) {
    std::vector<const OperatorState*> own;
    for (const OperatorID& id : target.operators) {
      const auto found = byId.find(id);
      if (found == byId.end()) continue;
      own.push_back(found->second);
      used.insert(id);
    }
    WEIR_ASSIGN(auto assignment, assign(own, target));
    assignments.push_back(std::move(assignment));
    ownStates.push_back(std::move(own));
  }
  WEIR_TRY(assignInFlightData(ownStates, targets, assignments));
  for (const auto& state : states) {
    if (used.contains(state.id) || allowNonRestoredState || isEmpty(state)) continue;
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("Failed to rollback to checkpoint/savepoint {}. Cannot map checkpoint/savepoint state for operator {} to the new "
                    "program, because the operator is not available in the new program. If you want to allow to skip this, you can set "
                    "the --allowNonRestoredState option on the CLI.",
                    checkpoint, state.id.toString())};
  }
  return assignments;
}

}  // namespace weir
