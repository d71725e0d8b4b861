// Windows in two stages against windows in one stage: the same windows, the same lateness, the same late records.
#include <cstdlib>

#include "support/seeds.h"
#include "two_stage/two_stage_job.h"
#include "weir/api/two_stage_windows.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using WindowOfKey = std::pair<std::string, int64_t>;  ///< key, start
template <class Out>
using Windowed = std::pair<WindowOfKey, Out>;

/// Puts key and window beside the result.
template <class Out>
struct WithWindow {
  void operator()(const std::string& key, ProcessWindowContext<std::string>& context, std::span<const Out> results,
                  Collector<Windowed<Out>>& out) const {
    for (const Out& result : results) out.collect({{key, context.window().start}, result});
  }
};

/// `price` is the event time in milliseconds. A watermark behind every record, from one source: every run sees the same.
DataStream<Order> timed(const DataStream<Order>& orders, Millis bound) {
  auto time = [](const Order& order, int64_t) { return static_cast<int64_t>(order.price); };
  return DataStream<Order>(orders).assignTimestampsAndWatermarks(
      WatermarkStrategyOf<PerRecordWatermarks, decltype(time)>{PerRecordWatermarks(bound), time});
}

template <AggregateFunction F>
auto windows(const DataStream<Order>& stream, const WindowSettings& settings, F f) {
  WindowedStream<Order, std::string Order::*> windowed(stream.keyBy(&Order::key).stream(), &Order::key, settings.assigner);
  windowed.allowedLateness(Millis(settings.allowedLateness));
  if (settings.trigger) windowed.trigger(settings.trigger);
  if (!settings.lateTag.empty()) windowed.sideOutputLateData(OutputTag<Order>(settings.lateTag));
  return windowed.template aggregate<Windowed<typename F::Out>>(f, WithWindow<typename F::Out>());
}
template <MergeableAggregate F>
auto twoStageWindows(const DataStream<Order>& stream, const WindowSettings& settings, F f, const TwoStageOptions<std::string>& options,
                     int32_t parallelism = 3) {
  return windows(stream, settings, f).twoStage(options).setParallelism(parallelism);
}

using Late = std::pair<std::string, int64_t>;  ///< key, number
void attachLate(Results<Late>& late, DataStream<Late> stream) {
  stream.sinkTo("late", Batching::kBatches, TransactionalCollectSink<Late>(late.store).ignoreEarlierRuns()).name("late");
}

struct Outcome {
  std::map<WindowOfKey, int64_t> results;
  std::multiset<int64_t> late;  ///< numbers of the records
  size_t fired = 0;
};
struct Case {
  explicit Case(uint64_t s) : seed(s), random(s, "windows") {
    count = random.between(100, 1500);
    keys = random.between(1, 8);
    disorder = random.between(0, 3000);
    settings.assigner = random.oneIn(2) ? *TumblingEventTimeWindows::of(Millis(500), Millis(random.between(0, 400)))
                                        : *SlidingEventTimeWindows::of(Millis(random.between(300, 900)), Millis(300));
    settings.allowedLateness = random.oneIn(2) ? 0 : random.between(1, 2000);
    settings.lateTag = random.oneIn(4) ? "" : "late";
    options.salts = static_cast<int32_t>(random.oneIn(4) ? 0 : random.between(1, 9));
    options.flush.records = random.oneIn(2) ? 0 : random.between(1, 200);
    options.flush.interval = random.oneIn(2) ? Millis(0) : Millis(random.between(1, 20));
    parallelism = static_cast<int32_t>(random.between(1, 4));
  }
  Order make(int64_t number) const {
    Random r(seed * 7919 + static_cast<uint64_t>(number));
    return {number, "key-" + std::to_string(r.between(0, keys - 1)), r.between(-9, 9),
            static_cast<double>(number * 5 - r.between(0, disorder))};
  }
  uint64_t seed;
  Random random;
  int64_t count, keys, disorder;
  WindowSettings settings;
  TwoStageOptions<std::string> options;
  int32_t parallelism;
};

Outcome run(const Case& c, bool twoStages, Millis bound, std::vector<int64_t> failAt = {}) {
  TwoStageJob job(c.seed, 1);
  job.checkpointEvery("10 ms");
  auto stream = timed(job.orders(c.count, [&c](int64_t number) { return c.make(number); }, std::move(failAt)), bound);
  const auto sum = on(&Order::amount, Sum<int64_t>());
  Results<Windowed<int64_t>> results;
  Results<Late> late;
  const OutputTag<Order> tag("late");
  const auto byNumber = [](const Order& order) { return std::pair(order.key, order.number); };
  if (twoStages) {
    auto out = twoStageWindows(stream, c.settings, sum, c.options, c.parallelism);
    results.attach(out);
    attachLate(late, out.getSideOutput(tag).map(byNumber));
  } else {
    auto out = windows(stream, c.settings, sum);
    out.setParallelism(c.parallelism);
    results.attach(out);
    attachLate(late, out.getSideOutput(tag).map(byNumber));
  }
  EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  Outcome outcome{results.last(), {}, results.count()};
  for (const auto& [key, number] : late.store->values()) outcome.late.insert(number);
  return outcome;
}

uint64_t seeds() { return testing::seedsWanted(25); }

TEST(TwoStageWindows, EqualOneStageWithDisorderLatenessAndLateRecords) {
  size_t lateRecords = 0;
  for (uint64_t seed = 1; seed <= seeds() && !HasFailure(); ++seed) {
    const Case c(seed);
    const Outcome one = run(c, false, Millis(400)), two = run(c, true, Millis(400));
    EXPECT_EQ(two.results, one.results) << "seed " << seed;
    EXPECT_EQ(two.late, one.late) << "seed " << seed;
    EXPECT_LE(two.fired, one.fired + c.options.flush.records) << "seed " << seed;
    lateRecords += one.late.size();
  }
  EXPECT_GT(lateRecords, 100U);
}

TEST(TwoStageWindows, FailuresChangeNoResult) {
  // Without late records: which of them are late hangs on the watermark, which starts anew after a failure.
  for (uint64_t seed = 1; seed <= seeds() && !HasFailure(); ++seed) {
    Case c(seed);
    const auto at = static_cast<uint64_t>(c.count);
    const Outcome one = run(c, false, Millis(3000));
    const Outcome two = run(c, true, Millis(3000), {static_cast<int64_t>(c.random.below(at)), static_cast<int64_t>(c.random.below(at))});
    EXPECT_EQ(two.results, one.results) << "seed " << seed;
  }
}

/// Times of records of one key, and what both forms make of them with a lateness of 500 ms.
std::vector<int64_t> resultsOf(bool twoStages, const std::vector<double>& times) {
  TwoStageJob job(1, 1);
  auto stream = timed(job.orders(static_cast<int64_t>(times.size()),
                                 [times](int64_t number) {
                                   int64_t amount = 1;
                                   for (int64_t i = 0; i < number; ++i) amount *= 10;
                                   return Order{number, "a", amount, times[static_cast<size_t>(number)]};
                                 }),
                      Millis(0));
  WindowSettings settings;
  settings.assigner = *TumblingEventTimeWindows::of(Millis(1000));
  settings.allowedLateness = 500;
  const auto sum = on(&Order::amount, Sum<int64_t>());
  Results<Windowed<int64_t>> results;
  if (twoStages)
    results.attach(twoStageWindows(stream, settings, sum, {.salts = 4}));
  else
    results.attach(windows(stream, settings, sum));
  EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  std::vector<int64_t> values;
  for (const auto& [window, value] : results.store->values()) values.push_back(value);
  return values;
}

TEST(TwoStageWindows, ALateRecordCountsOnce) {
  // Chained by hand, the second firing of stage one would be added to the first: 1 + 111 + ... (golden case event-event-lateness).
  EXPECT_EQ(resultsOf(false, {0, 1000, 1, 2}), (std::vector<int64_t>{1, 101, 1101, 10}));
  EXPECT_EQ(resultsOf(true, {0, 1000, 1, 2}).back(), 10);
  EXPECT_EQ(resultsOf(true, {0, 1000, 1, 2}).front(), 1);
  const auto both = resultsOf(true, {0, 1000, 1, 2});
  EXPECT_EQ(*(both.end() - 2), 1101) << "late records between two watermarks may come together";
}

TEST(TwoStageWindows, OfAllRecordsAreSpreadToo) {
  const auto sums = [](bool twoStages) {
    TwoStageJob job(1, 3);
    auto stream = timed(job.orders(900, [](int64_t number) { return Order{number, "", number, static_cast<double>(number)}; }), Millis(5));
    auto all = stream.windowAll(TumblingEventTimeWindows::of(Millis(100))).aggregate(on(&Order::amount, Sum<int64_t>()));
    auto store = std::make_shared<TransactionalCollectResult<int64_t>>();
    const auto write = [&](DataStream<int64_t> to) {
      to.sinkTo("sums", Batching::kBatches, TransactionalCollectSink<int64_t>(store)).setParallelism(1);
    };
    if (twoStages)
      write(all.twoStage({.salts = 6}));
    else
      write(all);
    EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    auto values = store->values();
    std::sort(values.begin(), values.end());
    return values;
  };
  EXPECT_EQ(sums(false).size(), 9U);
  EXPECT_EQ(sums(true), sums(false));
}

TEST(TwoStageWindows, WhatCannotBeSplitIsRefused) {
  const auto mistake = [](const std::shared_ptr<const WindowAssigner>& assigner, TriggerPtr trigger = nullptr) {
    StreamExecutionEnvironment env;
    WindowSettings settings;
    settings.assigner = assigner;
    settings.trigger = std::move(trigger);
    twoStageWindows(env.fromCollection(std::vector<Order>{{}}), settings, on(&Order::amount, Sum<int64_t>()), {}).addSink([](const auto&) {
    });
    const auto graph = env.getJobGraph("job");
    return graph.has_error() ? graph.error().message : "none";
  };
  EXPECT_EQ(mistake(*TumblingEventTimeWindows::of(Millis(10))), "none");
  EXPECT_THAT(mistake(*TumblingProcessingTimeWindows::of(Millis(10))), HasSubstr("go by processing time"));
  EXPECT_THAT(mistake(*EventTimeSessionWindows::withGap(Millis(10))), HasSubstr("sessions of a part of the records"));
  EXPECT_THAT(mistake(*TumblingEventTimeWindows::of(Millis(10)), CountTrigger::of(3)), HasSubstr("a trigger or an evictor of their own"));
}

TEST(FailureMode, MixedTimeTwoStage) {
  // Stage one by the clock, stage two by event time; events that are an hour old, and an hour ahead.
  static constexpr int64_t kHour = 3'600'000, kSize = 10, kCount = 2000;
  const auto run = [](int64_t ahead, bool mixed, size_t& late) {
    TwoStageJob job(1, 1);
    const int64_t now = job.runner.executor().clock().epochMillis();
    auto stream =
        timed(job.orders(kCount,
                         [now, ahead](int64_t number) {
                           return Order{number, "k", 1, static_cast<double>(now + ahead + number / 20)};  // as the source reads them
                         }),
              Millis(0));
    WindowSettings first, second;
    first.assigner = mixed ? *TumblingProcessingTimeWindows::of(Millis(kSize)) : *TumblingEventTimeWindows::of(Millis(kSize));
    second.assigner = *TumblingEventTimeWindows::of(Millis(kSize));
    second.lateTag = "late";
    auto partial = windows(stream, first, on(&Order::amount, Sum<int64_t>())).map([](const Windowed<int64_t>& w) {
      return Order{0, w.first.first, w.second, 0};
    });
    auto whole = windows(partial, second, on(&Order::amount, Sum<int64_t>()));
    const auto results = collect<Windowed<int64_t>>(whole);
    Results<Late> tooLate;
    attachLate(tooLate,
               whole.getSideOutput(OutputTag<Order>("late")).map([](const Order& order) { return Late(order.key, order.amount); }));
    EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    late = tooLate.count();
    std::map<int64_t, int64_t> byHour;  // hours from the events
    for (const auto& [window, sum] : results.last()) byHour[(window.second - now - ahead + kHour / 2) / kHour] += sum;
    return byHour;
  };
  size_t late = 0;
  const auto old = run(-kHour, true, late);
  EXPECT_EQ(old.count(0), 0U) << "no total where the events are";
  EXPECT_GT(old.at(1), 0) << "they are an hour ahead, and fire only when the stream ends";
  const auto ahead = run(kHour, true, late);
  EXPECT_GE(late, 5U) << "every partial result is too late";
  EXPECT_TRUE(ahead.empty());
  for (int64_t hours : {-kHour, kHour}) {
    const auto both = run(hours, false, late);
    EXPECT_EQ(both, (std::map<int64_t, int64_t>{{0, kCount}})) << "both by event time";
    EXPECT_EQ(late, 0U);
  }
}

}  // namespace
}  // namespace weir
