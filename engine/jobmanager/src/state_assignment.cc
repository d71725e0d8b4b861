#include "weir/jobmanager/state_assignment.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace weir {
namespace {

/// The part of an operator state that every subtask gets; nothing where it has no union state.
std::optional<OperatorStateHandle> unionPart(const OperatorStateHandle& handle) {
  OperatorStateHandle part;
  for (const OperatorStateHandle::State& state : handle.states) {
    if (state.mode == OperatorStateMode::kUnion) part.states.push_back(state);
  }
  if (part.states.empty()) return std::nullopt;
  part.stream = handle.stream;
  return part;
}

struct UnionPart {
  int32_t subtask;
  OperatorStateHandle handle;
};

/// One operator of the checkpoint with what its subtasks share.
struct Source {
  const OperatorState* state = nullptr;
  std::vector<UnionPart> unions;
};

OperatorSubtaskState stateOf(const Source& source, int32_t subtask) {
  OperatorSubtaskState out;
  if (const auto found = source.state->subtasks.find(subtask); found != source.state->subtasks.end()) out = found->second;
  for (const UnionPart& part : source.unions) {
    if (part.subtask != subtask) out.managedOperator.push_back(part.handle);
  }
  return out;
}

class Assignment {
 public:
  Assignment(const CompletedCheckpoint& checkpoint, const CheckpointTopology& topology) : checkpoint_(checkpoint), topology_(topology) {}

  Result<void> prepare(bool allowNonRestoredState) {
    for (const OperatorState& state : checkpoint_.operators) {
      Source& source = sources_[state.id];
      source.state = &state;
      for (const auto& [subtask, part] : state.subtasks) {
        for (const OperatorStateHandle& handle : part.managedOperator) {
          if (auto shared = unionPart(handle)) source.unions.push_back({subtask, std::move(*shared)});
        }
      }
    }
    size_t known = 0;
    for (const CheckpointVertex& vertex : topology_.vertices) {
      for (const ChainedOperator& op : vertex.operators) {
        const auto found = sources_.find(op.id);
        if (found == sources_.end()) continue;
        ++known;
        WEIR_TRY(check(vertex, op, *found->second.state));
      }
    }
    if (known == sources_.size() || allowNonRestoredState) return {};
    return unknownOperator();
  }

  RestoredTask assign(int32_t task) const {
    const CheckpointVertex& vertex = topology_.vertexOf(task);
    const int32_t subtask = task - vertex.firstTask;
    auto snapshot = std::make_shared<TaskStateSnapshot>();
    snapshot->finishedOnRestore = !vertex.operators.empty();
    for (const ChainedOperator& op : vertex.operators) {
      const auto found = sources_.find(op.id);
      if (found == sources_.end() || !found->second.state->fullyFinished) snapshot->finishedOnRestore = false;
      if (found != sources_.end()) snapshot->operators.emplace(op.id, stateOf(found->second, subtask));
    }
    return {checkpoint_.id, std::move(snapshot)};
  }

 private:
  Error error(std::string why) const {
    return {ErrorCode::kInvalidArgument, fmt::format("Failed to rollback to checkpoint/savepoint {}. {}", checkpoint_.toString(), why)};
  }

  Result<void> check(const CheckpointVertex& vertex, const ChainedOperator& op, const OperatorState& state) const {
    if (state.subtasks.empty()) return {};
    if (state.maxParallelism != vertex.maxParallelism) {
      return error(
          fmt::format("Max parallelism mismatch between checkpoint/savepoint state and new program. Cannot map operator {} with max "
                      "parallelism {} to new program with max parallelism {}. This indicates that the program has been changed in a "
                      "non-compatible way after the checkpoint/savepoint.",
                      op.id.toString(), state.maxParallelism, vertex.maxParallelism));
    }
    if (state.parallelism != vertex.parallelism) {
      return error(fmt::format("Operator {} ('{}') had parallelism {} and has {} now; start the job with the old one.", op.id.toString(),
                               vertex.name, state.parallelism, vertex.parallelism));
    }
    return {};
  }

  Error unknownOperator() const {
    std::map<OperatorID, const OperatorState*> unknown;
    for (const auto& [id, source] : sources_) unknown.emplace(id, source.state);
    for (const CheckpointVertex& vertex : topology_.vertices) {
      for (const ChainedOperator& op : vertex.operators) unknown.erase(op.id);
    }
    return error(
        fmt::format("Cannot map checkpoint/savepoint state for operator {} to the new program, because the operator is not available in "
                    "the new program. If you want to allow to skip this, you can set the --allowNonRestoredState option on the CLI.",
                    unknown.begin()->first.toString()));
  }

  const CompletedCheckpoint& checkpoint_;
  const CheckpointTopology& topology_;
  std::map<OperatorID, Source> sources_;
};

}  // namespace

Result<std::vector<RestoredTask>> assignStates(const CompletedCheckpoint& checkpoint, const CheckpointTopology& topology,
                                               std::span<const int32_t> tasks, bool allowNonRestoredState) {
  Assignment assignment(checkpoint, topology);
  WEIR_TRY(assignment.prepare(allowNonRestoredState));
  std::vector<RestoredTask> restored;
  restored.reserve(tasks.size());
  for (const int32_t task : tasks) restored.push_back(assignment.assign(task));
  return restored;
}

}  // namespace weir
