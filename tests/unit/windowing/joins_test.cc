#include "weir/windowing/interval_join.h"
#include "weir/windowing/join.h"
#include "window_fixture.h"

namespace weir {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

/// "left,right@leftTime/rightTime".
struct ShowPair {
  void processElement(const Event& left, const Event& right, IntervalJoinContext& context, Collector<std::string>& out) {
    out.collect(fmt::format("{},{} {}/{}", left.second, right.second, context.leftTimestamp, context.rightTimestamp));
  }
};

class IntervalJoinTest : public ::testing::Test {
 protected:
  using Operator = IntervalJoinOperator<Event, Event, std::string, EventKey, EventKey, ShowPair>;
  using Harness = OperatorHarness<Event, std::string>;

  std::unique_ptr<Harness> make(JoinInterval interval) {
    return std::make_unique<Harness>(machine_, [this, interval](OperatorSetup setup) {
      setup.sideOutputs["late"] = &late_;
      return std::make_unique<Operator>(std::move(setup), kEventKey, kEventKey, interval, ShowPair{}, heapKeyedStateBackend<std::string>());
    });
  }
  static JoinInterval between(int64_t lower, int64_t upper) { return JoinInterval::between(Millis(lower), Millis(upper)).value(); }
  static void add(Harness& op, int input, int64_t timestamp, const std::string& key, int64_t value) {
    std::vector<StreamRecord<Event>> records{at(timestamp, key, value)};
    static_cast<Output<Event>&>(op.op().input(input)).collect(records);
  }
  static void left(Harness& op, int64_t timestamp, int64_t value) { add(op, 0, timestamp, "a", value); }
  static void right(Harness& op, int64_t timestamp, int64_t value) { add(op, 1, timestamp, "a", value); }
  static void watermark(Harness& op, int64_t timestamp) {
    op.watermark(timestamp, 0);
    op.watermark(timestamp, 1);
  }

  OperatorMachine machine_;
  KeepingOutput<Event> late_;
};

TEST_F(IntervalJoinTest, JoinsWhatIsNearInTimeWithTheLaterTimestamp) {
  auto op = make(between(-2, 2));
  op->start();
  left(*op, 10, 1);
  right(*op, 7, 70);
  right(*op, 8, 80);
  right(*op, 12, 120);
  right(*op, 13, 130);
  add(*op, 1, 10, "b", 100);
  left(*op, 11, 2);
  EXPECT_THAT(op->takeElements(), ElementsAre("1,80 10/8@10", "1,120 10/12@12", "2,120 11/12@12", "2,130 11/13@13"));
}

TEST_F(IntervalJoinTest, ItsEndsCanBeLeftOut) {
  auto op = make(JoinInterval::between(Millis(-2), Millis(2), false, false).value());
  op->start();
  left(*op, 10, 1);
  for (int64_t time : {8, 9, 11, 12}) right(*op, time, time);
  EXPECT_THAT(op->takeElements(), ElementsAre("1,9 10/9@10", "1,11 10/11@11"));
}

TEST_F(IntervalJoinTest, WhatLiesBehindTheWatermarkIsLateAndNotCounted) {
  JoinInterval interval = between(-2, 2);
  interval.lateLeftTag = "late";
  auto op = make(interval);
  op->start();
  watermark(*op, 20);
  left(*op, 20, 1);
  left(*op, 19, 2);
  right(*op, 19, 3);
  EXPECT_THAT(late_.values, ElementsAre(Event{"a", 2}));
  EXPECT_EQ(op->op().metrics().numLateRecordsDropped, 0);
}

TEST_F(IntervalJoinTest, ForgetsAnElementWhenNoPartnerCanComeAnyMore) {
  for (const auto& [lower, upper] : {std::pair<int64_t, int64_t>{-2, 2}, {1, 3}, {-3, -1}}) {
    auto op = make(between(lower, upper));
    op->start();
    left(*op, 10, 1);
    right(*op, 10, 2);
    const int64_t leftUntil = std::max<int64_t>(10, 10 + upper), rightUntil = std::max<int64_t>(10, 10 - lower);
    EXPECT_FALSE(op->snapshot(1).managedKeyed.empty());
    watermark(*op, std::max(leftUntil, rightUntil));
    op->takeElements();
    auto again = make(between(lower, upper));
    again->restore(op->snapshot(2));
    left(*again, 11, 3);
    right(*again, 11, 4);
    for (const auto& text : again->takeElements()) EXPECT_TRUE(text.starts_with("3,4")) << text << " with " << lower << ".." << upper;
  }
}

TEST_F(IntervalJoinTest, WaitingElementsSurviveAFailure) {
  auto op = make(between(-2, 2));
  op->start();
  left(*op, 10, 1);
  auto again = make(between(-2, 2));
  again->restore(op->snapshot(1));
  right(*again, 11, 5);
  EXPECT_THAT(again->takeElements(), ElementsAre("1,5 10/11@11"));
}

TEST_F(IntervalJoinTest, ARecordWithoutTimestampFailsTheTask) {
  auto op = make(between(-2, 2));
  op->start();
  std::vector<StreamRecord<Event>> records{StreamRecord<Event>(Event{"a", 1})};
  try {
    static_cast<Output<Event>&>(op->op().input(0)).collect(records);
    FAIL();
  } catch (const Throwable& failure) {
    EXPECT_STREQ(failure.what(),
                 "org.apache.flink.util.FlinkException: Long.MIN_VALUE timestamp: Elements used in interval stream joins need to have "
                 "timestamps meaningful timestamps.");
  }
}

TEST_F(IntervalJoinTest, BoundsInTheWrongOrderAreRefused) {
  EXPECT_TRUE(JoinInterval::between(Millis(3), Millis(2)).has_error());
  EXPECT_TRUE(JoinInterval::between(Millis(2), Millis(2), false, true).has_error());
}

// ---- Windows over two streams ----

using Both = TaggedUnion<Event, Event>;
using BothKey = UnionKey<Event, Event, EventKey, EventKey>;

struct ShowSides {
  void operator()(std::span<const Event> ones, std::span<const Event> twos, Collector<std::string>& out) const {
    std::string text;
    for (const Event& one : ones) text += fmt::format("{} ", one.second);
    text += "/";
    for (const Event& two : twos) text += fmt::format(" {}", two.second);
    out.collect(text);
  }
};
struct ShowJoined {
  std::string operator()(const Event& one, const Event& two) const { return fmt::format("{},{}", one.second, two.second); }
};

template <class F>
std::vector<std::string> joined(const WindowAssignerResult& assigner, F function, std::vector<StreamRecord<Both>> records) {
  using Function = CoGroupFunction<Event, Event, F>;
  using Contents = ListContents<Both, Function, std::string>;
  OperatorMachine machine;
  OperatorHarness<Both, std::string> op(machine, [&](OperatorSetup setup) {
    return std::make_unique<WindowOperator<BothKey, Contents>>(std::move(setup), BothKey{kEventKey, kEventKey}, windows(assigner),
                                                               Contents(Function{function}), heapKeyedStateBackend<std::string>());
  });
  op.start();
  op.processRecords(std::move(records));
  op.watermark(kMaxWatermark);
  auto all = op.takeElements();
  all.pop_back();
  return all;
}
StreamRecord<Both> one(int64_t time, std::string key, int64_t value) { return {Both::ofOne({std::move(key), value}), time}; }
StreamRecord<Both> two(int64_t time, std::string key, int64_t value) { return {Both::ofTwo({std::move(key), value}), time}; }

TEST(WindowJoin, MakesAllPairsOfAWindow) {
  const auto pairs = joined(tumbling(1000), JoinFunction<Event, Event, ShowJoined>{},
                            {one(1, "a", 1), one(2, "a", 2), two(3, "a", 3), two(4, "a", 4), one(5, "b", 5), two(1001, "a", 6)});
  EXPECT_THAT(pairs, ElementsAre("1,3@999", "1,4@999", "2,3@999", "2,4@999"));
}

TEST(WindowJoin, APairComesOncePerWindowThatBothAreIn) {
  const auto pairs = joined(sliding(1000, 500), JoinFunction<Event, Event, ShowJoined>{}, {one(600, "a", 1), two(700, "a", 2)});
  EXPECT_THAT(pairs, ElementsAre("1,2@999", "1,2@1499"));
}

TEST(WindowJoin, SessionsReachOverBothStreams) {
  const auto pairs = joined(sessions(100), JoinFunction<Event, Event, ShowJoined>{},
                            {one(0, "a", 1), two(90, "a", 2), one(180, "a", 3), one(500, "a", 4)});
  EXPECT_THAT(pairs, ElementsAre("1,2@279", "3,2@279"));
}

TEST(WindowJoin, WhatWaitsInWindowsSurvivesAFailure) {
  using Function = CoGroupFunction<Event, Event, ShowSides>;
  using Contents = ListContents<Both, Function, std::string>;
  OperatorMachine machine;
  const auto make = [&](OperatorSetup setup) {
    return std::make_unique<WindowOperator<BothKey, Contents>>(std::move(setup), BothKey{kEventKey, kEventKey}, windows(tumbling(1000)),
                                                               Contents(Function{}), heapKeyedStateBackend<std::string>());
  };
  OperatorHarness<Both, std::string> op(machine, make), again(machine, make);
  op.start();
  op.processRecords({two(1, "a", 2), one(2, "a", 1)});
  again.restore(op.snapshot(1));
  again.watermark(999);
  EXPECT_EQ(again.takeElements().front(), "1 / 2@999");
}

TEST(WindowCoGroup, AlsoHandsOutWindowsWithOneSideOnly) {
  const auto groups = joined(tumbling(1000), ShowSides{}, {one(1, "a", 1), two(3, "a", 3), one(5, "b", 5), two(6, "c", 6)});
  EXPECT_THAT(groups, UnorderedElementsAre("1 / 3@999", "5 /@999", "/ 6@999"));
}

TEST(TaggedUnion, IsOneByteAndTheRecordOfItsSide) {
  using Small = TaggedUnion<int8_t, int16_t>;
  DataOutput out;
  serialize(out, Small::ofOne(7));
  serialize(out, Small::ofTwo(258));
  EXPECT_THAT(out.toVector(), ElementsAre(1, 7, 2, 1, 2));
  EXPECT_TRUE(deserialize<Small>(std::vector<uint8_t>{3, 7}).has_error());
}

}  // namespace
}  // namespace weir
