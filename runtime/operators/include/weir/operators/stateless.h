#pragma once

#include <functional>
#include <vector>

#include "weir/operators/functions.h"

namespace weir {

/// One record in, one out. Flink: StreamMap.
template <class In, class Out, class F>
class MapOperator final : public FunctionOperator<OneInputOperator<In>, F> {
 public:
  using FunctionOperator<OneInputOperator<In>, F>::FunctionOperator;

 protected:
  void process(std::span<StreamRecord<In>> records) override {
    results_.resize(records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      results_[i].value = std::invoke(this->function_, std::as_const(records[i].value));
      results_[i].timestamp = records[i].timestamp;
      results_[i].hasTimestamp = records[i].hasTimestamp;
    }
    OperatorMetrics::add(this->metrics().numRecordsOut, results_.size());
    this->template output<Out>().collect(results_);
  }

 private:
  std::vector<StreamRecord<Out>> results_;
};

/// Keeps the records for which the function is true. Flink: StreamFilter.
template <class T, class F>
class FilterOperator final : public FunctionOperator<OneInputOperator<T>, F> {
 public:
  using FunctionOperator<OneInputOperator<T>, F>::FunctionOperator;

 protected:
  void process(std::span<StreamRecord<T>> records) override {
    size_t kept = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      if (!std::invoke(this->function_, std::as_const(records[i].value))) continue;
      if (kept != i) std::swap(records[kept], records[i]);
      ++kept;
    }
    OperatorMetrics::add(this->metrics().numRecordsOut, kept);
    if (kept > 0) this->template output<T>().collect(records.first(kept));
  }
};

/// An Output that counts what passes into another one.
template <class T>
class CountingOutput final : public Output<T> {
 public:
  CountingOutput(Output<T>& into, OperatorMetrics& metrics) : into_(into), metrics_(metrics) {}
  void collect(std::span<StreamRecord<T>> records) override {
    OperatorMetrics::add(metrics_.numRecordsOut, records.size());
    into_.collect(records);
  }
  void emitControl(const ControlElement& element) override { into_.emitControl(element); }

 private:
  Output<T>& into_;
  OperatorMetrics& metrics_;
};

/// Any number of records for each: `f(const In&, Collector<Out>&)`. Flink: StreamFlatMap.
template <class In, class Out, class F>
class FlatMapOperator final : public FunctionOperator<OneInputOperator<In>, F> {
 public:
  FlatMapOperator(OperatorSetup setup, F function)
      : FunctionOperator<OneInputOperator<In>, F>(std::move(setup), std::move(function)),
        counted_(this->template output<Out>(), this->metrics()),
        collector_(counted_) {}

 protected:
  void process(std::span<StreamRecord<In>> records) override {
    for (auto& record : records) {
      collector_.setTimestampOf(record);
      std::invoke(this->function_, std::as_const(record.value), collector_);
    }
  }

 private:
  CountingOutput<Out> counted_;
  Collector<Out> collector_;
};

/// Calls the function with every record and emits nothing: `f(const T&)`. Flink: StreamSink, SinkOperator.
template <class T, class F>
class SinkOperator final : public FunctionOperator<OneInputOperator<T>, F> {
 public:
  using FunctionOperator<OneInputOperator<T>, F>::FunctionOperator;
  void prepareSnapshotPreBarrier(int64_t checkpointId) override {
    if constexpr (requires(F& f) { f.prepareSnapshotPreBarrier(checkpointId); }) this->function_.prepareSnapshotPreBarrier(checkpointId);
  }

 protected:
  void process(std::span<StreamRecord<T>> records) override {
    for (auto& record : records) {
      if constexpr (requires(F& f) { f.invoke(std::as_const(record.value)); })
        this->function_.invoke(std::as_const(record.value));
      else
        std::invoke(this->function_, std::as_const(record.value));
    }
  }
};

/// Names a side output and its element type. Flink: OutputTag.
template <class T>
struct OutputTag {
  std::string id;
};

/// What process functions get beside each record. Valid during the call only. Flink: ProcessFunction.Context.
class ProcessContext {
 public:
  virtual ~ProcessContext() = default;
  bool hasTimestamp() const { return hasTimestamp_; }
  int64_t timestamp() const { return timestamp_; }
  int64_t currentProcessingTime() const { return time_ ? time_->currentProcessingTime() : execution_->clock().epochMillis(); }
  ExecutionContext& execution() { return *execution_; }
  /// Emits to a side output; dropped where nobody reads it.
  template <class T>
  void output(const OutputTag<T>& tag, T value) {
    const auto found = sides_->find(tag.id);
    if (found == sides_->end()) return;
    StreamRecord<T> record(std::move(value));
    record.timestamp = timestamp_;
    record.hasTimestamp = hasTimestamp_;
    static_cast<Output<T>*>(found->second)->collect({&record, 1});
  }

  /// By the operator, not by user code.
  void bind(ExecutionContext& execution, const std::map<std::string, OutputBase*>& sides, const ProcessingTimeService* time = nullptr) {
    execution_ = &execution;
    sides_ = &sides;
    time_ = time;
  }
  void setTimestamp(int64_t timestamp) {
    timestamp_ = timestamp;
    hasTimestamp_ = true;
  }
  template <class T>
  void set(const StreamRecord<T>& record) {
    timestamp_ = record.timestamp;
    hasTimestamp_ = record.hasTimestamp;
  }

 private:
  ExecutionContext* execution_ = nullptr;
  const std::map<std::string, OutputBase*>* sides_ = nullptr;
  const ProcessingTimeService* time_ = nullptr;  ///< null: the executor's clock
  int64_t timestamp_ = kNoTimestamp;
  bool hasTimestamp_ = false;
};

/// `f(const In&, ProcessContext&, Collector<Out>&)`, or a member processElement of that shape. Flink: ProcessOperator.
template <class In, class Out, class F>
class ProcessOperator final : public FunctionOperator<OneInputOperator<In>, F> {
 public:
  ProcessOperator(OperatorSetup setup, F function)
      : FunctionOperator<OneInputOperator<In>, F>(std::move(setup), std::move(function)),
        counted_(this->template output<Out>(), this->metrics()),
        collector_(counted_) {
    processContext_.bind(this->context(), this->sideOutputs(), this->environment().processingTime);
  }

 protected:
  void process(std::span<StreamRecord<In>> records) override {
    for (auto& record : records) {
      collector_.setTimestampOf(record);
      processContext_.set(record);
      if constexpr (requires(F& f) { f.processElement(std::as_const(record.value), processContext_, collector_); })
        this->function_.processElement(std::as_const(record.value), processContext_, collector_);
      else
        std::invoke(this->function_, std::as_const(record.value), processContext_, collector_);
    }
  }

 private:
  CountingOutput<Out> counted_;
  Collector<Out> collector_;
  ProcessContext processContext_;
};

/// Two connected streams: `f.processElement1(const In1&, ProcessContext&, Collector<Out>&)` and processElement2. Flink: CoProcessOperator.
template <class In1, class In2, class Out, class F>
class CoProcessOperator final : public FunctionOperator<TwoInputOperator<In1, In2>, F> {
 public:
  CoProcessOperator(OperatorSetup setup, F function)
      : FunctionOperator<TwoInputOperator<In1, In2>, F>(std::move(setup), std::move(function)),
        counted_(this->template output<Out>(), this->metrics()),
        collector_(counted_) {
    processContext_.bind(this->context(), this->sideOutputs(), this->environment().processingTime);
  }

 protected:
  void processFirst(std::span<StreamRecord<In1>> records) override {
    for (auto& record : records) {
      collector_.setTimestampOf(record);
      processContext_.set(record);
      this->function_.processElement1(std::as_const(record.value), processContext_, collector_);
    }
  }
  void processSecond(std::span<StreamRecord<In2>> records) override {
    for (auto& record : records) {
      collector_.setTimestampOf(record);
      processContext_.set(record);
      this->function_.processElement2(std::as_const(record.value), processContext_, collector_);
    }
  }

 private:
  CountingOutput<Out> counted_;
  Collector<Out> collector_;
  ProcessContext processContext_;
};

}  // namespace weir
