#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/aggregate/accumulator_table.h"
#include "weir/aggregate/aggregate_function.h"
#include "weir/operators/keyed.h"
#include "weir/operators/salting.h"

namespace weir {

/// When stage one ships what it has gathered, besides before every watermark, before every barrier and at the end.
struct FlushPolicy {
  int64_t records = 10'000;  ///< that a subtask has taken in; 0: any number
  Millis interval{1000};     ///< of processing time after the first of them; 0: never
};

/// How an aggregation is done in two stages.
template <class K>
struct TwoStageOptions {
  /// Over how many subtasks' worth of keys a key is spread before stage one. 0: no salts; stage one runs with the producers, in front of
  /// the exchange, and ships one accumulator per key and flush of each.
  int32_t salts = 64;
  /// See SaltOptions.
  std::vector<K> hotKeys{};
  std::optional<HotKeyDetection> detect{};
  bool adaptive = false;
  FlushPolicy flush{};

  SaltOptions<K> salting() const { return {salts, hotKeys, detect, adaptive}; }
  /// What is wrong with them, as one sentence; empty: nothing.
  std::string mistake() const {
    if (salts < 0) return "salts " + std::to_string(salts) + " is below 0: give the number of salts, or 0 for stage one at the producers";
    if (flush.records < 0 || flush.interval < Millis(0))
      return "a flush policy below 0: give a number of records, an interval, or 0 for none";
    if (detect && !(detect->share > 0 && detect->share < 1)) return "a hot key's share that is not between 0 and 1";
    if (detect && (detect->capacity == 0 || detect->memory < 2)) return "a detection of hot keys that watches none";
    return "";
  }
};

/// What travels between the stages: the accumulator of one key, never a result. The salt stays behind in stage one.
template <class K, class Acc>
struct Accumulated {
  K key{};
  Acc accumulator{};
  WEIR_FIELDS(key, accumulator)
};

namespace detail {
template <class T>
const T& unsalted(const T& record) { return record; }
template <class T>
const T& unsalted(const Salted<T>& record) { return record.value; }
}  // namespace detail

/// Stage one: gathers accumulators by key in memory and ships them. `In` is T or Salted<T>.
///
/// It holds nothing when a barrier passes, nor when a watermark does: so it has no state, may be rescaled at will, its results are exactly
/// once with those of stage two, and nothing that it ships comes behind the watermark that its records came before. Each accumulator is a
/// difference to what was shipped before. Flink: MapBundleOperator with a local aggregate of the Table API.
template <class In, class T, class KeyFn, MergeableAggregate F>
class LocalAggregateOperator final : public OneInputOperator<In> {
 public:
  using Key = KeyOf<T, KeyFn>;
  using Acc = typename F::Acc;
  using Shipped = Accumulated<Key, Acc>;
  LocalAggregateOperator(OperatorSetup setup, KeyFn keyFn, F function, FlushPolicy flush)
      : OneInputOperator<In>(std::move(setup)), keyFn_(std::move(keyFn)), function_(std::move(function)), policy_(flush) {}

  void prepareSnapshotPreBarrier(int64_t) override { flush(); }
  void finish() override { flush(); }

 protected:
  void process(std::span<StreamRecord<In>> records) override {
    if (table_.empty() && policy_.interval > Millis(0)) startTimer();
    for (const auto& record : records) {
      const T& value = detail::unsalted<T>(record.value);
      Part& part = table_.get(std::invoke(keyFn_, value), [&] { return Part{function_.createAccumulator()}; });
      function_.add(part.accumulator, value);
      if (record.hasTimestamp && (!part.hasTimestamp || record.timestamp > part.timestamp)) {
        part.timestamp = record.timestamp;
        part.hasTimestamp = true;
      }
    }
    gathered_ += static_cast<int64_t>(records.size());
    if (policy_.records > 0 && gathered_ >= policy_.records) flush();
  }
  void processWatermark(int64_t timestamp) override {
    flush();
    OneInputOperator<In>::processWatermark(timestamp);
  }

 private:
  struct Part {
    Acc accumulator;
    int64_t timestamp = kNoTimestamp;  ///< the latest of its records
    bool hasTimestamp = false;
  };

  void startTimer() {
    auto& clock = this->processingTime();
    timer_ = clock.registerTimer(clock.currentProcessingTime() + policy_.interval.count(), [this](int64_t) {
      timer_ = 0;
      flush();
    });
  }
  void flush() {
    if (timer_ != 0) this->processingTime().cancelTimer(std::exchange(timer_, 0));
    gathered_ = 0;
    auto& entries = table_.entries();
    for (size_t from = 0; from < entries.size(); from += kMaxBatch) {
      const size_t count = std::min(kMaxBatch, entries.size() - from);
      batch_.resize(count);
      for (size_t i = 0; i < count; ++i) {
        auto& entry = entries[from + i];
        batch_[i].value.key = std::move(entry.key);
        batch_[i].value.accumulator = std::move(entry.value.accumulator);
        batch_[i].timestamp = entry.value.timestamp;
        batch_[i].hasTimestamp = entry.value.hasTimestamp;
      }
      OperatorMetrics::add(this->metrics().numRecordsOut, count);
      this->template output<Shipped>().collect(batch_);
    }
    table_.clear();
  }

  KeyFn keyFn_;
  F function_;
  const FlushPolicy policy_;
  AccumulatorTable<Key, Part> table_;
  int64_t gathered_ = 0;  ///< records in table_
  ProcessingTimeService::TimerId timer_ = 0;
  std::vector<StreamRecord<Shipped>> batch_;
};

/// A running aggregation that emits (key, result so far): the accumulators lie in keyed state, under one name whether they are filled by
/// records or by merges, so that a job may be restored in the other form.
template <class In, class KeyFn, AggregateFunction F>
class RunningAggregateOperator : public OneInputOperator<In> {
 public:
  using Key = KeyOf<In, KeyFn>;
  using Acc = typename F::Acc;
  using Result = std::pair<Key, typename F::Out>;
  RunningAggregateOperator(OperatorSetup setup, KeyFn keyFn, F function, KeyedStateBackendFactory<Key> backend)
      : OneInputOperator<In>(std::move(setup)), function_(std::move(function)), keys_(std::move(keyFn)),
        backendFactory_(std::move(backend)) {}

 protected:
  std::unique_ptr<AnyKeyedStateBackend> createKeyedState() override {
    auto backend = makeKeyedBackend<Key>(backendFactory_, this->environment(), this->context());
    typedBackend_ = backend.get();
    return backend;
  }
  void onInitializeState(bool) override {
    AggregatingStateDescriptor<typename F::In, Acc, typename F::Out> descriptor;
    descriptor.name = "accumulators";
    descriptor.initial = function_.createAccumulator();
    slots_.emplace(stateOrThrow(typedBackend_->accumulatorSlots(descriptor)));
  }
  void process(std::span<StreamRecord<In>> records) override {
    std::array<Acc*, kMaxBatch> accumulators;
    std::array<bool, kMaxBatch> created;
    const auto keys = keys_.of(records);
    slots_->get(keys, accumulators.data(), created.data());
    results_.resize(records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      takeIn(*accumulators[i], records[i].value, created[i]);
      results_[i].value.first = *keys[i];
      results_[i].value.second = function_.getResult(std::as_const(*accumulators[i]));
      results_[i].timestamp = records[i].timestamp;
      results_[i].hasTimestamp = records[i].hasTimestamp;
    }
    OperatorMetrics::add(this->metrics().numRecordsOut, results_.size());
    this->template output<Result>().collect(results_);
  }
  /// `created`: the accumulator is as new.
  virtual void takeIn(Acc& accumulator, In& record, bool created) = 0;

  F function_;

 private:
  BatchKeys<In, KeyFn> keys_;
  KeyedStateBackendFactory<Key> backendFactory_;
  KeyedStateBackend<Key>* typedBackend_ = nullptr;  ///< owned by StreamOperator
  std::optional<ValueSlots<Key, Acc>> slots_;
  std::vector<StreamRecord<Result>> results_;
};

/// One stage: a result per record.
template <class T, class KeyFn, AggregateFunction F>
class AggregateOperator final : public RunningAggregateOperator<T, KeyFn, F> {
 public:
  using RunningAggregateOperator<T, KeyFn, F>::RunningAggregateOperator;

 protected:
  void takeIn(typename F::Acc& accumulator, T& record, bool) override { this->function_.add(accumulator, std::as_const(record)); }
};

/// Takes the key of what stage one ships.
template <class K, class Acc>
struct ShippedKey {
  const K& operator()(const Accumulated<K, Acc>& record) const { return record.key; }
};

/// Stage two: merges accumulators; a result per accumulator that comes. Flink: the global aggregate of the Table API.
template <class K, MergeableAggregate F>
class GlobalAggregateOperator final
    : public RunningAggregateOperator<Accumulated<K, typename F::Acc>, ShippedKey<K, typename F::Acc>, F> {
 public:
  using Acc = typename F::Acc;
  using Base = RunningAggregateOperator<Accumulated<K, Acc>, ShippedKey<K, Acc>, F>;
  GlobalAggregateOperator(OperatorSetup setup, F function, KeyedStateBackendFactory<K> backend)
      : Base(std::move(setup), {}, std::move(function), std::move(backend)) {}

  void open() override {
    if constexpr (F::kTraits.orderSensitive)
      if (this->environment().subtask() == 0)
        Logger(this->environment().world.log, "weir.operators.GlobalAggregateOperator")
            .warn("'{}' aggregates in two stages what hangs on the order of its records, which is lost between subtasks.", this->name());
  }

 protected:
  void takeIn(Acc& accumulator, Accumulated<K, Acc>& record, bool created) override {
    if (created)
      accumulator = std::move(record.accumulator);
    else
      this->function_.merge(accumulator, std::as_const(record.accumulator));
  }
};

}  // namespace weir
