#include "weir/snapshot/checkpoint_failure.h"

#include <array>

namespace weir {
namespace {

struct ReasonRow {
  CheckpointFailureReason reason;
  bool preFlight, counts;
  std::string_view message;
};

using enum CheckpointFailureReason;
constexpr ReasonRow kRows[] = {
    {kPeriodicSchedulerShutdown, true, false, "Periodic checkpoint scheduler is shut down."},
    {kTooManyCheckpointRequests, true, false, "The maximum number of queued checkpoint requests exceeded"},
    {kMinimumTimeBetweenCheckpoints, true, false,
     "The minimum time between checkpoints is still pending. Checkpoint will be triggered after the minimum time."},
    {kNotAllRequiredTasksRunning, true, false, "Not all required tasks are currently running."},
    {kIoException, true, true, "An Exception occurred while triggering the checkpoint. IO-problem detected."},
    {kBlockingOutputExist, true, false, "Blocking output edge exists in running tasks."},
    {kCheckpointAsyncException, false, true, "Asynchronous task checkpoint failed."},
    {kChannelStateSharedStreamException, false, false,
     "The checkpoint was aborted due to exception of other subtasks sharing the ChannelState file."},
    {kCheckpointExpired, false, true, "Checkpoint expired before completing."},
    {kCheckpointSubsumed, false, false, "Checkpoint has been subsumed."},
    {kCheckpointDeclined, false, true, "Checkpoint was declined."},
    {kCheckpointDeclinedTaskNotReady, false, false, "Checkpoint was declined (tasks not ready)"},
    {kCheckpointDeclinedTaskClosing, false, false, "Checkpoint was declined (task is closing)"},
    {kCheckpointDeclinedSubsumed, false, false, "Checkpoint was canceled because a barrier from newer checkpoint was received."},
    {kCheckpointDeclinedOnCancellationBarrier, false, false, "Task received cancellation from one of its inputs"},
    {kCheckpointDeclinedInputEndOfStream, false, false, "Checkpoint was declined because one input stream is finished"},
    {kCheckpointCoordinatorShutdown, false, false, "CheckpointCoordinator shutdown."},
    {kCheckpointCoordinatorSuspend, false, false, "Checkpoint Coordinator is suspending."},
    {kJobFailoverRegion, false, false, "FailoverRegion is restarting."},
    {kTaskFailure, false, false, "Task has failed."},
    {kTaskCheckpointFailure, false, false, "Task local checkpoint failure."},
    {kUnknownTaskCheckpointNotificationFailure, false, false, "Unknown task for the checkpoint to notify."},
    {kFinalizeCheckpointFailure, false, true, "Failure to finalize checkpoint."},
    {kTriggerCheckpointFailure, false, false, "Trigger checkpoint failure."},
};

constexpr bool inEnumOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (static_cast<size_t>(kRows[i].reason) != i) return false;
  return true;
}
static_assert(inEnumOrder());

}  // namespace

std::string_view messageOf(CheckpointFailureReason reason) { return kRows[static_cast<size_t>(reason)].message; }
bool isPreFlight(CheckpointFailureReason reason) { return kRows[static_cast<size_t>(reason)].preFlight; }
bool countsAsFailure(CheckpointFailureReason reason) { return kRows[static_cast<size_t>(reason)].counts; }

}  // namespace weir
