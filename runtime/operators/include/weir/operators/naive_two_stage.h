#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weir/operators/two_stage.h"

namespace weir {

// Two stages as they are often written by hand, with the mistakes that give wrong numbers. For teaching, and to reproduce incidents; an
// aggregation that has to be right is AggregatedStream::twoStage.

/// `3|key`.
inline std::string saltedText(int32_t salt, const std::string& key) { return std::to_string(salt) + "|" + key; }
/// What stands behind the first `|`; all of it where there is none.
inline std::string unsaltedText(const std::string& key) {
  const size_t bar = key.find('|');
  return bar == std::string::npos ? key : key.substr(bar + 1);
}

struct NaiveTwoStageOptions {
  int32_t salts = 4;  ///< dealt in turn, from a counter that is not in the state
  FlushPolicy flush{};
  bool totals = false;             ///< keeps what it has shipped, and ships it again with what came
  bool flushesAtBarrier = true;    ///< else what it has gathered is in no checkpoint
  bool takesSaltOutAgain = true;  ///< else stage two aggregates per salted key
};

/// `value` under the text `salt|key`.
template <class T>
struct NaivelySalted {
  std::string key;
  T value{};
  WEIR_FIELDS(key, value)
};

/// Puts the salt into the text of the key. `keyFn` returns text.
template <class T, class KeyFn>
class NaiveSalt {
 public:
  NaiveSalt(KeyFn keyFn, int32_t salts) : keyFn_(std::move(keyFn)), salts_(salts) {}
  NaivelySalted<T> operator()(const T& value) { return {saltedText(next_++ % salts_, std::invoke(keyFn_, value)), value}; }

 private:
  KeyFn keyFn_;
  int32_t salts_, next_ = 0;
};

/// Stage one of the naive form: ships results.
template <class T, AggregateFunction F>
class NaiveLocalAggregateOperator final : public OneInputOperator<NaivelySalted<T>> {
 public:
  using Shipped = std::pair<std::string, typename F::Out>;
  NaiveLocalAggregateOperator(OperatorSetup setup, F function, NaiveTwoStageOptions options)
      : OneInputOperator<NaivelySalted<T>>(std::move(setup)), function_(std::move(function)), options_(options) {}

  void prepareSnapshotPreBarrier(int64_t) override {
    if (options_.flushesAtBarrier) flush();
  }
  void finish() override { flush(); }

 protected:
  void process(std::span<StreamRecord<NaivelySalted<T>>> records) override {
    for (const auto& record : records)
      function_.add(table_.get(record.value.key, [&] { return function_.createAccumulator(); }), record.value.value);
    gathered_ += static_cast<int64_t>(records.size());
    if (options_.flush.records > 0 && gathered_ >= options_.flush.records) flush();
  }

 private:
  void flush() {
    gathered_ = 0;
    for (const auto& entry : table_.entries()) {
      StreamRecord<Shipped> record({entry.key, function_.getResult(entry.value)});
      OperatorMetrics::add(this->metrics().numRecordsOut, 1);
      this->template output<Shipped>().collect({&record, 1});
    }
    if (!options_.totals) table_.clear();
  }

  F function_;
  const NaiveTwoStageOptions options_;
  AccumulatorTable<std::string, typename F::Acc> table_;
  int64_t gathered_ = 0;
};

}  // namespace weir
