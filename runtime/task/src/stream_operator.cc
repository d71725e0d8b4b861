#include "weir/task/stream_operator.h"

#include "weir/task/restore_failure.h"

namespace weir {
OperatorStateBackend& StreamOperator::operatorState() {
  if (!operatorState_) operatorState_ = environment().createOperatorState();
  return *operatorState_;
}

void StreamOperator::initializeState(const OperatorSubtaskState& restored, bool isRestored) {
  Result<void> outcome;
  context().blocking([&] {
    keyedState_ = createKeyedState();
    if (keyedState_) outcome = keyedState_->restore(restored.managedKeyed, *environment().storage);
    if (outcome.has_value() && !restored.managedOperator.empty())
      outcome = operatorState().restore(restored.managedOperator, *environment().storage);
  });
  if (outcome.has_error()) throwRestoreFailure("The state of '" + setup_.name + "'", outcome.error());
  onInitializeState(isRestored);
}

OperatorSnapshot StreamOperator::snapshotState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options) {
  onSnapshotState(checkpoint.checkpointId);
  OperatorSnapshot snapshot{id(), nullptr, nullptr};
  if (keyedState_) snapshot.keyed = keyedState_->prepareSnapshot(checkpoint.checkpointId, options);
  if (operatorState_) snapshot.operatorState = operatorState_->prepareSnapshot(checkpoint.checkpointId);
  return snapshot;
}

void StreamOperator::processControl(int, const ControlElement& element) {
  if (setup_.output) setup_.output->emitControl(element);
  for (auto& [tag, side] : setup_.sideOutputs) side->emitControl(element);
}

}  // namespace weir
