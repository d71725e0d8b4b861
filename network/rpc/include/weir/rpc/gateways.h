#pragma once

#include "weir/rpc/messages.h"

namespace weir {

/// A TaskManager as the JobMaster sees it. Every call only sends: it returns at once and never runs the receiver's code, so that tests can
/// delay, lose and reorder. Any thread. Flink: TaskExecutorGateway, TaskManagerGateway.
class TaskExecutorGateway {
 public:
  virtual ~TaskExecutorGateway() = default;
  virtual void submitTask(TaskDeployment deployment) = 0;
  virtual void cancelTask(const ExecutionAttemptID& attempt) = 0;
  virtual void triggerCheckpoint(TriggerCheckpoint message) = 0;
  virtual void confirmCheckpoint(NotifyCheckpointComplete message) = 0;
  virtual void abortCheckpoint(NotifyCheckpointAborted message) = 0;
  virtual void announceAlignment(AnnounceAlignment message) { (void)message; }
  /// As logs print it: `tm1 @ localhost (dataPort=43433)`.
  virtual const std::string& location() const = 0;
};

/// The JobMaster as a TaskManager sees it. Sends only, like the other direction. Flink: JobMasterGateway, CheckpointCoordinatorGateway.
class JobMasterGateway {
 public:
  virtual ~JobMasterGateway() = default;
  virtual void updateTaskExecutionState(TaskStateUpdate update) = 0;
  virtual void acknowledgeCheckpoint(AcknowledgeCheckpoint message) = 0;
  virtual void declineCheckpoint(DeclineCheckpoint message) = 0;
  virtual void reportCheckpointMetrics(ReportCheckpointMetrics message) = 0;
  virtual void reportWatermark(ReportWatermark message) { (void)message; }
};

}  // namespace weir
