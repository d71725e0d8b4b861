#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/operators/keyed.h"

namespace weir {

/// Name and types of a map of which every subtask has the same copy. Flink: the MapStateDescriptor of a broadcast state.
template <Serializable UK, Serializable UV>
struct BroadcastStateDescriptor {
  std::string name;
};

/// The broadcast states of one operator, by descriptor.
class BroadcastStates {
 public:
  explicit BroadcastStates(OperatorStateBackend& backend) : backend_(backend) {}
  template <class UK, class UV>
  std::map<UK, UV>& get(const BroadcastStateDescriptor<UK, UV>& d) {
    for (OperatorStateEntry* known : known_)
      if (known->name() == d.name)
        if (auto* state = dynamic_cast<BroadcastState<UK, UV>*>(known)) return state->entries();
    auto* state = stateOrThrow(backend_.broadcastState<UK, UV>(d.name));
    known_.push_back(state);
    return state->entries();
  }

 private:
  OperatorStateBackend& backend_;
  std::vector<OperatorStateEntry*> known_;
};

namespace detail {
/// What both sides of a broadcast function may know, delegated to the context of the operator.
template <class Base>
class BroadcastContextOf {
 public:
  BroadcastContextOf(Base& base, BroadcastStates& states, const int64_t& watermark) : base_(base), states_(states), watermark_(watermark) {}
  bool hasTimestamp() const { return base_.hasTimestamp(); }
  int64_t timestamp() const { return base_.timestamp(); }
  int64_t currentProcessingTime() const { return base_.currentProcessingTime(); }
  /// The smaller one of both inputs.
  int64_t currentWatermark() const { return watermark_; }
  ExecutionContext& execution() { return base_.execution(); }
  template <class T>
  void output(const OutputTag<T>& tag, T value) {
    base_.output(tag, std::move(value));
  }

 protected:
  Base& base_;
  BroadcastStates& states_;

 private:
  const int64_t& watermark_;
};
}  // namespace detail

/// With a record of the stream that is not broadcast: the state may be read only, since the other subtasks do not see this record.
/// Flink: BroadcastProcessFunction.ReadOnlyContext.
class ReadOnlyBroadcastContext : public detail::BroadcastContextOf<ProcessContext> {
 public:
  using BroadcastContextOf::BroadcastContextOf;
  template <class UK, class UV>
  const std::map<UK, UV>& getBroadcastState(const BroadcastStateDescriptor<UK, UV>& d) {
    return states_.get(d);
  }
};
/// With a broadcast record. Every subtask has to do the same. Flink: BroadcastProcessFunction.Context.
class BroadcastContext : public detail::BroadcastContextOf<ProcessContext> {
 public:
  using BroadcastContextOf::BroadcastContextOf;
  template <class UK, class UV>
  std::map<UK, UV>& getBroadcastState(const BroadcastStateDescriptor<UK, UV>& d) {
    return states_.get(d);
  }
};

/// Flink: KeyedBroadcastProcessFunction.ReadOnlyContext.
template <class K>
class KeyedReadOnlyBroadcastContext : public detail::BroadcastContextOf<KeyedProcessContext<K>> {
 public:
  using detail::BroadcastContextOf<KeyedProcessContext<K>>::BroadcastContextOf;
  template <class UK, class UV>
  const std::map<UK, UV>& getBroadcastState(const BroadcastStateDescriptor<UK, UV>& d) {
    return this->states_.get(d);
  }
  const K& currentKey() const { return this->base_.currentKey(); }
  TimerService<K>& timerService() { return this->base_.timerService(); }
};
/// Flink: KeyedBroadcastProcessFunction.Context.
template <class K>
class KeyedBroadcastContext : public detail::BroadcastContextOf<KeyedProcessContext<K>> {
 public:
  using Base = detail::BroadcastContextOf<KeyedProcessContext<K>>;
  KeyedBroadcastContext(KeyedProcessContext<K>& base, BroadcastStates& states, const int64_t& watermark, KeyedStateBackend<K>& backend)
      : Base(base, states, watermark), backend_(backend) {}
  template <class UK, class UV>
  std::map<UK, UV>& getBroadcastState(const BroadcastStateDescriptor<UK, UV>& d) {
    return this->states_.get(d);
  }
  /// `f(const K&, State&)` for each key of this subtask that has a value in the state.
  template <class Descriptor, class F>
  void applyToKeyedState(const Descriptor& descriptor, F f) {
    auto state = stateOrThrow(backend_.state(descriptor));
    for (const K& key : backend_.keys(descriptor.name)) {
      backend_.setCurrentKey(key);
      f(key, state);
    }
  }

 private:
  KeyedStateBackend<K>& backend_;
};

/// A stream (input 0) beside one that all subtasks get (input 1):
/// `f.processElement(const In1&, ReadOnlyBroadcastContext&, Collector<Out>&)` and
/// `f.processBroadcastElement(const In2&, BroadcastContext&, Collector<Out>&)`. Flink: CoBroadcastWithNonKeyedOperator.
template <class In1, class In2, class Out, class F>
class BroadcastProcessOperator final : public FunctionOperator<TwoInputOperator<In1, In2>, F> {
 public:
  using Base = FunctionOperator<TwoInputOperator<In1, In2>, F>;
  BroadcastProcessOperator(OperatorSetup setup, F function)
      : Base(std::move(setup), std::move(function)), counted_(this->template output<Out>(), this->metrics()), collector_(counted_) {
    context_.bind(this->context(), this->sideOutputs(), this->environment().processingTime);
  }

 protected:
  void onInitializeState(bool isRestored) override {
    states_.emplace(this->operatorState());
    Base::onInitializeState(isRestored);
  }
  void processFirst(std::span<StreamRecord<In1>> records) override {
    for (auto& record : records) {
      begin(record);
      ReadOnlyBroadcastContext context(context_, *states_, watermark_);
      this->function_.processElement(std::as_const(record.value), context, collector_);
    }
  }
  void processSecond(std::span<StreamRecord<In2>> records) override {
    for (auto& record : records) {
      begin(record);
      BroadcastContext context(context_, *states_, watermark_);
      this->function_.processBroadcastElement(std::as_const(record.value), context, collector_);
    }
  }
  void onEventTime(int64_t timestamp) override {
    watermark_ = timestamp;
    Base::onEventTime(timestamp);
  }

 private:
  template <class T>
  void begin(const StreamRecord<T>& record) {
    collector_.setTimestampOf(record);
    context_.set(record);
  }
  CountingOutput<Out> counted_;
  Collector<Out> collector_;
  ProcessContext context_;
  std::optional<BroadcastStates> states_;
  int64_t watermark_ = kNoTimestamp;
};

/// The same beside a keyed stream, whose state and timers processElement sees; perhaps with onTimer, as a keyed process function has it.
/// Flink: CoBroadcastWithKeyedOperator.
template <class In1, class In2, class Out, class KeyFn, class F>
class KeyedBroadcastProcessOperator final : public KeyedFunctionOperator<TwoInputOperator<In1, In2>, KeyOf<In1, KeyFn>, Out, F> {
 public:
  using K = KeyOf<In1, KeyFn>;
  using Base = KeyedFunctionOperator<TwoInputOperator<In1, In2>, K, Out, F>;
  KeyedBroadcastProcessOperator(OperatorSetup setup, KeyFn keyFn, F function, KeyedStateBackendFactory<K> backend)
      : Base(std::move(setup), std::move(function), std::move(backend)), keyFn_(std::move(keyFn)) {}

 protected:
  void onInitializeState(bool isRestored) override {
    states_.emplace(this->operatorState());
    Base::onInitializeState(isRestored);
  }
  void processFirst(std::span<StreamRecord<In1>> records) override {
    for (auto& record : records) {
      this->begin(record, std::invoke(keyFn_, std::as_const(record.value)));
      KeyedReadOnlyBroadcastContext<K> context(this->processContext_, *states_, watermark_);
      this->function_.processElement(std::as_const(record.value), context, this->collector_);
    }
  }
  void processSecond(std::span<StreamRecord<In2>> records) override {
    for (auto& record : records) {
      this->collector_.setTimestampOf(record);
      this->processContext_.set(record);
      KeyedBroadcastContext<K> context(this->processContext_, *states_, watermark_, *this->backend_);
      this->function_.processBroadcastElement(std::as_const(record.value), context, this->collector_);
    }
  }
  void processWatermark(int64_t timestamp) override {
    watermark_ = timestamp;
    Base::processWatermark(timestamp);
  }

 private:
  KeyFn keyFn_;
  std::optional<BroadcastStates> states_;
  int64_t watermark_ = kNoTimestamp;
};

}  // namespace weir
