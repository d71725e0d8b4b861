// Programs with windows, as users write them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/job_runner.h"
#include "weir/aggregate/numbers.h"
#include "weir/api/two_stage_windows.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

struct Reading {
  std::string sensor;
  int64_t time = 0, value = 0;
  WEIR_FIELDS(sensor, time, value)
  bool operator==(const Reading&) const = default;
};

class WindowProgramTest : public ::testing::Test {
 protected:
  WindowProgramTest() { env_.setParallelism(2); }

  /// Readings at event time `time`.
  DataStream<Reading> readings(std::vector<Reading> all) {
    return env_.fromCollection(std::move(all)).setParallelism(1).flatMap<Reading>([](const Reading& reading, Collector<Reading>& out) {
      out.collect(reading, reading.time);
    }).setParallelism(1);
  }
  template <class T>
  std::shared_ptr<CollectResult<T>> collect(DataStream<T> stream) {
    auto result = std::make_shared<CollectResult<T>>();
    stream.sinkTo("collect", Batching::kBatches, CollectSink<T>(result));
    return result;
  }
  void run() {
    JobRunner runner(JobRunner::simulated(1));
    const JobResult result = runner.run(env_);
    ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
  }
  std::string mistake() {
    const auto graph = env_.getJobGraph("job");
    return graph.has_error() ? graph.error().message : "none";
  }
  StreamExecutionEnvironment env_;
};

TEST_F(WindowProgramTest, SumsPerKeyAndWindow) {
  auto sums = collect(readings({{"a", 0, 1}, {"b", 5, 2}, {"a", 999, 4}, {"a", 1000, 8}})
                          .keyBy(&Reading::sensor)
                          .window(TumblingEventTimeWindows::of(Millis(1000)))
                          .sum(&Reading::value));
  run();
  EXPECT_THAT(sums->values(), UnorderedElementsAre(Reading{"a", 0, 5}, Reading{"b", 5, 2}, Reading{"a", 1000, 8}));
}

TEST_F(WindowProgramTest, AnAggregateFunctionInFrontOfAWindowFunction) {
  auto text = collect<std::string>(readings({{"a", 0, 1}, {"a", 500, 4}})
                          .keyBy(&Reading::sensor)
                          .window(SlidingEventTimeWindows::of(Millis(1000), Millis(500)))
                          .aggregate<std::string>(on(&Reading::value, Avg<int64_t>()),
                                                  [](const std::string& sensor, auto& context, std::span<const double> average, auto& out) {
                                                    out.collect(fmt::format("{} {} until {}", sensor, average[0], context.window().end));
                                                  }));
  run();
  EXPECT_THAT(text->values(), ElementsAre("a 1 until 500", "a 2.5 until 1000", "a 4 until 1500"));
}

TEST_F(WindowProgramTest, AnAggregateInTwoStagesGivesTheSame) {
  std::vector<Reading> all;
  for (int64_t i = 0; i < 200; ++i) all.push_back({i % 3 ? "hot" : "cold", i * 10, i});
  const auto show = [](const std::string& sensor, auto& context, std::span<const double> average, auto& out) {
    out.collect(fmt::format("{} {} {}", sensor, average[0], context.window().start));
  };
  auto windows = readings(all).keyBy(&Reading::sensor).window(TumblingEventTimeWindows::of(Millis(1000)));
  auto one = collect<std::string>(windows.aggregate<std::string>(on(&Reading::value, Avg<int64_t>()), show));
  auto two = collect<std::string>(windows.aggregate<std::string>(on(&Reading::value, Avg<int64_t>()), show).twoStage({.salts = 4}));
  run();
  EXPECT_EQ(one->values().size(), 4u);
  EXPECT_THAT(two->values(), ::testing::UnorderedElementsAreArray(one->values()));
}

TEST_F(WindowProgramTest, WindowAllIsOneSubtaskForAllKeys) {
  auto windows = readings({{"a", 0, 1}, {"b", 5, 2}}).windowAll(TumblingEventTimeWindows::of(Millis(1000))).sum(&Reading::value);
  auto sums = collect(windows);
  run();
  EXPECT_THAT(sums->values(), ElementsAre(Reading{"a", 0, 3}));
}

TEST_F(WindowProgramTest, CountWindowsFireWithEveryNthRecordOfAKeyAndNeverGiveOutTheRest) {
  auto keyed = readings({{"a", 0, 1}, {"b", 1, 10}, {"a", 2, 2}, {"a", 3, 4}, {"a", 4, 8}, {"a", 5, 16}}).keyBy(&Reading::sensor);
  auto twos = collect(keyed.countWindow(2).sum(&Reading::value));
  auto lastThree = collect(keyed.countWindow(3, 2).max(&Reading::value));
  run();
  EXPECT_THAT(twos->values(), ElementsAre(Reading{"a", 0, 3}, Reading{"a", 3, 12}));
  EXPECT_THAT(lastThree->values(), ElementsAre(Reading{"a", 0, 2}, Reading{"a", 2, 8}));
}

TEST_F(WindowProgramTest, RollingExtremesKeepTheWinningRecord) {
  auto keyed = readings({{"a", 1, 5}, {"a", 2, 3}, {"a", 3, 3}}).keyBy(&Reading::sensor);
  auto first = collect(keyed.minBy(&Reading::value));
  auto last = collect(keyed.minBy(&Reading::value, false));
  run();
  EXPECT_THAT(first->values(), ElementsAre(Reading{"a", 1, 5}, Reading{"a", 2, 3}, Reading{"a", 2, 3}));
  EXPECT_THAT(last->values(), ElementsAre(Reading{"a", 1, 5}, Reading{"a", 2, 3}, Reading{"a", 3, 3}));
}

struct Alarm {
  std::string sensor;
  int64_t time = 0;
  std::string text;
  WEIR_FIELDS(sensor, time, text)
};

/// Two streams, and what brings them together.
class JoinProgramTest : public WindowProgramTest {
 protected:
  DataStream<Alarm> alarms(std::vector<Alarm> all) {
    return env_.fromCollection(std::move(all)).setParallelism(1).flatMap<Alarm>([](const Alarm& alarm, Collector<Alarm>& out) {
      out.collect(alarm, alarm.time);
    }).setParallelism(1);
  }
};

TEST_F(JoinProgramTest, AJoinMakesThePairsOfAWindow) {
  auto pairs = collect(readings({{"a", 1, 10}, {"b", 2, 20}, {"a", 1500, 30}})
                           .join(alarms({{"a", 5, "hot"}, {"a", 900, "cold"}, {"c", 3, "dark"}}))
                           .where(&Reading::sensor)
                           .equalTo(&Alarm::sensor)
                           .window(TumblingEventTimeWindows::of(Millis(1000)))
                           .apply<std::string>([](const Reading& r, const Alarm& a) { return fmt::format("{} {}", r.value, a.text); }));
  run();
  EXPECT_THAT(pairs->values(), UnorderedElementsAre("10 hot", "10 cold"));
}

TEST_F(JoinProgramTest, ACoGroupSeesBothSidesOfAWindow) {
  auto groups = collect(readings({{"a", 1, 10}, {"b", 2, 20}})
                            .coGroup(alarms({{"a", 5, "hot"}, {"c", 3, "dark"}}))
                            .where(&Reading::sensor)
                            .equalTo(&Alarm::sensor)
                            .window(TumblingEventTimeWindows::of(Millis(1000)))
                            .apply<std::string>([](std::span<const Reading> rs, std::span<const Alarm> as, Collector<std::string>& out) {
                              out.collect(fmt::format("{} {}", rs.size(), as.size()));
                            }));
  run();
  EXPECT_THAT(groups->values(), UnorderedElementsAre("1 1", "1 0", "0 1"));
}

TEST_F(JoinProgramTest, AnIntervalJoinMakesThePairsThatAreNearInTime) {
  auto pairs = collect(readings({{"a", 100, 10}, {"a", 200, 20}})
                           .keyBy(&Reading::sensor)
                           .intervalJoin(alarms({{"a", 95, "before"}, {"a", 110, "after"}, {"a", 150, "far"}}).keyBy(&Alarm::sensor))
                           .between(Millis(-5), Millis(10))
                           .process<std::string>([](const Reading& r, const Alarm& a, IntervalJoinContext&, Collector<std::string>& out) {
                             out.collect(fmt::format("{} {}", r.value, a.text));
                           }));
  run();
  EXPECT_THAT(pairs->values(), UnorderedElementsAre("10 before", "10 after"));
}

TEST_F(JoinProgramTest, BoundsInTheWrongOrderAreSaidInOneSentence) {
  readings({})
      .keyBy(&Reading::sensor)
      .intervalJoin(alarms({}).keyBy(&Alarm::sensor))
      .between(Millis(5), Millis(1))
      .process<std::string>([](const Reading&, const Alarm&, IntervalJoinContext&, Collector<std::string>&) {});
  EXPECT_THAT(mistake(), HasSubstr("lowerBound <= upperBound must be fulfilled"));
}

const BroadcastStateDescriptor<std::string, std::string> kTexts{"texts"};

/// How many alarms this subtask has been told.
struct CountTold {
  void processElement(const Reading&, ReadOnlyBroadcastContext&, Collector<std::string>&) {}
  void processBroadcastElement(const Alarm& alarm, BroadcastContext& context, Collector<std::string>& out) {
    auto& texts = context.getBroadcastState(kTexts);
    texts[alarm.sensor] = alarm.text;
    out.collect(fmt::format("{} {}", alarm.text, texts.size()));
  }
};

TEST_F(JoinProgramTest, EverySubtaskGetsWhatIsBroadcast) {
  auto told =
      collect(readings({}).connect(alarms({{"a", 1, "hot"}, {"b", 2, "cold"}}).broadcast(kTexts)).process<std::string>(CountTold{}));
  run();
  EXPECT_THAT(told->values(), UnorderedElementsAre("hot 1", "hot 1", "cold 2", "cold 2"));
}

TEST_F(WindowProgramTest, AWindowThatCannotBeIsSaidInOneSentence) {
  readings({}).keyBy(&Reading::sensor).window(TumblingEventTimeWindows::of(Millis(0))).sum(&Reading::value);
  EXPECT_THAT(mistake(), HasSubstr("TumblingEventTimeWindows parameters must satisfy abs(offset) < size"));
}

TEST_F(WindowProgramTest, ATriggerThatDoesNotMergeIsRefusedForSessions) {
  readings({})
      .keyBy(&Reading::sensor)
      .window(EventTimeSessionWindows::withGap(Millis(10)))
      .trigger(deltaTrigger<Reading>(1, [](const Reading&, const Reading&) { return 0.0; }))
      .sum(&Reading::value);
  EXPECT_THAT(mistake(), HasSubstr("A merging window assigner cannot be used with a trigger that does not support merging"));
}

}  // namespace
}  // namespace weir
