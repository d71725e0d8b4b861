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
#include "weir/time/internal_timer_service.h"
#include "weir/time/status_watermark_valve.h"

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
  /// `inputs`: whose watermarks it merges.
  explicit StreamOperator(OperatorSetup setup, int inputs = 1);
  virtual ~StreamOperator() = default;
  StreamOperator(const StreamOperator&) = delete;
  StreamOperator& operator=(const StreamOperator&) = delete;

  /// Where the records of input `index` go: an Output of the input's element type.
  virtual OutputBase& input(int index) = 0;

  /// Creates state and fills it from `restored` (empty where nothing is restored). Before open(). Blocks on files.
  void initializeState(const OperatorSubtaskState& restored, bool isRestored);
  /// A watermark, a status or the like of one input. Merges those of several inputs.
  void processControl(int input, const ControlElement& element);
  /// Timers of the last watermark are still to be fired: nothing may be processed before continueWatermark() has said true.
  bool hasPendingWatermark() const { return pendingWatermark_.has_value(); }
  /// Goes on firing them. False: interrupted once more.
  bool continueWatermark();
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

  /// Event time has come to `timestamp`: fires the timers up to it, then onEventTime. One input's watermarks come as they are.
  virtual void processWatermark(int64_t timestamp);
  /// All timers up to `timestamp` have fired: sends the watermark on. Operators that hold it back send a smaller one.
  virtual void onEventTime(int64_t timestamp) { emitWatermark(timestamp); }
  virtual void processWatermarkStatus(WatermarkStatus status) { emitControl(status); }

  /// To all outputs.
  void emitControl(const ControlElement& element);
  void emitWatermark(int64_t timestamp) { emitControl(Watermark{timestamp}); }
  /// The timers of that name, which fire at `target`: made, or taken over from what was restored. In open(), once per name.
  template <class K, class N>
  InternalTimerService<K, N>& internalTimerService(const std::string& name, KeyedStateBackend<K>& backend, Triggerable<K, N>& target) {
    auto service = std::make_unique<InternalTimerService<K, N>>(
        backend, orThrow(backend.template timerQueue<N>(processingTimeTimersName(name))),
        orThrow(backend.template timerQueue<N>(eventTimeTimersName(name))), processingTime(), target);
    auto& made = *service;
    timerServices_.push_back(std::move(service));
    return made;
  }
  ProcessingTimeService& processingTime() const;

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
  template <class Queue>
  static Queue& orThrow(Result<Queue*> queue) {
    if (queue.has_error()) throw Throwable("java.lang.IllegalStateException", queue.error().message);
    return **queue;
  }
  void apply(const MergedWatermark& merged);

  OperatorSetup setup_;
  const std::shared_ptr<OperatorMetrics> metrics_;
  std::unique_ptr<OperatorStateBackend> operatorState_;
  std::unique_ptr<AnyKeyedStateBackend> keyedState_;
  std::unique_ptr<CombinedWatermarkStatus> merged_;               ///< null: one input
  std::vector<std::unique_ptr<AnyTimerService>> timerServices_;  ///< of keyedState_
  size_t firedServices_ = 0;                                      ///< how many have fired all for pendingWatermark_
  std::optional<int64_t> pendingWatermark_;
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
  explicit TwoInputOperator(OperatorSetup setup) : StreamOperator(std::move(setup), 2) {}
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
  /// A marker with the time of now, on its way to the sinks.
  void emitLatencyMarker() { emitControl(LatencyMarker{processingTime().currentProcessingTime(), id(), environment().subtask()}); }
  /// After its last record.
  virtual void endEventTime() { emitWatermark(kMaxWatermark); }
};

}  // namespace weir
