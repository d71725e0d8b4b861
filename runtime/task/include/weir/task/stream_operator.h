#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/backend/keyed_state_backend.h"
#include "weir/backend/operator_state_backend.h"
#include "weir/snapshot/checkpoint_metrics.h"
#include "weir/snapshot/checkpoint_options.h"
#include "weir/task/output.h"
#include "weir/task/task_environment.h"

namespace weir {

/// A configured cost of every record of an operator: a slow external call (sleep) or heavy computation (spin).
struct RecordCost {
  Nanos perRecord{};
  CostMode mode = CostMode::kSleep;
};

/// Everything an operator is made with. The references outlive it.
struct OperatorSetup {
  OperatorID id;
  std::string name;
  TaskEnvironment& environment;
  ExecutionContext& context;
  OutputBase* output = nullptr;                    ///< its main output, an Output of its element type; null for sinks
  std::map<std::string, OutputBase*> sideOutputs;  ///< by tag
};

/// What one operator has to write for one checkpoint, ready to be written off the task. Flink: OperatorSnapshotFutures.
struct OperatorSnapshot {
  OperatorID id;
  std::unique_ptr<KeyedSnapshotJob> keyed;             ///< null: no keyed state
  std::unique_ptr<OperatorSnapshotJob> operatorState;  ///< null: no operator state
};

/// An operator of a chain. Used by its task alone, never by two threads at once; it never waits but through its context.
///
/// Life: made, initializeState, open, records, endInput per input, finish, close. A failed or cancelled task skips to close. Errors are
/// thrown. Flink: StreamOperator, AbstractStreamOperator.
class StreamOperator {
 public:
  explicit StreamOperator(OperatorSetup setup)
      : setup_(std::move(setup)), metrics_(setup_.environment.operatorMetrics->add(setup_.id, setup_.name)) {}
  virtual ~StreamOperator() = default;
  StreamOperator(const StreamOperator&) = delete;
  StreamOperator& operator=(const StreamOperator&) = delete;

  /// Where the records of input `index` go: an Output of the input's element type.
  virtual OutputBase& input(int index) = 0;

  /// Creates state and fills it from `restored` (empty where nothing is restored). Before open(). Blocks on files.
  void initializeState(const OperatorSubtaskState& restored, bool isRestored);
  /// Sends it on; operators that keep event time do more.
  virtual void processControl(int input, const ControlElement& element);
  virtual void open() {}
  /// Input `index` has ended; no record of it follows.
  virtual void endInput(int index) { (void)index; }
  /// All inputs have ended: emit what is left. No record is emitted after it.
  virtual void finish() {}
  /// Frees what is held outside; called on success, failure and cancellation. Never emits, never waits.
  virtual void close() {}

  /// Before the barrier leaves: sinks flush, pre-aggregations emit.
  virtual void prepareSnapshotPreBarrier(int64_t checkpointId) { (void)checkpointId; }
  /// The synchronous part, after the barrier has left.
  OperatorSnapshot snapshotState(const CheckpointMetaData& checkpoint, const CheckpointOptions& options);
  virtual void notifyCheckpointComplete(int64_t checkpointId) { (void)checkpointId; }
  virtual void notifyCheckpointAborted(int64_t checkpointId) { (void)checkpointId; }

  const OperatorID& id() const { return setup_.id; }
  const std::string& name() const { return setup_.name; }
  OperatorMetrics& metrics() { return *metrics_; }

 protected:
  /// Keyed operators make their backend here.
  virtual std::unique_ptr<AnyKeyedStateBackend> createKeyedState() { return nullptr; }
  /// Registers states and reads them. `isRestored`: the job continues from a checkpoint.
  virtual void onInitializeState(bool isRestored) { (void)isRestored; }
  /// Brings operator state up to date, just before it is snapshotted.
  virtual void onSnapshotState(int64_t checkpointId) { (void)checkpointId; }

  /// Made on first use: an operator without state has nothing to write.
  OperatorStateBackend& operatorState();
  AnyKeyedStateBackend* keyedState() { return keyedState_.get(); }
  TaskEnvironment& environment() { return setup_.environment; }
  ExecutionContext& context() { return setup_.context; }
  template <class T>
  Output<T>& output() { return static_cast<Output<T>&>(*setup_.output); }
  bool hasOutput() const { return setup_.output != nullptr; }
  const std::map<std::string, OutputBase*>& sideOutputs() const { return setup_.sideOutputs; }
  /// Null where nobody reads the tag.
  template <class T>
  Output<T>* sideOutput(const std::string& tag) {
    const auto found = setup_.sideOutputs.find(tag);
    return found == setup_.sideOutputs.end() ? nullptr : static_cast<Output<T>*>(found->second);
  }

 private:
  OperatorSetup setup_;
  const std::shared_ptr<OperatorMetrics> metrics_;
  std::unique_ptr<OperatorStateBackend> operatorState_;
  std::unique_ptr<AnyKeyedStateBackend> keyedState_;
};

/// An operator with one input. Derived classes implement process; the input object forwards whole batches to it.
template <class In>
class OneInputOperator : public StreamOperator {
 public:
  using StreamOperator::StreamOperator;
  OutputBase& input(int) override { return input_; }

 protected:
  virtual void process(std::span<StreamRecord<In>> records) = 0;

 private:
  class Head final : public Output<In> {
   public:
    explicit Head(OneInputOperator& self) : self_(self) {}
    void collect(std::span<StreamRecord<In>> records) override {
      OperatorMetrics::add(self_.metrics().numRecordsIn, records.size());
      self_.process(records);
    }
    void emitControl(const ControlElement& element) override { self_.processControl(0, element); }

   private:
    OneInputOperator& self_;
  };
  Head input_{*this};
};

/// An operator with two inputs of two types. Flink: TwoInputStreamOperator.
template <class In1, class In2>
class TwoInputOperator : public StreamOperator {
 public:
  using StreamOperator::StreamOperator;
  OutputBase& input(int index) override { return index == 0 ? static_cast<OutputBase&>(first_) : second_; }

 protected:
  virtual void processFirst(std::span<StreamRecord<In1>> records) = 0;
  virtual void processSecond(std::span<StreamRecord<In2>> records) = 0;

 private:
  template <class T, int index, void (TwoInputOperator::*process)(std::span<StreamRecord<T>>)>
  class Head final : public Output<T> {
   public:
    explicit Head(TwoInputOperator& self) : self_(self) {}
    void collect(std::span<StreamRecord<T>> records) override {
      OperatorMetrics::add(self_.metrics().numRecordsIn, records.size());
      (self_.*process)(records);
    }
    void emitControl(const ControlElement& element) override { self_.processControl(index, element); }

   private:
    TwoInputOperator& self_;
  };
  void first(std::span<StreamRecord<In1>> records) { processFirst(records); }
  void second(std::span<StreamRecord<In2>> records) { processSecond(records); }
  Head<In1, 0, &TwoInputOperator::first> first_{*this};
  Head<In2, 1, &TwoInputOperator::second> second_{*this};
};

/// Puts a cost on every record that goes into an operator.
template <class T>
class CostOutput final : public Output<T> {
 public:
  CostOutput(Output<T>& into, RecordCost cost, ExecutionContext& context) : into_(into), cost_(cost), context_(context) {}
  void collect(std::span<StreamRecord<T>> records) override {
    for (auto& record : records) {
      context_.spend(cost_.perRecord, cost_.mode);
      into_.collect({&record, 1});
    }
  }
  void emitControl(const ControlElement& element) override { into_.emitControl(element); }

 private:
  Output<T>& into_;
  RecordCost cost_;
  ExecutionContext& context_;
};

/// What a source says after each poll.
struct SourceStatus {
  enum class Kind { kMoreAvailable, kNothingUntil, kEndOfInput };
  Kind kind = Kind::kMoreAvailable;
  size_t records = 0;                  ///< emitted by this poll
  Deadline until = Deadline::never();  ///< with kNothingUntil: its rate allows the next record then

  static SourceStatus more(size_t records) { return {Kind::kMoreAvailable, records, {}}; }
  static SourceStatus nothingUntil(Deadline deadline) { return {Kind::kNothingUntil, 0, deadline}; }
  static SourceStatus end(size_t records = 0) { return {Kind::kEndOfInput, records, {}}; }
};

/// The head of a source task. A source is never asked for more while an output is unavailable. Flink: SourceOperator.
class SourceOperatorBase : public StreamOperator {
 public:
  using StreamOperator::StreamOperator;
  OutputBase& input(int) override;  // a source has none
  /// Emits at most `limit` records and says what comes next. Never waits.
  virtual SourceStatus emitNext(size_t limit) = 0;
};

}  // namespace weir
