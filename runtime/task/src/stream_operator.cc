#include "weir/task/stream_operator.h"

#include "weir/base/check.h"
#include "weir/task/restore_failure.h"

namespace weir {

StreamOperator::StreamOperator(OperatorSetup setup, int inputs)
    : setup_(std::move(setup)), metrics_(setup_.environment.operatorMetrics->add(setup_.id, setup_.name)),
      merged_(inputs > 1 ? std::make_unique<CombinedWatermarkStatus>(inputs) : nullptr) {}

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

void StreamOperator::emitControl(const ControlElement& element) {
  if (setup_.output) setup_.output->emitControl(element);
  for (auto& [tag, side] : setup_.sideOutputs) side->emitControl(element);
}

void StreamOperator::processControl(int input, const ControlElement& element) {
  if (const auto* watermark = std::get_if<Watermark>(&element)) {
    if (merged_) apply(merged_->updateWatermark(input, watermark->timestamp));
    else processWatermark(watermark->timestamp);
  } else if (const auto* status = std::get_if<WatermarkStatus>(&element)) {
    if (merged_) apply(merged_->updateStatus(input, *status));
    else processWatermarkStatus(*status);
  } else {
    if (const auto* marker = std::get_if<LatencyMarker>(&element))
      metrics().latency.report(*marker, processingTime().currentProcessingTime(), environment().settings.latency);
    emitControl(element);
  }
}

void StreamOperator::apply(const MergedWatermark& merged) {
  if (merged.status && !merged.status->idle) processWatermarkStatus(*merged.status);
  if (merged.watermark) processWatermark(*merged.watermark);
  if (merged.status && merged.status->idle) processWatermarkStatus(*merged.status);
}

void StreamOperator::processWatermark(int64_t timestamp) {
  pendingWatermark_ = timestamp;
  firedServices_ = 0;
  continueWatermark();
}

bool StreamOperator::continueWatermark() {
  const int64_t timestamp = *pendingWatermark_;
  for (; firedServices_ < timerServices_.size(); ++firedServices_)
    if (!timerServices_[firedServices_]->advanceWatermark(timestamp, environment().interruption)) return false;
  pendingWatermark_.reset();
  onEventTime(timestamp);
  return true;
}

ProcessingTimeService& StreamOperator::processingTime() const {
  WEIR_CHECK(setup_.environment.processingTime != nullptr, "'{}' asks for processing time where there is none", setup_.name);
  return *setup_.environment.processingTime;
}

}  // namespace weir
