#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "scenario/scenario.h"

namespace weir {

/// A sum per key and 100 ms of event time, kept by hand: the window's timer emits it. What timers are for, without the window operator; or
/// with it.
struct Event {
  int64_t key = 0, time = 0, amount = 0;
  WEIR_FIELDS(key, time, amount)
  auto operator<=>(const Event&) const = default;
};

/// Record i of a split happened at 5 i, give or take 40 ms. Splits are read in turn; a paused reader looks every 10 ms.
class EventReader {
 public:
  using Element = Event;
  static constexpr int32_t kSplits = 3;
  static constexpr int64_t kKeys = 7;

  explicit EventReader(int64_t perSplit, std::shared_ptr<SourceSwitches> switches = std::make_shared<SourceSwitches>())
      : perSplit_(perSplit), switches_(std::move(switches)) {}
  static Event at(int32_t split, int64_t position) {
    const int64_t draw = static_cast<int64_t>(Random(static_cast<uint64_t>(position * kSplits + split + 1)).below(41));
    return {position % kKeys, position * 5 + draw, split + 1};
  }
  int32_t numberOfSplits(int32_t) const { return kSplits; }
  void open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
    execution_ = &context.execution;
    splits_ = &splits;
  }
  size_t poll(std::span<StreamRecord<Event>> into, bool& end) {
    if (switches_->paused) {
      execution_->spend(10 * kMillisecond, CostMode::kSleep);
      return 0;
    }
    end = true;
    for (size_t tried = 0; tried < splits_->size(); ++tried) {
      SourceSplit& split = (*splits_)[next_++ % splits_->size()];
      if (split.position == perSplit_) continue;
      end = false;
      into[0] = StreamRecord<Event>(at(split.id, split.position++));
      return 1;
    }
    return 0;
  }

 private:
  int64_t perSplit_;
  std::shared_ptr<SourceSwitches> switches_;
  ExecutionContext* execution_ = nullptr;
  std::vector<SourceSplit>* splits_ = nullptr;
  size_t next_ = 0;
};

/// Emits (key, end of the window, sum). A record behind the watermark fails the test: none may be late here.
class SumPerWindow {
 public:
  static constexpr int64_t kSize = 100;
  void open(KeyedRuntimeContext<int64_t>& context) {
    sums_ = context.state(MapStateDescriptor<int64_t, int64_t>{.name = "sums"});
  }
  void processElement(const Event& event, KeyedProcessContext<int64_t>& context, Collector<Event>&) {
    const int64_t end = event.time / kSize * kSize + kSize;
    EXPECT_GT(end - 1, context.timerService().currentWatermark()) << "late";
    sums_.slot(end) += event.amount;
    context.timerService().registerEventTimeTimer(end - 1);
  }
  void onTimer(int64_t timestamp, OnTimerContext<int64_t>& context, Collector<Event>& out) {
    const int64_t* sum = sums_.get(timestamp + 1);
    ASSERT_NE(sum, nullptr) << "a timer without its sum";
    out.collect({context.currentKey(), timestamp + 1, *sum});
    sums_.remove(timestamp + 1);
  }

 private:
  MapState<int64_t, int64_t> sums_;
};

/// source -> timestamps and watermarks -> keyBy -> sums -> an exactly-once store, under simulation.
struct WindowedJob : Scenario {
  using Store = TransactionalCollectResult<Event>;
  std::vector<std::shared_ptr<Store>> stores;
  std::shared_ptr<SourceSwitches> switches = std::make_shared<SourceSwitches>();
  int64_t perSplit;
  double rate;  ///< records a second, of all subtasks
  Nanos cost{};
  bool windowOperator = false;  ///< sums by the window operator instead of by hand

  WindowedJob(int64_t recordsPerSplit, double recordsPerSecond, uint64_t seed = 1)
      : Scenario(seed), perSplit(recordsPerSplit), rate(recordsPerSecond) {}

  void program(int32_t sources, int32_t sums) {
    newProgram();
    auto store = stores.emplace_back(std::make_shared<Store>());
    env.configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "1000")
        .configure("restart-strategy.fixed-delay.delay", "1 ms")
        .configure("execution.checkpointing.tolerable-failed-checkpoints", "1000000")
        .configure("execution.checkpointing.num-retained", "2")
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("pipeline.auto-watermark-interval", "5 ms")
        .setMaxParallelism(128);
    auto stream =
        env.fromSource(EventReader(perSplit, switches), "source", rate, Batching::kOneByOne).uid("source").setParallelism(sources);
    auto timed =
        stream.assignTimestampsAndWatermarks(WatermarkStrategy::forBoundedOutOfOrderness(Millis(40)).withTimestampAssigner(&Event::time))
            .uid("watermarks")
            .setParallelism(sources);
    auto summed = windowOperator ? windows(timed.keyBy(&Event::key)) : timed.keyBy(&Event::key).process<Event>(SumPerWindow{});
    summed.uid("sums").name("sums").setParallelism(sums);
    if (cost > Nanos::zero()) summed.cost(cost);
    summed.sinkTo("store", Batching::kBatches, TransactionalCollectSink<Event>(store).ignoreEarlierRuns())
        .uid("store")
        .setParallelism(sums);
  }
  static DataStream<Event> windows(const KeyedStream<Event, int64_t Event::*>& keyed) {
    return keyed.window(TumblingEventTimeWindows::of(Millis(SumPerWindow::kSize)))
        .reduce<Event>([](Event& all, const Event& one) { all.amount += one.amount; },
                       [](const int64_t& key, auto& context, std::span<const Event> sum, Collector<Event>& out) {
                         out.collect({key, context.window().end, sum[0].amount});
                       });
  }
  void restoreFrom(const std::string& folder, int32_t sources, int32_t sums) {
    program(sources, sums);
    env.configure("execution.state-recovery.path", folder)
        .configure("execution.checkpointing.dir", "/restored-" + std::to_string(stores.size()));
  }

  std::map<Event, int> expected() const {
    std::map<std::pair<int64_t, int64_t>, int64_t> sums;
    for (int32_t split = 0; split < EventReader::kSplits; ++split)
      for (int64_t i = 0; i < perSplit; ++i) {
        const Event event = EventReader::at(split, i);
        sums[{event.key, event.time / SumPerWindow::kSize * SumPerWindow::kSize + SumPerWindow::kSize}] += event.amount;
      }
    std::map<Event, int> results;
    for (const auto& [window, sum] : sums) results[{window.first, window.second, sum}] = 1;
    return results;
  }
  /// Each window of each key once, with all of its records, from all runs together.
  void expectEveryWindowOnce() const {
    std::map<Event, int> results;
    for (const auto& store : stores)
      for (const Event& event : store->values()) ++results[event];
    EXPECT_EQ(results.size(), expected().size());
    EXPECT_TRUE(results == expected());
  }
};

}  // namespace weir
