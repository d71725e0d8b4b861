#pragma once

#include <optional>
#include <vector>

#include "weir/operators/keyed.h"
#include "weir/scenario/aggregates.h"
#include "weir/windowing/window_context.h"

namespace weir {

/// The key's columns, the bounds of its window where it has some, the results.
inline void makeResultRow(const RowKey& key, const TimeWindow* window, const std::vector<Value>& results, Row& into) {
  std::vector<Value>& values = into.values;
  values.clear();
  for (size_t i = 0; i < key.size(); ++i) values.push_back(key.at(i));
  if (window) {
    values.emplace_back(window->start);
    values.emplace_back(window->end);
  }
  values.insert(values.end(), results.begin(), results.end());
}

/// The window function of aggregations. `keyColumns`: how many columns of the key are those of the result (a salt is not).
struct EmitResultRow {
  bool withBounds;
  void operator()(const RowKey& key, ProcessWindowContext<RowKey>& context, std::span<const std::vector<Value>> results,
                  Collector<Row>& out) {
    const TimeWindow window = context.window();
    Row row;
    makeResultRow(key, withBounds ? &window : nullptr, results.front(), row);
    out.collect(std::move(row));
  }
};

/// Running aggregates: each element changes the accumulators of its key and emits the key and their results so far. `A` is RowAggregate or
/// MergePartials.
template <class KeyFn, class A>
class RunningRowOperator final : public OneInputOperator<typename A::In> {
 public:
  using In = typename A::In;
  RunningRowOperator(OperatorSetup setup, KeyFn keyFn, A aggregate, KeyedStateBackendFactory<RowKey> backend)
      : OneInputOperator<In>(std::move(setup)),
        keys_(std::move(keyFn)),
        aggregate_(std::move(aggregate)),
        backendFactory_(std::move(backend)) {}

 protected:
  std::unique_ptr<AnyKeyedStateBackend> createKeyedState() override {
    auto backend = makeKeyedBackend<RowKey>(backendFactory_, this->environment(), this->context());
    backend_ = backend.get();
    return backend;
  }
  void onInitializeState(bool) override {
    slots_.emplace(stateOrThrow(backend_->valueSlots(ValueStateDescriptor<RowAccumulator>{.name = "_op_state"})));
  }
  void process(std::span<StreamRecord<In>> records) override {
    std::array<RowAccumulator*, kMaxBatch> accumulators;
    std::array<bool, kMaxBatch> created;
    const std::span<const RowKey* const> keys = keys_.of(records);
    slots_->get(keys, accumulators.data(), created.data());
    results_.resize(records.size());
    for (size_t i = 0; i < records.size(); ++i) {
      if (created[i]) *accumulators[i] = aggregate_.createAccumulator();
      aggregate_.add(*accumulators[i], records[i].value);
      makeResultRow(*keys[i], nullptr, aggregate_.getResult(*accumulators[i]), results_[i].value);
      results_[i].timestamp = records[i].timestamp;
      results_[i].hasTimestamp = records[i].hasTimestamp;
    }
    OperatorMetrics::add(this->metrics().numRecordsOut, records.size());
    this->template output<Row>().collect(results_);
  }

 private:
  BatchKeys<In, KeyFn> keys_;
  A aggregate_;
  KeyedStateBackendFactory<RowKey> backendFactory_;
  KeyedStateBackend<RowKey>* backend_ = nullptr;  ///< owned by StreamOperator
  std::optional<ValueSlots<RowKey, RowAccumulator>> slots_;
  std::vector<StreamRecord<Row>> results_;
};

}  // namespace weir
