#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// State of a job, spelled as Flink spells it (CANCELLING with two L, unlike a task's CANCELING). Flink: JobStatus.
enum class JobStatus : uint8_t {
  kInitializing,
  kCreated,
  kRunning,
  kFailing,
  kFailed,
  kCancelling,
  kCanceled,
  kFinished,
  kRestarting,
};

constexpr std::string_view toString(JobStatus status) {
  constexpr std::string_view kNames[] = {"INITIALIZING", "CREATED",  "RUNNING",  "FAILING",   "FAILED",
                                         "CANCELLING",   "CANCELED", "FINISHED", "RESTARTING"};
  return kNames[static_cast<size_t>(status)];
}

/// Nothing follows any more.
constexpr bool isTerminal(JobStatus status) {
  return status == JobStatus::kFailed || status == JobStatus::kCanceled || status == JobStatus::kFinished;
}

}  // namespace weir
