#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "limits/common.hpp"
#include "support/job.h"
#include "weir/jobmanager/checkpoint_coordinator.h"

namespace weir::bench {

/// A folder of its own for checkpoints, gone at the end.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / ("weir-bench-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline void sleepFor(ExecutionContext& context, Nanos duration) {
  context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + duration));
}

/// Waits until every task runs.
inline void awaitRunning(ExecutionContext& context, JobMaster& master) {
  for (;;) {
    const auto reply = master.requestSnapshot();
    context.wait(WaitReason::kInputOrMail, {&reply->ready()});
    const JobSnapshot now = reply->take();
    if (now.status == JobStatus::kRunning &&
        std::all_of(now.tasks.begin(), now.tasks.end(), [](const auto& task) { return task.current.state == ExecutionState::kRunning; }))
      return;
    sleepFor(context, Millis(1));
  }
}

struct TakenCheckpoint {
  uint64_t nanos = 0;
  int64_t inFlightBytes = 0;  ///< with their lengths
};

/// Triggers one and waits for it; from its trigger to its completion on the JobMaster.
inline TakenCheckpoint takeCheckpoint(ExecutionContext& context, JobMaster& master) {
  struct Shared {
    Signal done{"done"};
    uint64_t start = 0, end = 0;
    std::shared_ptr<const CompletedCheckpoint> completed;
  };
  const auto shared = std::make_shared<Shared>();
  master.withCoordinator([shared](CheckpointCoordinator* coordinator) {
    shared->start = now_ns();
    coordinator->triggerCheckpoint(SnapshotType::kCheckpoint, [shared](const CheckpointOutcome& outcome) {
      shared->end = now_ns();
      if (const auto* completed = std::get_if<std::shared_ptr<const CompletedCheckpoint>>(&outcome)) shared->completed = *completed;
      shared->done.set();
    });
  });
  context.wait(WaitReason::kInputOrMail, {&shared->done});
  if (!shared->completed) Jobs::exitWith("a checkpoint failed");
  TakenCheckpoint taken{.nanos = shared->end - shared->start};
  for (const OperatorState& op : shared->completed->operators)
    for (const auto& [index, subtask] : op.subtasks)
      for (const auto* handles : {&subtask.inputChannels, &subtask.outputChannels})
        for (const ChannelStateHandle& handle : *handles) taken.inFlightBytes += handle.size;
  return taken;
}

}  // namespace weir::bench
