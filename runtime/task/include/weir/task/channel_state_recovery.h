#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "weir/task/operator_chain.h"
#include "weir/task/task_environment.h"

namespace weir {

/// A buffer that was in flight on its way to this task.
struct RecoveredInput {
  int32_t gate = 0, channel = 0;  ///< as they are now
  /// The logical channel that it belonged to: the subtask of this vertex, and that of its sender, as they were.
  int32_t oldSubtask = 0, oldSender = 0;
  Buffer buffer;
};

/// Gives the in-flight data of a checkpoint back to a task that is restored from it: its outputs into the subpartitions, before anything
/// new is emitted; its inputs buffer by buffer, before anything is asked of the tasks that send to it. In this order each channel carries
/// the bytes that it would have carried: what had been received, what was still queued at the sender, what is new.
///
/// Flink: SequentialChannelStateReaderImpl, RecoveredInputChannel, RecoveredChannelStateHandler. Differs: recovered input is pulled from
/// the file by the task that processes it, a few buffers ahead, and does not pass through a channel. So a channel has one life and one
/// kind, recovery holds a bounded amount of memory of its own, and no pool has to have a buffer left for it. Threads: the task's. Errors:
/// what cannot be read, or fits no gate or partition, ends the task (throwRestoreFailure).
class ChannelStateRecovery {
 public:
  ChannelStateRecovery(TaskEnvironment& environment, ExecutionContext& context, const OperatorChain& chain);
  ~ChannelStateRecovery();

  /// Waits for buffers of the partitions.
  void replayOutputs();
  /// The next buffer of the inputs, until there is none.
  std::optional<RecoveredInput> nextInput();

 private:
  const std::vector<ChannelStateHandle>& handlesOf(ChannelStateKind kind) const;
  std::unique_ptr<ChannelStateReader> open(ChannelStateKind kind);
  void replayOutput(ChannelStateReader& reader, const ChannelStateEntry& entry);
  BufferBuilder builderFor(ResultPartition& partition, int32_t subpartition);
  void readAhead();
  RecoveredInput placeInput(const ChannelStateEntry& entry, Buffer buffer) const;

  TaskEnvironment& environment_;
  ExecutionContext& context_;
  const OperatorChain& chain_;
  std::unique_ptr<ChannelStateReader> inputs_;
  bool inputsOpened_ = false;
  std::deque<RecoveredInput> ahead_;
};

}  // namespace weir
