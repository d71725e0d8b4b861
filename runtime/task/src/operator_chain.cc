#include "weir/task/operator_chain.h"

#include "weir/base/check.h"

namespace weir {

OutputBase& SourceOperatorBase::input(int) {
  checkFailed(__FILE__, __LINE__, "input", "a source has no input");
}

OperatorChain::OperatorChain(const TaskFactory& factory, TaskEnvironment& environment, ExecutionContext& context)
    : spec_(factory.chain()),
      environment_(environment),
      context_(context),
      finishedOnRestore_(environment.restore && environment.restore->finishedOnRestore) {
  const ChainSpec& spec = spec_;
  const bool flushAlways = factory.bufferTimeout().millis == BufferTimeout::kAlways;
  for (auto& partition : environment.partitions) writers_.push_back(std::make_unique<RecordWriter>(partition, flushAlways));
  supportsUnaligned_.resize(writers_.size(), true);
  operators_.resize(spec.operators.size());
  costedInputs_.resize(spec.operators.size(), nullptr);
  // Tail first: an operator is made with its outputs, which are the inputs of those behind it.
  for (size_t i = spec.operators.size(); i-- > 0;) build(static_cast<int>(i));
}

void OperatorChain::build(int index) {
  const ChainedOperatorSpec& spec = spec_.operators[static_cast<size_t>(index)];
  std::map<std::string, std::vector<OutputBase*>> targets;
  std::map<std::string, const ElementType*> types;
  for (const ChainEdge& edge : spec.edges) {
    targets[edge.sideTag].push_back(&edgeTarget(edge));
    types[edge.sideTag] = edge.type;
  }
  OperatorSetup setup{spec.id, spec.name, environment_, context_, nullptr, {}};
  for (auto& [tag, outputs] : targets) {
    OutputBase* output = outputs.front();
    if (outputs.size() > 1) output = wiring_.emplace_back(types[tag]->fanOut(outputs)).get();
    if (tag.empty())
      setup.output = output;
    else
      setup.sideOutputs[tag] = output;
  }
  // Debloated buffers are small: a batch would run far past the moment in which an output has none left.
  if (!spec.factory->takesBatches() || spec.cost || environment_.debloatPeriod) batchSize_ = 1;
  operators_[static_cast<size_t>(index)] = spec.factory->create(std::move(setup));
  if (spec.cost && spec.inputType != nullptr) {
    OutputBase& input = operators_[static_cast<size_t>(index)]->input(0);
    costedInputs_[static_cast<size_t>(index)] = wiring_.emplace_back(spec.inputType->withCost(input, *spec.cost, context_)).get();
  }
}

OutputBase& OperatorChain::edgeTarget(const ChainEdge& edge) {
  if (edge.partition < 0) return inputOf(edge.chainedOperator, edge.chainedInput);
  supportsUnaligned_[static_cast<size_t>(edge.partition)] = edge.supportsUnaligned;
  const EdgePartitioner::Target target{*writers_[static_cast<size_t>(edge.partition)], edge.consumerMaxParallelism, context_.random()};
  return *wiring_.emplace_back(edge.partitioner->createOutput(target));
}

OutputBase& OperatorChain::inputOf(int index, int input) {
  if (input == 0 && costedInputs_[static_cast<size_t>(index)] != nullptr) return *costedInputs_[static_cast<size_t>(index)];
  return operators_[static_cast<size_t>(index)]->input(input);
}

std::unique_ptr<ElementReader> OperatorChain::createReader(int gate) {
  const ChainInput& input = spec_.inputs[static_cast<size_t>(gate)];
  return input.type->createReader(inputOf(0, input.headInput));
}

std::unique_ptr<ElementReader> OperatorChain::createFilteringReader(int gate) {
  const ChainInput& input = spec_.inputs[static_cast<size_t>(gate)];
  const EdgePartitioner::Receiver self{environment_.subtask(), environment_.parallelism, environment_.maxParallelism};
  OutputBase& filter = *wiring_.emplace_back(input.partitioner->createFilter(inputOf(0, input.headInput), self));
  return input.type->createReader(filter);
}

void OperatorChain::initializeState() {
  if (finishedOnRestore_) return;
  static const OperatorSubtaskState kNothing;
  for (size_t i = operators_.size(); i-- > 0;) {
    // Restored is who stood in the checkpoint: an operator that was added since starts afresh.
    const OperatorSubtaskState* state = nullptr;
    if (environment_.restore) {
      const auto found = environment_.restore->operators.find(operators_[i]->id());
      if (found != environment_.restore->operators.end()) state = &found->second;
    }
    operators_[i]->initializeState(state ? *state : kNothing, state != nullptr);
  }
}

void OperatorChain::open() {
  if (finishedOnRestore_) return;
  for (size_t i = operators_.size(); i-- > 0;) operators_[i]->open();
}

void OperatorChain::endEventTime() {
  const ControlElement end = Watermark{kMaxWatermark};
  if (!finishedOnRestore_) return static_cast<SourceOperatorBase&>(head()).endEventTime();
  for (auto& writer : writers_)
    writer->broadcastEmit(kMaxControlElementSize, [&](uint8_t* at) { return writeElement(at, end); });
}

bool OperatorChain::hasPendingWatermark() const {
  if (!environment_.interruption) return false;
  for (const auto& op : operators_)
    if (op->hasPendingWatermark()) return true;
  return false;
}

void OperatorChain::continueWatermark() {
  // Head first: what it fires comes in front of what is left behind it.
  for (auto& op : operators_)
    if (op->hasPendingWatermark()) return static_cast<void>(op->continueWatermark());
}

void OperatorChain::finish() {
  if (finishedOnRestore_) return;
  for (size_t i = 0; i < operators_.size(); ++i) {
    if (i > 0) operators_[i]->endInput(0);  // only the head has more than one input
    operators_[i]->finish();
  }
}

void OperatorChain::close() {
  if (finishedOnRestore_) return;
  for (auto& op : operators_)
    if (op) op->close();
}

void OperatorChain::prepareSnapshotPreBarrier(int64_t checkpointId) {
  if (finishedOnRestore_) return;
  for (auto& op : operators_) op->prepareSnapshotPreBarrier(checkpointId);
}

std::vector<OperatorSnapshot> OperatorChain::snapshotState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options) {
  std::vector<OperatorSnapshot> snapshots;
  if (finishedOnRestore_) return snapshots;
  snapshots.reserve(operators_.size());
  for (size_t i = operators_.size(); i-- > 0;) snapshots.push_back(operators_[i]->snapshotState(checkpoint, options));
  return snapshots;
}

namespace {

template <class F>
void tellAll(const std::vector<std::unique_ptr<StreamOperator>>& operators, F tell) {
  std::exception_ptr first;
  for (size_t i = operators.size(); i-- > 0;) {
    try {
      tell(*operators[i]);
    } catch (const TaskCancelled&) {
      throw;
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace

void OperatorChain::notifyCheckpointComplete(int64_t checkpointId) {
  if (finishedOnRestore_) return;
  tellAll(operators_, [&](StreamOperator& op) { op.notifyCheckpointComplete(checkpointId); });
}

void OperatorChain::notifyCheckpointAborted(int64_t checkpointId) {
  if (finishedOnRestore_) return;
  tellAll(operators_, [&](StreamOperator& op) { op.notifyCheckpointAborted(checkpointId); });
}

void OperatorChain::broadcastEvent(const RuntimeEvent& event) {
  for (auto& writer : writers_) writer->broadcastEvent(event);
}

void OperatorChain::broadcastBarrier(const CheckpointBarrier& barrier) {
  for (size_t i = 0; i < writers_.size(); ++i) {
    CheckpointBarrier onEdge = barrier;
    // One that may time out is forced as well: it would turn unaligned on the way.
    if (!supportsUnaligned_[i]) onEdge.options = barrier.options.withUnalignedUnsupported();
    writers_[i]->broadcastEvent(onEdge, onEdge.options.isUnaligned());
  }
}

void OperatorChain::flushOutputs() {
  for (auto& partition : environment_.partitions) partition->flushAll();
}

}  // namespace weir
