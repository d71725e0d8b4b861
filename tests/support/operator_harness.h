#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "support/manual_processing_time.h"
#include "support/no_wait_context.h"
#include "weir/base/faulty_file_system.h"
#include "weir/base/log_sinks.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/simulated_executor.h"
#include "weir/checkpoint/default_operator_state_backend.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/rescale/state_assignment.h"
#include "weir/task/stream_operator.h"

namespace weir::testing {

/// The machine on which attempts of an operator run and die: its files survive them, and take faults.
class OperatorMachine {
 public:
  OperatorMachine() {
    FsCheckpointStorageOptions options;
    options.directory = "/checkpoints";
    storage_ = std::move(FsCheckpointStorage::create(memory, JobID::of(0, 1), options, Random(7)).value());
    storage_->initializeBaseLocations().value();
  }

  MemoryFileSystem memory;
  FileFaults faults;
  FaultyFileSystem files{memory, faults};
  SimulatedExecutor executor;
  MemoryLogSink log{executor.clock()};
  World world{executor, files, log};

  std::shared_ptr<FsCheckpointStorage> storage() { return storage_; }
  /// So that no two attempts draw the same names.
  uint64_t nextSeed() { return ++seed_; }

  void write(const std::string& path, std::string_view text) {
    auto file = std::move(memory.create(path, FileSystem::Create::kTruncate).value());
    file->append(std::as_bytes(std::span(text))).value();
    file->close().value();
  }
  std::string read(const std::string& path) {
    const auto bytes = memory.readAll(path).value();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  std::shared_ptr<FsCheckpointStorage> storage_;
  uint64_t seed_ = 0;
};

/// Keeps what is emitted.
template <class T>
class KeepingOutput final : public Output<T> {
 public:
  void collect(std::span<StreamRecord<T>> records) override {
    for (auto& record : records) {
      values.push_back(record.value);
      elements.emplace_back(record);
    }
  }
  void emitControl(const ControlElement& element) override { elements.emplace_back(element); }
  std::vector<T> values;
  std::vector<std::variant<StreamRecord<T>, ControlElement>> elements;  ///< in the order in which they came
};

struct HarnessOptions {
  int32_t subtask = 0;
  int32_t parallelism = 1;
  bool checkpointing = true;
  Millis autoWatermarkInterval{200};
  const Interruption* interruption = nullptr;
};

/// One attempt of one subtask of an operator from In to Out, driven by hand in the order in which a task would.
/// `make` is what DataStream::sinkTo and the factories take.
template <class In, class Out = In>
class OperatorHarness {
 public:
  using Make = std::function<std::unique_ptr<StreamOperator>(OperatorSetup)>;

  OperatorHarness(OperatorMachine& machine, Make make, HarnessOptions options = {})
      : machine_(machine),
        context_(machine.nextSeed()),
        environment_{machine.world, responder_, workers_, machine.storage()} {
    environment_.createOperatorState = [] { return std::make_unique<DefaultOperatorStateBackend>(); };
    environment_.settings.checkpointingEnabled = options.checkpointing;
    environment_.settings.autoWatermarkInterval = options.autoWatermarkInterval;
    environment_.processingTime = &time_;
    environment_.interruption = options.interruption;
    environment_.attempt = {ExecutionGraphID::of(0, 2), JobVertexID::of(0, 3), options.subtask, 0};
    environment_.vertexName = "tested";
    environment_.parallelism = options.parallelism;
    operator_ = make(OperatorSetup{id(), "tested", environment_, context_, &output_, {}});
  }

  static OperatorID id() { return OperatorID::of(0, 5); }

  /// Afresh, or from what a snapshot gave.
  void start() { start({}, false); }
  void restore(const OperatorSubtaskState& state) { start(state, true); }

  void process(std::vector<In> values) {
    std::vector<StreamRecord<In>> records;
    for (In& value : values) records.emplace_back(std::move(value));
    static_cast<Output<In>&>(operator_->input(0)).collect(records);
  }
  /// Both parts of a snapshot, and its files.
  OperatorSubtaskState snapshot(int64_t checkpointId) {
    operator_->prepareSnapshotPreBarrier(checkpointId);
    OperatorSnapshot snapshot = operator_->snapshotState({checkpointId, 0}, {});
    OperatorSubtaskState state;
    if (!snapshot.operatorState && !snapshot.keyed) return state;
    machine_.storage()->initializeCheckpoint(checkpointId).value();
    const auto factory = machine_.storage()->resolveCheckpointLocation(checkpointId, {});
    if (snapshot.operatorState) keep(snapshot.operatorState->write(*factory), state.managedOperator);
    if (snapshot.keyed) keep(snapshot.keyed->write(*factory), state.managedKeyed);
    return state;
  }
  void processRecords(std::vector<StreamRecord<In>> records) { static_cast<Output<In>&>(operator_->input(0)).collect(records); }
  void watermark(int64_t timestamp, int input = 0) { operator_->input(input).emitControl(Watermark{timestamp}); }
  void status(bool idle, int input = 0) { operator_->input(input).emitControl(WatermarkStatus{idle}); }
  ManualProcessingTime& time() { return time_; }
  /// What came out since the last call, with control elements, in order: "v@t" (v where it has no time), "Watermark @ t",
  /// "WatermarkStatus(IDLE)".
  std::vector<std::string> takeElements() {
    std::vector<std::string> all;
    for (const auto& element : std::exchange(output_.elements, {})) {
      if (const auto* record = std::get_if<StreamRecord<Out>>(&element))
        all.push_back(record->hasTimestamp ? fmt::format("{}@{}", record->value, record->timestamp) : fmt::format("{}", record->value));
      else
        all.push_back(toString(std::get<ControlElement>(element)));
    }
    return all;
  }
  void complete(int64_t checkpointId) { operator_->notifyCheckpointComplete(checkpointId); }
  void abort(int64_t checkpointId) { operator_->notifyCheckpointAborted(checkpointId); }
  void finish() {
    operator_->endInput(0);
    operator_->finish();
  }
  void close() { operator_->close(); }

  StreamOperator& op() { return *operator_; }
  const OperatorMetrics& metrics() const { return operator_->metrics(); }
  std::vector<Out>& output() { return output_.values; }
  KeepingOutput<Out>& keeping() { return output_; }
  NoWaitContext& context() { return context_; }

 private:
  class NoResponder final : public CheckpointResponder {
    void acknowledgeCheckpoint(const ExecutionAttemptID&, int64_t, const CheckpointMetrics&,
                               std::shared_ptr<const TaskStateSnapshot>) override {}
    void reportCheckpointMetrics(const ExecutionAttemptID&, int64_t, const CheckpointMetrics&) override {}
    void declineCheckpoint(const ExecutionAttemptID&, int64_t, std::shared_ptr<const CheckpointException>) override {}
  };
  class NoWorkers final : public SnapshotWorkers {
    void submit(std::function<void(ExecutionContext&)>) override { throw std::logic_error("the harness writes snapshots itself"); }
  };

  template <class Handle>
  static void keep(Result<std::optional<Handle>> handle, std::vector<Handle>& into) {
    if (handle.has_error()) throw std::runtime_error(handle.error().message);
    if (*handle) into.push_back(std::move(**handle));
  }
  void start(const OperatorSubtaskState& state, bool isRestored) {
    operator_->initializeState(state, isRestored);
    operator_->open();
  }

  OperatorMachine& machine_;
  NoWaitContext context_;
  NoResponder responder_;
  std::shared_ptr<NoWorkers> workers_ = std::make_shared<NoWorkers>();
  ManualProcessingTime time_;
  TaskEnvironment environment_;
  KeepingOutput<Out> output_;
  std::unique_ptr<StreamOperator> operator_;
};

/// The states of all subtasks of an operator, dealt out again to `newParallelism` subtasks.
inline std::vector<OperatorSubtaskState> rescaled(const std::vector<OperatorSubtaskState>& subtasks, int32_t newParallelism) {
  OperatorState state;
  state.name = "tested";
  state.parallelism = static_cast<int32_t>(subtasks.size());
  for (size_t i = 0; i < subtasks.size(); ++i) state.subtasks[static_cast<int32_t>(i)] = subtasks[i];
  return redistribute(state, newParallelism);
}

}  // namespace weir::testing
