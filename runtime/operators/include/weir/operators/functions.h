#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "weir/task/chain_spec.h"

namespace weir {

/// What a user function may know of where it runs. Passed to open(). Flink: RuntimeContext.
class RuntimeContext {
 public:
  RuntimeContext(TaskEnvironment& environment, ExecutionContext& context) : environment_(environment), context_(context) {}
  int32_t indexOfThisSubtask() const { return environment_.subtask(); }
  int32_t numberOfParallelSubtasks() const { return environment_.parallelism; }
  int32_t maxNumberOfParallelSubtasks() const { return environment_.maxParallelism; }
  int32_t attemptNumber() const { return environment_.attempt.attempt; }
  std::string taskNameWithSubtasks() const { return environment_.taskNameWithSubtask(); }
  /// Epoch milliseconds of this task's process.
  int64_t currentProcessingTime() const { return context_.clock().epochMillis(); }
  /// The only way for user code to wait: a wait that the executor sees and a cancellation ends.
  ExecutionContext& execution() { return context_; }

 private:
  TaskEnvironment& environment_;
  ExecutionContext& context_;
};

/// What initializeState of a function gets. Flink: FunctionInitializationContext.
struct FunctionInitializationContext {
  OperatorStateBackend& operatorState;
  bool isRestored;
};

/// A state handle, or the failure of the task: a name used twice with different types, or a type that does not match the checkpoint.
template <class T>
T stateOrThrow(Result<T> result) {
  if (result.has_error()) throw Throwable("java.lang.IllegalStateException", result.error().message);
  return std::move(*result);
}

/// Holds one attempt's copy of a user function and calls the optional parts that it has:
///   open(RuntimeContext&), close(), initializeState(FunctionInitializationContext&), snapshotState(int64_t checkpointId),
///   notifyCheckpointComplete(int64_t), notifyCheckpointAborted(int64_t), finish().
/// Flink: RichFunction, CheckpointedFunction, CheckpointListener; here a member is enough, no base class is asked for.
///
/// `Base` is the operator class (OneInputOperator<In> or the like) that the operator derives from.
template <class Base, class F>
class FunctionOperator : public Base {
 public:
  FunctionOperator(OperatorSetup setup, F function) : Base(std::move(setup)), function_(std::move(function)) {}

  void open() override {
    if constexpr (requires(F& f, RuntimeContext& c) { f.open(c); }) {
      RuntimeContext runtime(this->environment(), this->context());
      function_.open(runtime);
    }
  }
  void close() override {
    if constexpr (requires(F& f) { f.close(); }) function_.close();
  }
  void finish() override {
    if constexpr (requires(F& f) { f.finish(); }) function_.finish();
  }
  void notifyCheckpointComplete(int64_t checkpointId) override {
    if constexpr (requires(F& f) { f.notifyCheckpointComplete(checkpointId); }) function_.notifyCheckpointComplete(checkpointId);
  }
  void notifyCheckpointAborted(int64_t checkpointId) override {
    if constexpr (requires(F& f) { f.notifyCheckpointAborted(checkpointId); }) function_.notifyCheckpointAborted(checkpointId);
  }

 protected:
  void onInitializeState(bool isRestored) override {
    if constexpr (requires(F& f, FunctionInitializationContext& c) { f.initializeState(c); }) {
      FunctionInitializationContext init{this->operatorState(), isRestored};
      function_.initializeState(init);
    }
  }
  void onSnapshotState(int64_t checkpointId) override {
    if constexpr (requires(F& f) { f.snapshotState(checkpointId); }) function_.snapshotState(checkpointId);
  }

  F function_;
};

/// Makes operators by calling `make(OperatorSetup)`, a function that copies the prototypes it holds.
template <class Make>
class SimpleOperatorFactory final : public OperatorFactory {
 public:
  SimpleOperatorFactory(bool takesBatches, bool isSource, Make make)
      : takesBatches_(takesBatches), isSource_(isSource), make_(std::move(make)) {}
  std::unique_ptr<StreamOperator> create(OperatorSetup setup) const override { return make_(std::move(setup)); }
  bool takesBatches() const override { return takesBatches_; }
  bool isSource() const override { return isSource_; }

 private:
  bool takesBatches_, isSource_;
  Make make_;
};

enum class Batching { kOneByOne, kBatches };

template <class Make>
std::shared_ptr<const OperatorFactory> makeOperatorFactory(Batching batching, Make make, bool isSource = false) {
  return std::make_shared<SimpleOperatorFactory<Make>>(batching == Batching::kBatches, isSource, std::move(make));
}

}  // namespace weir
