#pragma once

#include <memory>
#include <vector>

#include "weir/exchange/record_writer.h"
#include "weir/task/chain_spec.h"

namespace weir {

/// The operators of one task, wired to each other and to the task's partitions. Lives on its task.
///
/// Flink: OperatorChain. Order: operators()[0] is the head; state is initialised and operators are opened tail first, finished head first,
/// snapshotted tail first.
class OperatorChain {
 public:
  OperatorChain(const TaskFactory& factory, TaskEnvironment& environment, ExecutionContext& context);

  StreamOperator& head() { return *operators_.front(); }
  /// All of it had finished in the checkpoint that the task was restored from: its operators are not opened, asked or told anything again.
  bool isFinishedOnRestore() const { return finishedOnRestore_; }
  const std::vector<std::unique_ptr<StreamOperator>>& operators() const { return operators_; }
  /// One record at a time unless every operator is built in and free of cost.
  size_t batchSize() const { return batchSize_; }
  int headInputOf(int gate) const { return spec_.inputs[static_cast<size_t>(gate)].headInput; }
  /// Where the records of gate `gate` go.
  std::unique_ptr<ElementReader> createReader(int gate);
  /// The same without the records that the partitioner of the edge does not send to this subtask.
  std::unique_ptr<ElementReader> createFilteringReader(int gate);

  /// Where watermarks and the like of head input `index` go.
  OutputBase& headInput(int index) { return inputOf(0, index); }

  void initializeState();
  void open();
  /// The MAX watermark, from a source or from a task that has finished before.
  void endEventTime();
  /// An operator was interrupted while it fired timers: no record may come before continueWatermark() has ended it.
  bool hasPendingWatermark() const;
  void continueWatermark();
  /// Ends head input `index` alone.
  void endHeadInput(int index) {
    if (!finishedOnRestore_) head().endInput(index);
  }
  /// Finishes every operator, head first, ending the inputs of those behind it.
  void finish();
  void close();

  void prepareSnapshotPreBarrier(int64_t checkpointId);
  std::vector<OperatorSnapshot> snapshotState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options);
  /// Tells all operators, tail first; the first error is thrown after all have been told.
  void notifyCheckpointComplete(int64_t checkpointId);
  void notifyCheckpointAborted(int64_t checkpointId);

  /// To all subpartitions of all partitions, behind all records written so far.
  void broadcastEvent(const RuntimeEvent& event);
  /// The same for a barrier: ahead of the records if it is unaligned and the edge can be, else behind them.
  void broadcastBarrier(const CheckpointBarrier& barrier);
  void flushOutputs();

 private:
  void build(int index);
  OutputBase& edgeTarget(const ChainEdge& edge);
  OutputBase& inputOf(int index, int input);

  const ChainSpec& spec_;
  TaskEnvironment& environment_;
  ExecutionContext& context_;
  std::vector<std::unique_ptr<RecordWriter>> writers_;  ///< by partition
  std::vector<bool> supportsUnaligned_;                 ///< by partition
  std::vector<std::unique_ptr<OutputBase>> wiring_;     ///< writers' outputs, fan-outs and costs
  std::vector<std::unique_ptr<StreamOperator>> operators_;
  std::vector<OutputBase*> costedInputs_;  ///< by operator; null: the operator's own input
  size_t batchSize_ = kMaxBatch;
  const bool finishedOnRestore_;
};

}  // namespace weir
