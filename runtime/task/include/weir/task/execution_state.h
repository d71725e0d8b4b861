#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// State of one execution attempt, spelled as Flink spells it. Flink: ExecutionState.
enum class ExecutionState : uint8_t {
  kCreated,
  kScheduled,
  kDeploying,
  kInitializing,
  kRunning,
  kFinished,
  kCanceling,
  kCanceled,
  kFailed,
};

constexpr std::string_view toString(ExecutionState state) {
  constexpr std::string_view kNames[] = {"CREATED",  "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING",
                                         "FINISHED", "CANCELING", "CANCELED",  "FAILED"};
  return kNames[static_cast<size_t>(state)];
}

constexpr bool isTerminal(ExecutionState state) {
  return state == ExecutionState::kFinished || state == ExecutionState::kCanceled || state == ExecutionState::kFailed;
}

}  // namespace weir
