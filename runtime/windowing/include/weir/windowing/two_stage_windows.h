#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/operators/two_stage.h"
#include "weir/windowing/window_operator.h"

namespace weir {

/// What travels between the stages of a windowed aggregation: an accumulator, with the window that it belongs to. A window of two stages is
/// the window of one, and not one that a timestamp of a result would fall into.
template <class K, class Acc>
struct WindowPart {
  K key{};
  TimeWindow window;
  Acc accumulator{};
  WEIR_FIELDS(key, window, accumulator)
};

/// Stage one of windows: gathers accumulators by window and key in memory. `In` is T or Salted<T>.
///
/// Says which records are too late, as one stage would: it sees the same watermark. Ships the parts of a window before the watermark that
/// ends it, late parts before the next one, and all of them before a barrier; so a part never comes too late for stage two, and there is no
/// state. Each part is a difference to those before, so that a window that fires again for a late record counts nothing twice.
template <class In, class T, class KeyFn, MergeableAggregate F>
class LocalWindowAggregateOperator final : public OneInputOperator<In> {
 public:
  using Key = KeyOf<T, KeyFn>;
  using Acc = typename F::Acc;
  using Shipped = WindowPart<Key, Acc>;
  LocalWindowAggregateOperator(OperatorSetup setup, KeyFn keyFn, F function, WindowSettings settings, FlushPolicy flush)
      : OneInputOperator<In>(std::move(setup)),
        keyFn_(std::move(keyFn)),
        function_(std::move(function)),
        settings_(std::move(settings)),
        policy_(flush) {}

  void prepareSnapshotPreBarrier(int64_t) override { flushUpTo(kMaxWatermark); }
  void finish() override { flushUpTo(kMaxWatermark); }

 protected:
  void process(std::span<StreamRecord<In>> records) override {
    if (gathered_ == 0 && policy_.interval > Millis(0)) startTimer();
    for (const auto& record : records) {
      const T& value = detail::unsalted<T>(record.value);
      const int64_t timestamp = record.hasTimestamp ? record.timestamp : kNoTimestamp;
      assigned_.clear();
      settings_.assigner->assignWindows(ElementRef(value), timestamp, 0, assigned_);
      bool taken = false;
      for (const TimeWindow& window : assigned_) {
        if (isOver(window.maxTimestamp())) continue;
        taken = true;
        function_.add(tableOf(window).get(std::invoke(keyFn_, value), [&] { return function_.createAccumulator(); }), value);
      }
      if (!taken && isOver(timestamp)) handleLate(value, record);
    }
    gathered_ += static_cast<int64_t>(records.size());
    if (policy_.records > 0 && gathered_ >= policy_.records) flushUpTo(kMaxWatermark);
  }
  void processWatermark(int64_t timestamp) override {
    flushUpTo(timestamp);
    watermark_ = timestamp;
    OneInputOperator<In>::processWatermark(timestamp);
  }

 private:
  using Table = AccumulatorTable<Key, Acc>;

  bool isOver(int64_t timestamp) const {
    const int64_t end = plusLong(timestamp, settings_.allowedLateness);
    return (end >= timestamp ? end : kMaxWatermark) <= watermark_;
  }
  /// Of few windows; mostly the one before.
  Table& tableOf(const TimeWindow& window) {
    if (!last_ || last_->first != window) last_ = &*windows_.try_emplace(window).first;
    return last_->second;
  }
  void handleLate(const T& value, const StreamRecord<In>& record) {
    if (settings_.lateTag.empty()) {
      OperatorMetrics::add(this->metrics().numLateRecordsDropped, 1);
    } else if (Output<T>* side = this->template sideOutput<T>(settings_.lateTag)) {
      StreamRecord<T> late(value);
      late.timestamp = record.timestamp;
      late.hasTimestamp = record.hasTimestamp;
      side->collect({&late, 1});
    }
  }
  void startTimer() {
    auto& clock = this->processingTime();
    timer_ = clock.registerTimer(clock.currentProcessingTime() + policy_.interval.count(), [this](int64_t) {
      timer_ = 0;
      flushUpTo(kMaxWatermark);
    });
  }
  /// Ships the parts of all windows that end with `watermark`, or have ended.
  void flushUpTo(int64_t watermark) {
    if (watermark == kMaxWatermark) {
      if (timer_ != 0) this->processingTime().cancelTimer(std::exchange(timer_, 0));
      gathered_ = 0;
    }
    for (auto at = windows_.begin(); at != windows_.end();) {
      if (at->first.maxTimestamp() > watermark) {
        ++at;
        continue;
      }
      ship(at->first, at->second);
      if (last_ == &*at) last_ = nullptr;
      at = windows_.erase(at);
    }
  }
  void ship(const TimeWindow& window, Table& table) {
    auto& entries = table.entries();
    for (size_t from = 0; from < entries.size(); from += kMaxBatch) {
      const size_t count = std::min(kMaxBatch, entries.size() - from);
      batch_.resize(count);
      for (size_t i = 0; i < count; ++i) {
        batch_[i].value = {std::move(entries[from + i].key), window, std::move(entries[from + i].value)};
        batch_[i].timestamp = window.maxTimestamp();
        batch_[i].hasTimestamp = true;
      }
      OperatorMetrics::add(this->metrics().numRecordsOut, count);
      this->template output<Shipped>().collect(batch_);
    }
  }

  KeyFn keyFn_;
  F function_;
  const WindowSettings settings_;
  const FlushPolicy policy_;
  std::map<TimeWindow, Table> windows_;
  std::pair<const TimeWindow, Table>* last_ = nullptr;  ///< in windows_; null: none
  int64_t watermark_ = kNoTimestamp;
  int64_t gathered_ = 0;  ///< records since the last flush of everything
  ProcessingTimeService::TimerId timer_ = 0;
  std::vector<TimeWindow> assigned_;  ///< of one record
  std::vector<StreamRecord<Shipped>> batch_;
};

/// Takes the key of what stage one ships.
struct WindowPartKey {
  template <class K, class Acc>
  const K& operator()(const WindowPart<K, Acc>& part) const {
    return part.key;
  }
};

/// Stage two's windows: those that the parts say. `Part`: the type of the records.
template <class Part>
class WindowsOfParts final : public WindowAssigner {
 public:
  void assignWindows(ElementRef element, int64_t, int64_t, std::vector<TimeWindow>& into) const override {
    into.push_back(element.as<Part>().window);
  }
  bool isEventTime() const override { return true; }
  TriggerPtr getDefaultTrigger() const override { return EventTimeTrigger::create(); }
  std::string toString() const override { return "WindowsOfParts()"; }
};

/// Stage two's aggregate: takes in accumulators in place of records.
template <class K, MergeableAggregate F>
struct MergeOfParts {
  using In = WindowPart<K, typename F::Acc>;
  using Acc = typename F::Acc;
  using Out = typename F::Out;
  static constexpr AggregateTraits kTraits = F::kTraits;
  F function;
  Acc createAccumulator() const { return function.createAccumulator(); }
  void add(Acc& acc, const In& part) const { function.merge(acc, part.accumulator); }
  void merge(Acc& into, const Acc& other) const { function.merge(into, other); }
  Out getResult(const Acc& acc) const { return function.getResult(acc); }
};

/// Why windows with these settings cannot be aggregated in two stages, as one sentence; empty: they can.
std::string whyNotInTwoStages(const WindowSettings& settings, bool evicts);

}  // namespace weir
