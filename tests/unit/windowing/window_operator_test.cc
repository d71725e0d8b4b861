#include "weir/windowing/window_operator.h"

#include "window_fixture.h"

namespace weir {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class WindowOperatorTest : public ::testing::Test {
 protected:
  OperatorMachine machine_;
};

TEST_F(WindowOperatorTest, AWindowFiresWhenTheWatermarkReachesItsLastMillisecond) {
  WindowHarness<> op(machine_, windows(tumbling(1000)));
  op.start();
  op.add({at(0, "a", 1), at(999, "a", 2), at(1000, "a", 4), at(500, "b", 8)});
  op.watermark(998);
  EXPECT_THAT(op.take(), ElementsAre("Watermark @ 998"));
  op.watermark(999);
  EXPECT_THAT(op.take(), ElementsAre("a 1 2 [0,1000)@999", "b 8 [0,1000)@999", "Watermark @ 999")) << "results come before the watermark";
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), ElementsAre("a 4 [1000,2000)@1999"));
  EXPECT_EQ(op.fired(), 3);
}

TEST_F(WindowOperatorTest, NothingIsLeftOfAWindowThatIsOver) {
  WindowHarness<> op(machine_, windows(tumbling(1000), nullptr, 500));
  op.start();
  op.add(0, "a", 1);
  op.watermark(1499);
  op.take();
  WindowHarness<> again(machine_, windows(tumbling(1000)));
  again.restore(op.snapshot());
  again.watermark(kMaxWatermark);
  EXPECT_THAT(again.results(), IsEmpty());
}

TEST_F(WindowOperatorTest, AnAggregateIsFoldedAsRecordsCome) {
  WindowHarness<SumOfEvents> op(machine_, windows(sliding(1000, 500)));
  op.start();
  op.add({at(0, "a", 1), at(600, "a", 2), at(1100, "a", 4)});
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [-500,500)@499", "a 3 [0,1000)@999", "a 6 [500,1500)@1499", "a 4 [1000,2000)@1999"));
}

TEST_F(WindowOperatorTest, ALateRecordIsDroppedAndCounted) {
  WindowHarness<> op(machine_, windows(tumbling(1000)));
  op.start();
  op.watermark(999);
  op.add({at(10, "a", 1), at(1000, "a", 2), at(20, "b", 3)});
  EXPECT_EQ(op.dropped(), 2);
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), ElementsAre("a 2 [1000,2000)@1999"));
}

TEST_F(WindowOperatorTest, ALateRecordThatGoesToTheSideOutputIsNotCounted) {
  WindowHarness<> op(machine_, lateToSide(windows(tumbling(1000))));
  op.start();
  op.watermark(999);
  op.add(10, "a", 1);
  EXPECT_THAT(op.late(), ElementsAre("a 1"));
  EXPECT_EQ(op.dropped(), 0);
}

TEST_F(WindowOperatorTest, ARecordIsLateOnlyWhereAllOfItsWindowsAreOver) {
  WindowHarness<> op(machine_, lateToSide(windows(sliding(1000, 500))));
  op.start();
  op.add(700, "a", 1);
  op.watermark(999);
  op.add(600, "a", 2);
  EXPECT_THAT(op.late(), IsEmpty());
  op.watermark(1499);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [0,1000)@999", "a 1 2 [500,1500)@1499"));
  op.add(650, "a", 3);
  EXPECT_THAT(op.late(), ElementsAre("a 3"));
}

TEST_F(WindowOperatorTest, ARecordBetweenWindowsIsNotLate) {
  WindowHarness<> op(machine_, windows(sliding(300, 1000)));
  op.start();
  op.add(500, "a", 1);
  EXPECT_EQ(op.dropped(), 0);
}

TEST_F(WindowOperatorTest, WithinTheAllowedLatenessEachRecordFiresItsWindowAgain) {
  WindowHarness<> op(machine_, lateToSide(windows(tumbling(1000), nullptr, 500)));
  op.start();
  op.add(0, "a", 1);
  op.watermark(1498);
  op.add(20, "a", 2);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [0,1000)@999", "a 1 2 [0,1000)@999"));
  op.watermark(1499);
  op.add(30, "a", 4);
  EXPECT_THAT(op.results(), IsEmpty());
  EXPECT_THAT(op.late(), ElementsAre("a 4"));
}

TEST_F(WindowOperatorTest, AWindowWhoseFirstRecordIsLateFiresAtOnce) {
  WindowHarness<> op(machine_, windows(tumbling(1000), nullptr, 500));
  op.start();
  op.watermark(1200);
  op.add(100, "a", 1);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [0,1000)@999"));
}

TEST_F(WindowOperatorTest, LatenessWithoutEndKeepsWindowsForEver) {
  WindowHarness<> op(machine_, windows(tumbling(1000), nullptr, kMaxWatermark));
  op.start();
  op.add(0, "a", 1);
  op.watermark(100'000);
  op.add(1, "a", 2);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [0,1000)@999", "a 1 2 [0,1000)@999"));
}

TEST_F(WindowOperatorTest, SessionsThatALateRecordBridgesFireTogether) {
  WindowHarness<> op(machine_, windows(sessions(100), nullptr, 1000));
  op.start();
  op.add({at(0, "a", 1), at(150, "a", 2)});
  op.watermark(400);
  op.add(80, "a", 3);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [0,100)@99", "a 2 [150,250)@249", "a 1 2 3 [0,250)@249"));
}

TEST_F(WindowOperatorTest, AnOldRecordIsNotLateWhereItsSessionIsStillOpen) {
  WindowHarness<> op(machine_, lateToSide(windows(sessions(100))));
  op.start();
  op.add({at(0, "a", 1), at(90, "a", 2)});
  op.watermark(120);
  op.add(30, "a", 3);
  op.watermark(300);
  op.add(200, "a", 4);
  EXPECT_THAT(op.results(), ElementsAre("a 1 2 3 [0,190)@189"));
  EXPECT_THAT(op.late(), ElementsAre("a 4"));
}

TEST_F(WindowOperatorTest, ReductionsOfSessionsMerge) {
  WindowHarness<SumOfEvents> op(machine_, windows(sessions(100)));
  op.start();
  op.add({at(0, "a", 1), at(150, "a", 2), at(80, "a", 4), at(0, "b", 8)});
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), ElementsAre("b 8 [0,100)@99", "a 7 [0,250)@249"));
}

TEST_F(WindowOperatorTest, ProcessingTimeWindowsFireByTheClockAndAreLostAtTheEndOfTheInput) {
  WindowHarness<> op(machine_, windows(TumblingProcessingTimeWindows::of(Millis(1000))));
  op.start();
  op.clock(10);
  op.add(77'777, "a", 1);
  op.clock(998);
  EXPECT_THAT(op.results(), IsEmpty());
  op.clock(999);
  EXPECT_THAT(op.results(), ElementsAre("a 1 [0,1000)@999"));
  op.clock(1500);
  op.add(5, "a", 2);
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), IsEmpty());
}

TEST_F(WindowOperatorTest, ACountTriggerReplacesTheTimeTrigger) {
  WindowHarness<> op(machine_, windows(tumbling(1000), CountTrigger::of(2)));
  op.start();
  op.add({at(0, "a", 1), at(1, "a", 2), at(2, "a", 3)});
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), ElementsAre("a 1 2 [0,1000)@999"));
}

TEST_F(WindowOperatorTest, APurgingTriggerEmptiesTheWindow) {
  WindowHarness<> op(machine_, windows(GlobalWindows::create(), PurgingTrigger::of(CountTrigger::of(2))));
  op.start();
  op.add({at(0, "a", 1), at(1, "a", 2), at(2, "a", 3), at(3, "a", 4), at(4, "a", 5)});
  EXPECT_THAT(op.results(), ElementsAre(fmt::format("a 1 2 global@{}", kMaxWatermark), fmt::format("a 3 4 global@{}", kMaxWatermark)));
}

TEST_F(WindowOperatorTest, EvictedElementsAreGoneForLaterFiringsToo) {
  WindowHarness<EvictedEvents> op(machine_, windows(GlobalWindows::create(), CountTrigger::of(3)),
                                  EvictedEvents(CountEvictor<Event>::of(2, true), ListOfEvents(Show{})));
  op.start();
  for (int64_t i = 1; i <= 9; ++i) op.add(i, "a", i);
  std::vector<std::string> shown = op.results();
  for (auto& text : shown) text.resize(text.find(" global"));
  EXPECT_THAT(shown, ElementsAre("a 1 2 3", "a 2 3 4 5 6", "a 5 6 7 8 9"));
}

TEST_F(WindowOperatorTest, ElementsThatWaitForAnEvictorKeepTheirTimestampsThroughAFailure) {
  const EvictedEvents contents(TimeEvictor<Event>::of(Millis(100)), ListOfEvents(Show{}));
  WindowHarness<EvictedEvents> op(machine_, windows(tumbling(1000)), contents);
  op.start();
  op.add({at(0, "a", 1), at(100, "a", 2), at(150, "a", 3)});
  WindowHarness<EvictedEvents> again(machine_, windows(tumbling(1000)), contents);
  again.restore(op.snapshot());
  again.watermark(kMaxWatermark);
  EXPECT_THAT(again.results(), ElementsAre("a 2 3 [0,1000)@999"));
}

TEST_F(WindowOperatorTest, AReductionRunsOverWhatTheEvictorLeaves) {
  using Contents = EvictingContents<SumOfEvents>;
  WindowHarness<Contents> op(machine_, windows(tumbling(1000)), Contents(CountEvictor<Event>::of(2), SumOfEvents(kSum, Show{})));
  op.start();
  op.add({at(0, "a", 1), at(1, "a", 2), at(2, "a", 4)});
  op.watermark(kMaxWatermark);
  EXPECT_THAT(op.results(), ElementsAre("a 6 [0,1000)@999"));
}

/// Counts the firings of each window and of each key.
struct CountFirings {
  const ValueStateDescriptor<int64_t> firings{"firings"}, all{"all"};
  void process(const std::string& key, ProcessWindowContext<std::string>& context, std::span<const Event>, Collector<std::string>& out) {
    const int64_t inWindow = ++context.windowState(firings).slot();
    const int64_t inAll = ++context.globalState(all).slot();
    out.collect(fmt::format("{} {} {} wm={}", key, inWindow, inAll, context.currentWatermark()));
    context.output(OutputTag<Event>{"late"}, Event{"side of " + key, inAll});
  }
  void clear(ProcessWindowContext<std::string>& context) { context.windowState(firings).clear(); }
};

TEST_F(WindowOperatorTest, AWindowFunctionHasStateOfTheWindowAndOfTheKey) {
  using Contents = ListContents<Event, CountFirings, std::string>;
  WindowHarness<Contents> op(machine_, windows(tumbling(1000), nullptr, 500), Contents(CountFirings{}));
  op.start();
  op.add({at(0, "a", 1), at(1000, "a", 1)});
  op.watermark(999);
  op.add(1, "a", 1);
  op.watermark(1999);
  EXPECT_THAT(op.results(), ElementsAre("a 1 1 wm=999@999", "a 2 2 wm=999@999", "a 1 3 wm=1999@1999"));
  EXPECT_THAT(op.late(), ElementsAre("side of a 1", "side of a 2", "side of a 3")) << "a side output of the function";
}

TEST_F(WindowOperatorTest, PerWindowStateIsRefusedWhereWindowsMerge) {
  using Contents = ListContents<Event, CountFirings, std::string>;
  WindowHarness<Contents> op(machine_, windows(sessions(100)), Contents(CountFirings{}));
  op.start();
  op.add(0, "a", 1);
  EXPECT_THROW(op.watermark(kMaxWatermark), Throwable);
}

TEST_F(WindowOperatorTest, ARecordWithoutTimestampFailsTheTask) {
  WindowHarness<> op(machine_, windows(tumbling(1000)));
  op.start();
  EXPECT_THROW(op.add({StreamRecord<Event>(Event{"a", 1})}), Throwable);
}

TEST_F(WindowOperatorTest, ANullKeyFailsTheTask) {
  const NonNullKey key{[](const Event& event) { return event.first.empty() ? std::nullopt : std::optional(event.first); }};
  EXPECT_EQ(key(Event{"a", 1}), "a");
  try {
    key(Event{"", 1});
    FAIL();
  } catch (const Throwable& failure) {
    EXPECT_STREQ(failure.what(), "java.lang.NullPointerException: Assigned key must not be null!");
  }
}

TEST_F(WindowOperatorTest, TheWatermarkIsNotRestored) {
  WindowHarness<> op(machine_, windows(tumbling(1000)));
  op.start();
  op.watermark(999);
  WindowHarness<> again(machine_, windows(tumbling(1000)));
  again.restore(op.snapshot());
  again.add(200, "a", 3);
  again.watermark(300);
  EXPECT_THAT(again.take(), ElementsAre("Watermark @ 300"));
  again.watermark(999);
  EXPECT_THAT(again.results(), ElementsAre("a 3 [0,1000)@999")) << "a restored operator has seen no watermark yet";
}

TEST_F(WindowOperatorTest, AWindowThatFiredBeforeARestoreFiresAgainForWhatComesBehindIt) {
  // It is kept for late records. The watermark begins anew, so the next record is not late, and what the window holds is no sign of a
  // timer.
  for (const auto& assigner : {tumbling(1000), sliding(1000, 500)}) {
    WindowHarness<> op(machine_, windows(assigner, nullptr, 5000));
    op.start();
    op.add(600, "a", 1);
    op.watermark(2000);
    op.take();
    WindowHarness<> again(machine_, windows(assigner, nullptr, 5000));
    again.restore(op.snapshot());
    again.add(700, "a", 2);
    again.watermark(999);
    EXPECT_THAT(again.results(), ElementsAre("a 1 2 [0,1000)@999"));
  }
}

TEST_F(WindowOperatorTest, PartsThatDoNotGoTogetherAreRefused) {
  const auto delta = deltaTrigger<Event>(1, [](const Event&, const Event&) { return 0.0; });
  EXPECT_TRUE(windows(sessions(100), delta).check().has_error());
  EXPECT_FALSE(windows(tumbling(100), delta).check().has_error());
  EXPECT_TRUE(windows(tumbling(100), nullptr, -1).check().has_error());
}

}  // namespace
}  // namespace weir
