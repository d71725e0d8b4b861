#pragma once

#include <array>
#include <functional>
#include <optional>
#include <type_traits>

#include "weir/exchange/key_groups.h"
#include "weir/operators/stateless.h"

namespace weir {

/// How a key is taken from a record: any callable on `const T&`, or a member pointer. A key returned by reference is not copied.
template <class T, class KeyFn>
using KeyOf = std::remove_cvref_t<std::invoke_result_t<const KeyFn&, const T&>>;

/// Points at the keys of a batch; holds copies only where the selector returns values.
template <class T, class KeyFn>
class BatchKeys {
 public:
  using Key = KeyOf<T, KeyFn>;
  static constexpr bool kByReference = std::is_lvalue_reference_v<std::invoke_result_t<const KeyFn&, const T&>>;

  explicit BatchKeys(KeyFn keyFn) : keyFn_(std::move(keyFn)) {}
  /// Valid until the records change or the next call. Requires: at most kMaxBatch records.
  std::span<const Key* const> of(std::span<StreamRecord<T>> records) {
    for (size_t i = 0; i < records.size(); ++i) {
      if constexpr (kByReference) {
        pointers_[i] = &std::invoke(keyFn_, std::as_const(records[i].value));
      } else {
        values_[i] = std::invoke(keyFn_, std::as_const(records[i].value));
        pointers_[i] = &values_[i];
      }
    }
    return {pointers_.data(), records.size()};
  }
  const KeyFn& function() const { return keyFn_; }
  Key one(const T& value) const { return std::invoke(keyFn_, value); }

 private:
  struct None {};
  KeyFn keyFn_;
  std::array<const Key*, kMaxBatch> pointers_;
  [[no_unique_address]] std::conditional_t<kByReference, None, std::array<Key, kMaxBatch>> values_{};
};

/// `to = from` for two records with the same key. A struct is the tuple of its named members: the one that is the key is left as it is.
template <class T, class KeyFn>
void assignAllButKey(T& to, const T& from, const KeyFn& keyFn) {
  if constexpr (HasFields<T> && std::is_member_object_pointer_v<KeyFn> && std::is_same_v<KeyOf<T, KeyFn>, std::string>) {
    const void* key = &std::invoke(keyFn, std::as_const(to));
    const auto into = fieldsOf(to);
    const auto out = fieldsOf(from);
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((static_cast<const void*>(&std::get<I>(into)) == key ? void() : void(std::get<I>(into) = std::get<I>(out))), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(fieldsOf(to))>>{});
  } else {
    to = from;
  }
}

/// Makes the keyed backend of a keyed operator; what `createKeyedState` of all of them does.
template <class K>
std::unique_ptr<KeyedStateBackend<K>> makeKeyedBackend(const KeyedStateBackendFactory<K>& factory, TaskEnvironment& environment,
                                                       ExecutionContext& context) {
  KeyedStateBackendParameters parameters;
  parameters.range = keyGroupRangeForOperatorIndex(environment.subtask(), environment.parallelism, environment.maxParallelism);
  parameters.maxParallelism = environment.maxParallelism;
  parameters.random = Random(context.random().next());
  parameters.clock = &context.clock();
  return factory(parameters);
}

/// A running reduction: each record is folded into the value of its key, which is then emitted. `reduce(T& accumulated, const T& value)`
/// changes the first in place. Works in batches. Flink: StreamGroupedReduceOperator.
template <class T, class KeyFn, class Reduce>
class KeyedReduceOperator final : public OneInputOperator<T> {
 public:
  using Key = KeyOf<T, KeyFn>;
  KeyedReduceOperator(OperatorSetup setup, KeyFn keyFn, Reduce reduce, KeyedStateBackendFactory<Key> backend)
      : OneInputOperator<T>(std::move(setup)), keys_(std::move(keyFn)), reduce_(std::move(reduce)), backendFactory_(std::move(backend)) {}

 protected:
  std::unique_ptr<AnyKeyedStateBackend> createKeyedState() override {
    auto backend = makeKeyedBackend<Key>(backendFactory_, this->environment(), this->context());
    typedBackend_ = backend.get();
    return backend;
  }
  void onInitializeState(bool) override {
    slots_.emplace(stateOrThrow(typedBackend_->valueSlots(ValueStateDescriptor<T>{.name = "_op_state"})));
  }

  void process(std::span<StreamRecord<T>> records) override {
    std::array<T*, kMaxBatch> values;
    std::array<bool, kMaxBatch> created;
    slots_->get(keys_.of(records), values.data(), created.data());
    for (size_t i = 0; i < records.size(); ++i) {
      if (created[i]) {
        *values[i] = records[i].value;
      } else {
        reduce_(*values[i], std::as_const(records[i].value));
        assignAllButKey(records[i].value, std::as_const(*values[i]), keys_.function());
      }
    }
    OperatorMetrics::add(this->metrics().numRecordsOut, records.size());
    this->template output<T>().collect(records);
  }

 private:
  BatchKeys<T, KeyFn> keys_;
  Reduce reduce_;
  KeyedStateBackendFactory<Key> backendFactory_;
  KeyedStateBackend<Key>* typedBackend_ = nullptr;  ///< owned by StreamOperator
  std::optional<ValueSlots<Key, T>> slots_;
};

/// What open() of a keyed function gets: its state, by descriptor. Flink: RuntimeContext of a keyed stream.
template <class K>
class KeyedRuntimeContext : public RuntimeContext {
 public:
  KeyedRuntimeContext(TaskEnvironment& environment, ExecutionContext& context, KeyedStateBackend<K>& backend)
      : RuntimeContext(environment, context), backend_(backend) {}
  /// ValueState, ListState, MapState, ReducingState or AggregatingState, as the descriptor says.
  template <class Descriptor>
  auto state(const Descriptor& descriptor) {
    return stateOrThrow(backend_.state(descriptor));
  }

 private:
  KeyedStateBackend<K>& backend_;
};

/// Time, and the timers of the current key. Flink: TimerService.
template <class K>
class TimerService {
 public:
  explicit TimerService(InternalTimerService<K, VoidNamespace>& timers) : timers_(timers) {}
  int64_t currentProcessingTime() const { return timers_.currentProcessingTime(); }
  /// Long.MIN_VALUE before the first one, also after a restore.
  int64_t currentWatermark() const { return timers_.currentWatermark(); }
  /// Setting one twice is setting it once.
  void registerEventTimeTimer(int64_t time) { timers_.registerEventTimeTimer({}, time); }
  void registerProcessingTimeTimer(int64_t time) { timers_.registerProcessingTimeTimer({}, time); }
  /// Fine where there is none.
  void deleteEventTimeTimer(int64_t time) { timers_.deleteEventTimeTimer({}, time); }
  void deleteProcessingTimeTimer(int64_t time) { timers_.deleteProcessingTimeTimer({}, time); }

 private:
  InternalTimerService<K, VoidNamespace>& timers_;
};

/// Adds the current key and its timers. Flink: KeyedProcessFunction.Context.
template <class K>
class KeyedProcessContext : public ProcessContext {
 public:
  const K& currentKey() const { return backend_->currentKey(); }
  TimerService<K>& timerService() { return *timers_; }

  /// By the operator, not by user code.
  void setBackend(KeyedStateBackend<K>& backend, TimerService<K>& timers) {
    backend_ = &backend;
    timers_ = &timers;
  }

 private:
  KeyedStateBackend<K>* backend_ = nullptr;
  TimerService<K>* timers_ = nullptr;
};

/// Flink: TimeDomain.
enum class TimeDomain { kEventTime, kProcessingTime };

/// What onTimer gets: its timestamp() is that of the timer. Flink: KeyedProcessFunction.OnTimerContext.
template <class K>
class OnTimerContext : public KeyedProcessContext<K> {
 public:
  TimeDomain timeDomain() const { return domain_; }
  void setTimeDomain(TimeDomain domain) { domain_ = domain; }

 private:
  TimeDomain domain_ = TimeDomain::kEventTime;
};

/// What the two keyed process operators share: the backend, open() with state, and timers, which call
/// `f.onTimer(int64_t timestamp, OnTimerContext<K>&, Collector<Out>&)` where the function has it. What it emits has the time of the timer,
/// or none where that was one of processing time. `Base` is their operator class.
template <class Base, class K, class Out, class F>
class KeyedFunctionOperator : public FunctionOperator<Base, F>, private Triggerable<K, VoidNamespace> {
 public:
  KeyedFunctionOperator(OperatorSetup setup, F function, KeyedStateBackendFactory<K> backend)
      : FunctionOperator<Base, F>(std::move(setup), std::move(function)),
        backendFactory_(std::move(backend)),
        counted_(this->template output<Out>(), this->metrics()),
        collector_(counted_) {}

  void open() override {
    if constexpr (requires(F& f, KeyedRuntimeContext<K>& c) { f.open(c); }) {
      KeyedRuntimeContext<K> runtime(this->environment(), this->context(), *backend_);
      this->function_.open(runtime);
    }
    timers_.emplace(this->internalTimerService("user-timers", *backend_, static_cast<Triggerable<K, VoidNamespace>&>(*this)));
    for (ProcessContext* context : {static_cast<ProcessContext*>(&processContext_), static_cast<ProcessContext*>(&timerContext_)})
      context->bind(this->context(), this->sideOutputs(), this->environment().processingTime);
    processContext_.setBackend(*backend_, *timers_);
    timerContext_.setBackend(*backend_, *timers_);
  }

 protected:
  std::unique_ptr<AnyKeyedStateBackend> createKeyedState() override {
    auto backend = makeKeyedBackend<K>(backendFactory_, this->environment(), this->context());
    backend_ = backend.get();
    return backend;
  }
  /// In front of each record.
  template <class In>
  void begin(const StreamRecord<In>& record, const K& key) {
    backend_->setCurrentKey(key);
    collector_.setTimestampOf(record);
    processContext_.set(record);
  }

  KeyedStateBackend<K>* backend_ = nullptr;  ///< owned by StreamOperator

 private:
  void onEventTime(const InternalTimer<K, VoidNamespace>& timer) override {
    collector_.setTimestamp(timer.timestamp);
    fire(timer, TimeDomain::kEventTime);
  }
  void onProcessingTime(const InternalTimer<K, VoidNamespace>& timer) override {
    collector_.eraseTimestamp();
    fire(timer, TimeDomain::kProcessingTime);
  }
  void fire(const InternalTimer<K, VoidNamespace>& timer, TimeDomain domain) {
    if constexpr (requires(F& f) { f.onTimer(int64_t{0}, timerContext_, collector_); }) {
      timerContext_.setTimestamp(timer.timestamp);
      timerContext_.setTimeDomain(domain);
      this->function_.onTimer(timer.timestamp, timerContext_, collector_);
    }
  }

  KeyedStateBackendFactory<K> backendFactory_;
  CountingOutput<Out> counted_;
  OnTimerContext<K> timerContext_;
  std::optional<TimerService<K>> timers_;

 protected:
  Collector<Out> collector_;
  KeyedProcessContext<K> processContext_;
};

/// `f.processElement(const In&, KeyedProcessContext<K>&, Collector<Out>&)` with state and timers of the record's key.
/// Flink: KeyedProcessOperator.
template <class In, class Out, class KeyFn, class F>
class KeyedProcessOperator final : public KeyedFunctionOperator<OneInputOperator<In>, KeyOf<In, KeyFn>, Out, F> {
 public:
  using Key = KeyOf<In, KeyFn>;
  using Base = KeyedFunctionOperator<OneInputOperator<In>, Key, Out, F>;
  KeyedProcessOperator(OperatorSetup setup, KeyFn keyFn, F function, KeyedStateBackendFactory<Key> backend)
      : Base(std::move(setup), std::move(function), std::move(backend)), keyFn_(std::move(keyFn)) {}

 protected:
  void process(std::span<StreamRecord<In>> records) override {
    for (auto& record : records) {
      this->begin(record, std::invoke(keyFn_, std::as_const(record.value)));
      this->function_.processElement(std::as_const(record.value), this->processContext_, this->collector_);
    }
  }

 private:
  KeyFn keyFn_;
};

/// Two keyed streams with one key type: processElement1 and processElement2 see the same state and timers. Flink: KeyedCoProcessOperator.
template <class In1, class In2, class Out, class KeyFn1, class KeyFn2, class F>
class KeyedCoProcessOperator final : public KeyedFunctionOperator<TwoInputOperator<In1, In2>, KeyOf<In1, KeyFn1>, Out, F> {
 public:
  using Key = KeyOf<In1, KeyFn1>;
  using Base = KeyedFunctionOperator<TwoInputOperator<In1, In2>, Key, Out, F>;
  static_assert(std::same_as<Key, KeyOf<In2, KeyFn2>>, "Connected keyed streams need keys of the same type");
  KeyedCoProcessOperator(OperatorSetup setup, KeyFn1 keyFn1, KeyFn2 keyFn2, F function, KeyedStateBackendFactory<Key> backend)
      : Base(std::move(setup), std::move(function), std::move(backend)), keyFn1_(std::move(keyFn1)), keyFn2_(std::move(keyFn2)) {}

 protected:
  void processFirst(std::span<StreamRecord<In1>> records) override {
    for (auto& record : records) {
      this->begin(record, std::invoke(keyFn1_, std::as_const(record.value)));
      this->function_.processElement1(std::as_const(record.value), this->processContext_, this->collector_);
    }
  }
  void processSecond(std::span<StreamRecord<In2>> records) override {
    for (auto& record : records) {
      this->begin(record, std::invoke(keyFn2_, std::as_const(record.value)));
      this->function_.processElement2(std::as_const(record.value), this->processContext_, this->collector_);
    }
  }

 private:
  KeyFn1 keyFn1_;
  KeyFn2 keyFn2_;
};

}  // namespace weir
