// What users of windows have met, each as a whole job under simulation, named after the failure mode.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "scenario/scenario.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A payment, or the total of a window (time: its start).
struct Amount {
  std::string key;
  int64_t time = 0, value = 0;
  WEIR_FIELDS(key, time, value)
};
/// Key and window start; what was emitted for them, in all.
using Totals = std::map<std::pair<std::string, int64_t>, int64_t>;

const auto kAdd = [](Amount& all, const Amount& one) { all.value += one.value; };
/// One total per window.
const auto kTotal = [](const auto& key, auto& context, std::span<const Amount> sum, Collector<Amount>& out) {
  out.collect({std::string(key), context.window().start, sum[0].value});
};

WindowAssignerResult tumbling(int64_t millis) { return TumblingEventTimeWindows::of(Millis(millis)); }
WindowAssignerResult sliding(int64_t size, int64_t slide) { return SlidingEventTimeWindows::of(Millis(size), Millis(slide)); }

/// A job over payments in event time, and what it puts out.
class Payments {
 public:
  Payments() { scenario.env.setParallelism(2); }

  /// With a watermark behind each, `lag` behind the newest. `perSecond`: how fast they come on the clock.
  DataStream<Amount> stream(std::vector<Amount> all, int64_t lag = 0, double perSecond = StreamExecutionEnvironment::kUnlimited) {
    auto shared = std::make_shared<const std::vector<Amount>>(std::move(all));
    return scenario.env
        .fromGenerator(
            static_cast<int64_t>(shared->size()), [shared](int64_t i) { return (*shared)[static_cast<size_t>(i)]; }, perSecond)
        .setParallelism(1)
        .assignTimestampsAndWatermarks(WatermarkStrategy::forEveryRecord(Millis(lag)).withTimestampAssigner([](const Amount& a) {
          return a.time;
        }))
        .setParallelism(1);
  }
  static WindowedStream<Amount, std::string Amount::*> perKey(const DataStream<Amount>& stream, const WindowAssignerResult& assigner) {
    return stream.keyBy(&Amount::key).window(assigner);
  }
  static DataStream<Amount> totals(const DataStream<Amount>& stream, const WindowAssignerResult& assigner) {
    return perKey(stream, assigner).template reduce<Amount>(kAdd, kTotal);
  }
  std::shared_ptr<Totals> collect(DataStream<Amount> stream) {
    auto into = std::make_shared<Totals>();
    stream.addSink([into](const Amount& a) { (*into)[{a.key, a.time}] += a.value; });
    return into;
  }
  void run() {
    scenario.run();
    ASSERT_EQ(scenario.result.status, JobStatus::kFinished)
        << (scenario.result.failure ? scenario.result.failure->trace() : std::string());
  }
  Scenario scenario;
};

/// One payment of 1 a second for each of two keys.
std::vector<Amount> everySecond(int64_t seconds) {
  std::vector<Amount> all;
  for (int64_t s = 0; s < seconds; ++s)
    for (const char* key : {"a", "b"}) all.push_back({key, s * 1000, 1});
  return all;
}

constexpr int64_t kMinute = 60'000;

// window-result-timestamp-shift: the end of a window is the first millisecond of the next one
TEST(FailureMode, WindowResultTimestampShift) {
  Payments job;
  auto input = job.stream(everySecond(30 * 60));
  auto minutes = Payments::totals(input, tumbling(kMinute));
  auto again = job.collect(Payments::totals(minutes, tumbling(kMinute)));
  auto tens = job.collect(Payments::totals(minutes, tumbling(10 * kMinute)));
  auto oneStage = job.collect(Payments::totals(input, tumbling(kMinute)));
  auto oneStageTens = job.collect(Payments::totals(input, tumbling(10 * kMinute)));
  // What a stage does that stamps its results with the end.
  auto shifted = minutes.flatMap<Amount>([](const Amount& a, Collector<Amount>& out) { out.collect(a, a.time + kMinute); });
  auto shiftedTens = job.collect(Payments::totals(shifted, tumbling(10 * kMinute)));
  auto shiftedMinutes = job.collect(Payments::totals(shifted, tumbling(kMinute)));
  job.run();

  EXPECT_EQ(*again, *oneStage);
  EXPECT_EQ(*tens, *oneStageTens);
  for (const auto& [at, total] : *oneStage) EXPECT_EQ(shiftedMinutes->at({at.first, at.second + kMinute}), total) << "one window later";
  EXPECT_EQ(shiftedTens->at({"a", 0}), oneStageTens->at({"a", 0}) - 60) << "the first ten minutes lose one";
  EXPECT_EQ(shiftedTens->at({"a", 10 * kMinute}), 600) << "the next lose one and gain another";
}

/// Notes when results pass, on the clock.
struct NoteTimes {
  std::shared_ptr<std::map<int64_t, int64_t>> times;  ///< by window start: when its first result came
  void processElement(const Amount& a, ProcessContext& context, Collector<Amount>& out) {
    times->emplace(a.time, context.currentProcessingTime());
    out.collect(a);
  }
};

// chained-window-latency: in event time two equal windows cost no second wait; in processing time they do
TEST(FailureMode, ChainedWindowLatency) {
  const auto noteTimes = [] { return std::make_shared<std::map<int64_t, int64_t>>(); };
  {
    Payments job;
    auto first = noteTimes(), second = noteTimes();
    auto input = job.stream(everySecond(60), 0, 2);
    auto stage1 = Payments::totals(input, tumbling(10'000)).process<Amount>(NoteTimes{first});
    job.collect(Payments::totals(stage1, tumbling(10'000)).process<Amount>(NoteTimes{second}));
    job.run();
    ASSERT_EQ(first->size(), 6u);
    for (const auto& [window, time] : *first) EXPECT_LE(second->at(window) - time, 300) << "window " << window;
  }
  {
    Payments job;
    auto first = noteTimes(), second = noteTimes();
    auto input = job.stream(everySecond(60), 0, 2);
    const auto byClock = TumblingProcessingTimeWindows::of(Millis(10'000));
    auto stage1 = Payments::totals(input, byClock).process<Amount>(NoteTimes{first});
    job.collect(Payments::totals(stage1, byClock).process<Amount>(NoteTimes{second}));
    job.run();
    ASSERT_GE(second->size(), 3u);
    for (const auto& [window, time] : *second) {
      ASSERT_EQ(first->count(window - 10'000), 1u) << "a result goes into the window after its own";
      EXPECT_NEAR(static_cast<double>(time - first->at(window - 10'000)), 10'000, 300) << "and waits for its end";
    }
  }
}

/// "key#salt" instead of the key, the salt in turn.
DataStream<Amount> salted(const DataStream<Amount>& stream, int64_t salts) {
  auto copy = stream;
  return copy.map([salts, next = int64_t{0}](const Amount& a) mutable {
    return Amount{a.key + "#" + std::to_string(next++ % salts), a.time, a.value};
  });
}
DataStream<Amount> unsalted(DataStream<Amount> stream) {
  return stream.map([](const Amount& a) { return Amount{a.key.substr(0, a.key.find('#')), a.time, a.value}; });
}

// fanout-duplicates-sliding-windows: partial sums of sliding windows that slide once more
TEST(FailureMode, FanoutDuplicatesSlidingWindows) {
  Payments job;
  auto input = job.stream(everySecond(60));
  auto partials = unsalted(Payments::totals(salted(input, 8), sliding(10'000, 5'000)));
  auto oneStage = job.collect(Payments::totals(input, sliding(10'000, 5'000)));
  auto wrong = job.collect(Payments::totals(partials, sliding(10'000, 5'000)));
  // The window of a partial is known by its timestamp, the last millisecond: windows of the slide hold those of one window each.
  auto right = job.collect(Payments::totals(partials, tumbling(5'000)));
  job.run();

  const auto sum = [](const Totals& totals) {
    int64_t all = 0;
    for (const auto& [at, total] : totals) all += total;
    return all;
  };
  EXPECT_EQ(sum(*wrong), 2 * sum(*oneStage)) << "size / slide times too much";
  ASSERT_EQ(right->size(), oneStage->size());
  for (const auto& [at, total] : *oneStage) EXPECT_EQ(right->at({at.first, at.second + 5'000}), total) << at.first << " " << at.second;
}

// fanout-with-accumulating-triggers: early results are running totals, and whoever adds them counts twice
TEST(FailureMode, FanoutWithAccumulatingTriggers) {
  std::vector<Amount> input;
  for (int64_t i = 0; i < 100; ++i) input.push_back({"a", i * 100, 1});  // ten a second, one window of 10 s
  const auto finalTotal = [&](TriggerPtr trigger, int64_t& firings) {
    Payments job;
    auto count = std::make_shared<int64_t>(0);
    auto early = Payments::perKey(job.stream(input), tumbling(10'000)).trigger(std::move(trigger)).reduce<Amount>(kAdd, kTotal);
    auto counted = early.map([count](const Amount& a) { return ++*count, a; });
    auto total = job.collect(Payments::totals(counted, tumbling(10'000)));
    job.run();
    firings = *count;
    return total->at({"a", 0});
  };
  int64_t firings = 0;
  const int64_t accumulated = finalTotal(CountTrigger::of(10), firings);
  EXPECT_EQ(firings, 10);
  EXPECT_EQ(accumulated, 550) << "(n + 1) / 2 times the truth for n firings of uniform input";
  EXPECT_EQ(finalTotal(PurgingTrigger::of(CountTrigger::of(10)), firings), 100) << "what came since the last firing";
  EXPECT_EQ(firings, 10);
  EXPECT_EQ(finalTotal(PurgingTrigger::of(ContinuousEventTimeTrigger::of(Millis(1000))), firings), 100);
  EXPECT_EQ(firings, 10);
}

/// Notes which subtasks work.
struct NoteSubtask {
  std::shared_ptr<std::map<int32_t, int64_t>> records;  ///< by subtask
  int32_t subtask = -1;
  template <class K>
  void open(KeyedRuntimeContext<K>& context) {
    subtask = context.indexOfThisSubtask();
  }
  template <class K>
  void process(const K& key, ProcessWindowContext<K>& context, std::span<const Amount> elements, Collector<Amount>& out) {
    (*records)[subtask] += static_cast<int64_t>(elements.size());
    Amount total{"", context.window().start, 0};
    if constexpr (std::is_same_v<K, std::string>) total.key = key;
    for (const Amount& a : elements) total.value += a.value;
    out.collect(total);
  }
};

// window-all-single-subtask: windowAll has no parallelism to give
TEST(FailureMode, WindowAllSingleSubtask) {
  std::vector<Amount> input;
  for (int64_t i = 0; i < 2000; ++i) input.push_back({"key-" + std::to_string(i % 200), i, 1});
  Payments job;
  job.scenario.env.setParallelism(4);
  auto stream = job.stream(input);
  const auto all = std::make_shared<std::map<int32_t, int64_t>>(), keyed = std::make_shared<std::map<int32_t, int64_t>>();
  auto stage1 = Payments::totals(stream, tumbling(100));
  auto total = job.collect(stage1.windowAll(tumbling(100)).process<Amount>(NoteSubtask{all}));
  job.collect(Payments::perKey(stage1, tumbling(100)).process<Amount>(NoteSubtask{keyed}));
  job.run();
  EXPECT_THAT(*all, SizeIs(1)) << "one subtask gets everything";
  EXPECT_EQ(all->begin()->second, 2000);
  EXPECT_THAT(*keyed, SizeIs(4));
  for (const auto& [subtask, records] : *keyed) EXPECT_LT(records, 800) << subtask;
  for (const auto& [at, value] : *total) EXPECT_EQ(value, 100);
}

// lag-applied-twice: the watermark lags behind already, a window must not wait for the same lag again
TEST(FailureMode, LagAppliedTwice) {
  const std::vector<Amount> input{{"a", 0, 1}, {"a", 3000, 2}, {"a", 10'000, 4}, {"a", 7000, 8}, {"a", 8500, 16}};
  const auto run = [&](int64_t waitsAgain) {
    Payments job;
    auto totals = job.collect(Payments::perKey(job.stream(input, 2000), tumbling(1000))
                                  .allowedLateness(Millis(waitsAgain))
                                  .reduce<Amount>(kAdd, kTotal));
    job.run();
    return *totals;
  };
  const Totals once = run(0), twice = run(2000);
  EXPECT_EQ(once.count({"a", 7000}), 0u) << "3 s late with a lag of 2 s: dropped";
  EXPECT_EQ(once.at({"a", 8000}), 16) << "1.5 s late: in time";
  EXPECT_EQ(twice.at({"a", 7000}), 8) << "what the mistake lets through";
}

// mixed-time-two-stage: a first stage by the clock, a second one by event time
TEST(FailureMode, MixedTimeTwoStage) {
  constexpr int64_t kHour = 3'600'000;
  const auto run = [&](int64_t ahead, const WindowAssignerResult& first, Totals& oneStage, int64_t& clock) {
    Payments job;
    clock = job.scenario.runner.executor().clock().epochMillis();
    const int64_t start = (clock + ahead) / 10'000 * 10'000;
    std::vector<Amount> input;
    for (int64_t i = 0; i < 60 * 10; ++i) input.push_back({"a", start + i * 100, 1});
    // At ten times the speed at which it happened, a minute of it.
    auto stream = job.stream(std::move(input), 0, 100);
    auto result = job.collect(Payments::totals(Payments::totals(stream, first), tumbling(10'000)));
    auto expected = job.collect(Payments::totals(stream, tumbling(10'000)));
    job.run();
    oneStage = *expected;
    return *result;
  };
  Totals oneStage;
  int64_t clock = 0;
  const auto byClock = TumblingProcessingTimeWindows::of(Millis(1000));
  EXPECT_EQ(run(-kHour, tumbling(10'000), oneStage, clock), oneStage) << "both in event time";

  const Totals old = run(-kHour, byClock, oneStage, clock);
  ASSERT_FALSE(old.empty());
  for (const auto& [at, total] : old) EXPECT_GE(at.second, clock - 10'000) << "totals of an hour ago are put down to now";
  int64_t sum = 0;
  for (const auto& [at, total] : old) sum += total;
  EXPECT_LE(sum, 600) << "and what was in the last window of the clock is lost";

  EXPECT_THAT(run(kHour, byClock, oneStage, clock), IsEmpty()) << "events ahead of the clock: every total comes too late";
}

// hundred-fifty-thousand-windows: one watermark releases very many windows into a consumer that is slower than that
TEST(FailureMode, HundredFiftyThousandWindows) {
  Scenario s;
  s.env.configure("execution.checkpointing.timeout", "1 h");
  s.env.setParallelism(1);
  constexpr int64_t kWindows = 3'600;
  auto switches = std::make_shared<SourceSwitches>();
  // 3,600 keys in one window; then a record that ends it.
  s.env.fromSource(SwitchedReader(switches, SwitchedReader::kEndless), "source", 400)
      .assignTimestampsAndWatermarks(WatermarkStrategy::forEveryRecord(Millis(0)).withTimestampAssigner(
          [](const Row& row) { return row.number < kWindows ? int64_t{0} : 10'000 + row.number; }))
      .keyBy(&Row::number)
      .window(TumblingEventTimeWindows::of(Millis(10'000)))
      .process<Row>([](const int64_t&, auto&, std::span<const Row> rows, Collector<Row>& out) { out.collect(rows[0]); })
      .name("window")
      .addSink([](const Row&) {})
      .name("sink")
      .cost(kSecond / 36);
  s.run([&] {
    const auto fired = [&]() -> int64_t {
      for (const auto& task : s.tasks("window"))
        for (const auto& metrics : task->environment().operatorMetrics->all())
          if (metrics->name.find("window") != std::string::npos) return metrics->numWindowsFired;
      return 0;
    };
    ASSERT_TRUE(s.waitUntil([&] { return fired() > 0; }));
    switches->paused = true;
    const int64_t id = s.triggerCheckpoint();
    ASSERT_TRUE(s.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
    EXPECT_EQ(fired(), kWindows) << "the counter says what the task was busy with";
    EXPECT_NEAR(static_cast<double>(s.subtasksOf(id, "window").front().startDelayMs), 100'000, 5'000) << "3,600 windows at 36 a second";
    EXPECT_LT(s.subtasksOf(id, "source").front().startDelayMs, 1'000);
  });
}

}  // namespace
}  // namespace weir
