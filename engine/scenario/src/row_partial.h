#pragma once

#include <vector>

#include "weir/aggregate/accumulator_table.h"
#include "weir/operators/salting.h"
#include "weir/scenario/aggregates.h"
#include "weir/scenario/scenario_file.h"
#include "weir/windowing/window_assigner.h"

namespace weir {

/// What stage one ships: the accumulators of a key and a window, never results. The salt stays behind.
struct RowPartial {
  RowKey key;
  TimeWindow window;  ///< [0, 0) where there are no windows
  RowAccumulator accumulator;
  WEIR_FIELDS(key, window, accumulator)
};
struct PartialKey {
  const RowKey& operator()(const RowPartial& partial) const { return partial.key; }
};

/// What stage two does with it.
struct MergePartials {
  using In = RowPartial;
  using Acc = RowAccumulator;
  using Out = std::vector<Value>;
  static constexpr AggregateTraits kTraits{.mergeable = true};
  RowAggregate aggregate;
  Acc createAccumulator() const { return aggregate.createAccumulator(); }
  void add(Acc& acc, const RowPartial& partial) const { aggregate.merge(acc, partial.accumulator); }
  void merge(Acc& into, const Acc& other) const { aggregate.merge(into, other); }
  Out getResult(const Acc& acc) const { return aggregate.getResult(acc); }
};

/// The windows of stage two: those that stage one has put its rows into. A result of stage one falls into exactly one of them, also where
/// windows slide.
class CarriedWindows final : public WindowAssigner {
 public:
  explicit CarriedWindows(bool merging) : merging_(merging) {}
  void assignWindows(ElementRef element, int64_t, int64_t, std::vector<TimeWindow>& into) const override {
    into.push_back(element.as<RowPartial>().window);
  }
  bool isEventTime() const override { return true; }
  bool isMerging() const override { return merging_; }
  TriggerPtr getDefaultTrigger() const override { return EventTimeTrigger::create(); }
  std::string toString() const override { return "CarriedWindows()"; }

 private:
  bool merging_;
};

/// Stage one: gathers accumulators by key and window in memory, and ships those of a window before the watermark that ends it goes on, so
/// that stage two never sees them late. Sessions are shipped before every watermark, because only stage two sees which of them meet.
/// Everything is shipped before a barrier and at the end: there is no state. Late rows are told here, as in one stage.
class RowLocalAggregateOperator final : public OneInputOperator<Salted<Row>> {
 public:
  /// `assigner`: null without windows.
  RowLocalAggregateOperator(OperatorSetup setup, RowKeySelector key, RowAggregate aggregate, std::shared_ptr<const WindowAssigner> assigner,
                            const WindowSpec& window, const TwoStageSpec& twoStage);

  void prepareSnapshotPreBarrier(int64_t) override { ship(kMaxWatermark); }
  void finish() override { ship(kMaxWatermark); }

 protected:
  void process(std::span<StreamRecord<Salted<Row>>> records) override;
  void processWatermark(int64_t timestamp) override;

 private:
  struct Part {
    TimeWindow window;
    RowAccumulator accumulator;
    int64_t timestamp = kNoTimestamp;  ///< of what is shipped: the window's last millisecond, or that of the latest row
    bool hasTimestamp = false;
  };
  using Parts = std::vector<Part>;

  void add(const StreamRecord<Salted<Row>>& record);
  void addTo(Parts& parts, const TimeWindow& window, const StreamRecord<Salted<Row>>& record);
  Part& partOf(Parts& parts, const TimeWindow& window);
  bool isOver(const TimeWindow& window) const;
  /// All that the watermark would end.
  void ship(int64_t watermark);
  void emit();
  void startTimer();

  RowKeySelector key_;
  RowAggregate aggregate_;
  std::shared_ptr<const WindowAssigner> assigner_;
  const int64_t lateness_, flushRecords_, flushMillis_;
  const std::string lateTag_;

  AccumulatorTable<RowKey, Parts> table_;
  std::vector<TimeWindow> assigned_;
  int64_t watermark_ = kNoTimestamp;
  int64_t earliest_ = kMaxWatermark;  ///< the smallest timestamp in the table
  int64_t gathered_ = 0;              ///< rows since everything was shipped
  ProcessingTimeService::TimerId timer_ = 0;
  std::vector<StreamRecord<RowPartial>> batch_;
};

}  // namespace weir
