#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/base/error.h"

namespace weir {

/// Why a checkpoint did not complete. Flink: CheckpointFailureReason.
enum class CheckpointFailureReason {
  kPeriodicSchedulerShutdown,
  kTooManyCheckpointRequests,
  kMinimumTimeBetweenCheckpoints,
  kNotAllRequiredTasksRunning,
  kIoException,
  kBlockingOutputExist,
  kCheckpointAsyncException,
  kChannelStateSharedStreamException,
  kCheckpointExpired,
  kCheckpointSubsumed,
  kCheckpointDeclined,
  kCheckpointDeclinedTaskNotReady,
  kCheckpointDeclinedTaskClosing,
  kCheckpointDeclinedSubsumed,
  kCheckpointDeclinedOnCancellationBarrier,
  kCheckpointDeclinedInputEndOfStream,
  kCheckpointCoordinatorShutdown,
  kCheckpointCoordinatorSuspend,
  kJobFailoverRegion,
  kTaskFailure,
  kTaskCheckpointFailure,
  kUnknownTaskCheckpointNotificationFailure,
  kFinalizeCheckpointFailure,
  kTriggerCheckpointFailure,
};

/// Flink's sentence for the reason.
std::string_view messageOf(CheckpointFailureReason reason);
/// Failed before any task was contacted.
bool isPreFlight(CheckpointFailureReason reason);
/// Counts towards execution.checkpointing.tolerable-failed-checkpoints.
bool countsAsFailure(CheckpointFailureReason reason);

/// Flink: CheckpointException. Its message is `detail Failure reason: message` where a detail is given, else the reason's message.
class CheckpointException : public Throwable {
 public:
  explicit CheckpointException(CheckpointFailureReason reason, std::shared_ptr<const Throwable> cause = nullptr)
      : Throwable("org.apache.flink.runtime.checkpoint.CheckpointException", std::string(messageOf(reason)), std::move(cause)),
        reason_(reason) {}
  CheckpointException(const std::string& detail, CheckpointFailureReason reason, std::shared_ptr<const Throwable> cause = nullptr)
      : Throwable("org.apache.flink.runtime.checkpoint.CheckpointException", detail + " Failure reason: " + std::string(messageOf(reason)),
                  std::move(cause)),
        reason_(reason) {}
  CheckpointFailureReason reason() const { return reason_; }

 private:
  CheckpointFailureReason reason_;
};

}  // namespace weir
