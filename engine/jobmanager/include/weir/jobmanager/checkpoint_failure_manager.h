#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "weir/base/log.h"
#include "weir/jobmanager/checkpoint_environment.h"
#include "weir/jobmanager/completed_checkpoint.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

/// Counts consecutive failed checkpoints and fails the job when there are more than it tolerates.
///
/// Flink: CheckpointFailureManager. Only IO_EXCEPTION, CHECKPOINT_ASYNC_EXCEPTION, CHECKPOINT_DECLINED, CHECKPOINT_EXPIRED and
/// FINALIZE_CHECKPOINT_FAILURE count; an id counts once; a completed newer checkpoint starts again at 0.
///
/// Threads: the JobMaster's actor.
class CheckpointFailureManager {
 public:
  static constexpr int64_t kUnknownCheckpointId = -1;

  CheckpointFailureManager(LogSink& log, const JobID& job, int32_t tolerable, CheckpointFailureCallback callback);

  /// `task`: who is to blame, if it was a task.
  void handleCheckpointException(int64_t checkpointId, const CheckpointProperties& properties, const CheckpointException& why,
                                 const std::optional<ExecutionAttemptID>& task);
  void handleCheckpointSuccess(int64_t checkpointId);
  int32_t consecutiveFailures() const { return consecutive_; }

 private:
  void log(int64_t checkpointId, const CheckpointException& why) const;
  /// True if the job has to fail.
  bool count(int64_t checkpointId, CheckpointFailureReason reason);

  Logger logger_;
  const std::string job_;
  const int32_t tolerable_;
  const CheckpointFailureCallback callback_;
  int32_t consecutive_ = 0;
  int64_t lastSucceeded_ = 0;
  std::set<int64_t> counted_;
};

}  // namespace weir
