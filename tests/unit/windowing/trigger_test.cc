// Triggers alone, against a context of which timers and state can be seen.
#include "weir/windowing/trigger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "weir/base/error.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/record/stream_element.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using R = TriggerResult;

class FakeContext final : public TriggerContext {
 public:
  FakeContext() { backend_.setCurrentKey(1); }
  int64_t getCurrentWatermark() const override { return watermark; }
  int64_t getCurrentProcessingTime() const override { return now; }
  void registerEventTimeTimer(int64_t time) override { eventTimers.insert(time); }
  void registerProcessingTimeTimer(int64_t time) override { processingTimers.insert(time); }
  void deleteEventTimeTimer(int64_t time) override { eventTimers.erase(time); }
  void deleteProcessingTimeTimer(int64_t time) override { processingTimers.erase(time); }

  int64_t numEntries() const { return backend_.numEntries(); }

  int64_t watermark = kNoTimestamp, now = 0;
  std::set<int64_t> eventTimers, processingTimers;
  TimeWindow current{0, 1000};
  std::vector<TimeWindow> merged;

 private:
  const TimeWindow& window() const override { return current; }
  std::span<const TimeWindow> mergedWindows() const override { return merged; }
  KeyedStateTable* known(const std::string&, const std::type_info&) override { return nullptr; }
  KeyedStateTable& made(const std::string& name, std::shared_ptr<const StateType> type) override {
    return *backend_.storedTable(name, StateNamespace::kTimeWindow, std::move(type)).value();
  }
  HeapKeyedStateBackend<int64_t> backend_{KeyedStateBackendParameters{{0, 127}, 128, Random(1)}};
};

class TriggerTest : public ::testing::Test {
 protected:
  R element(const TriggerPtr& trigger, int64_t timestamp = 5) {
    return trigger->onElement(ElementRef(timestamp), timestamp, context_.current, context_);
  }
  /// A timer that the trigger has set fires.
  R eventTimer(const TriggerPtr& trigger, int64_t time) {
    EXPECT_EQ(context_.eventTimers.erase(time), 1u) << "no event timer at " << time;
    return trigger->onEventTime(time, context_.current, context_);
  }
  R processingTimer(const TriggerPtr& trigger, int64_t time) {
    EXPECT_EQ(context_.processingTimers.erase(time), 1u) << "no processing timer at " << time;
    context_.now = time;
    return trigger->onProcessingTime(time, context_.current, context_);
  }
  /// Nothing may be left of a window that is over.
  void clearLeavesNothing(const TriggerPtr& trigger) {
    trigger->clear(context_.current, context_);
    EXPECT_EQ(context_.numEntries(), 0);
    EXPECT_THAT(context_.eventTimers, ::testing::AnyOf(IsEmpty(), ElementsAre(999))) << "the cleanup timer deletes the last one";
    EXPECT_THAT(context_.processingTimers, IsEmpty());
  }
  FakeContext context_;
};

TEST_F(TriggerTest, EventTimeFiresAtTheLastMillisecondOfTheWindow) {
  const auto trigger = EventTimeTrigger::create();
  EXPECT_EQ(element(trigger), R::kContinue);
  EXPECT_THAT(context_.eventTimers, ElementsAre(999));
  EXPECT_EQ(eventTimer(trigger, 999), R::kFire);
  clearLeavesNothing(trigger);
}

TEST_F(TriggerTest, EventTimeFiresAtOnceForElementsOfAWindowThatIsOver) {
  context_.watermark = 999;
  EXPECT_EQ(element(EventTimeTrigger::create()), R::kFire);
  EXPECT_THAT(context_.eventTimers, IsEmpty());
}

TEST_F(TriggerTest, EventTimeIgnoresOtherTimersOfItsWindow) {
  EXPECT_EQ(EventTimeTrigger::create()->onEventTime(1499, context_.current, context_), R::kContinue) << "that of allowed lateness";
}

TEST_F(TriggerTest, EventTimeSetsNoTimerForAMergedWindowThatIsOver) {
  context_.watermark = 999;
  EventTimeTrigger::create()->onMerge(context_.current, context_);
  EXPECT_THAT(context_.eventTimers, IsEmpty());
  context_.watermark = 998;
  EventTimeTrigger::create()->onMerge(context_.current, context_);
  EXPECT_THAT(context_.eventTimers, ElementsAre(999));
}

TEST_F(TriggerTest, ProcessingTimeFiresWhenTheClockReachesTheEnd) {
  const auto trigger = ProcessingTimeTrigger::create();
  EXPECT_EQ(element(trigger), R::kContinue);
  EXPECT_EQ(processingTimer(trigger, 999), R::kFire);
  clearLeavesNothing(trigger);
}

TEST_F(TriggerTest, CountFiresWithEveryNthElementAndStartsAnew) {
  const auto trigger = CountTrigger::of(3);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(element(trigger), R::kContinue);
    EXPECT_EQ(element(trigger), R::kContinue);
    EXPECT_EQ(element(trigger), R::kFire);
  }
  element(trigger);
  clearLeavesNothing(trigger);
}

TEST_F(TriggerTest, CountsOfMergedWindowsAddUp) {
  const auto trigger = CountTrigger::of(3);
  for (TimeWindow window : {TimeWindow{0, 100}, TimeWindow{150, 250}}) {
    context_.current = window;
    element(trigger);
  }
  context_.merged = {{0, 100}, {150, 250}};
  context_.current = {0, 250};
  trigger->onMerge(context_.current, context_);
  EXPECT_EQ(element(trigger), R::kFire);
  EXPECT_EQ(context_.numEntries(), 0);
}

TEST_F(TriggerTest, ContinuousEventTimeFiresAtEachMultipleOfTheIntervalAndAtTheEnd) {
  const auto trigger = ContinuousEventTimeTrigger::of(Millis(400));
  EXPECT_EQ(element(trigger, 5), R::kContinue);
  EXPECT_EQ(element(trigger, 300), R::kContinue);
  EXPECT_THAT(context_.eventTimers, ElementsAre(400, 999));
  EXPECT_EQ(eventTimer(trigger, 400), R::kFire);
  EXPECT_EQ(eventTimer(trigger, 800), R::kFire);
  EXPECT_THAT(context_.eventTimers, ElementsAre(999)) << "an interval does not go beyond the window";
  EXPECT_EQ(eventTimer(trigger, 999), R::kFire);
  clearLeavesNothing(trigger);
}

TEST_F(TriggerTest, ContinuousEventTimeRoundsTowardsTheEpoch) {
  context_.current = {-1000, 1000};
  element(ContinuousEventTimeTrigger::of(Millis(400)), -500);
  EXPECT_THAT(context_.eventTimers, ElementsAre(0, 999)) << "Java's remainder is negative here, so that an interval is left out";
}

TEST_F(TriggerTest, ContinuousEventTimeOfMergedWindowsGoesOnWithTheEarliest) {
  const auto trigger = ContinuousEventTimeTrigger::of(Millis(100));
  context_.current = {0, 300};
  element(trigger, 5);
  context_.current = {250, 550};
  element(trigger, 250);
  context_.eventTimers.clear();
  context_.merged = {{0, 300}, {250, 550}};
  context_.current = {0, 550};
  trigger->onMerge(context_.current, context_);
  EXPECT_THAT(context_.eventTimers, ElementsAre(100));
}

TEST_F(TriggerTest, ContinuousProcessingTimeFiresAtEachMultipleOfTheIntervalOnTheClock) {
  context_.now = 30;
  const auto trigger = ContinuousProcessingTimeTrigger::of(Millis(100));
  EXPECT_EQ(element(trigger), R::kContinue);
  EXPECT_EQ(processingTimer(trigger, 100), R::kFire);
  EXPECT_EQ(processingTimer(trigger, 200), R::kFire);
  clearLeavesNothing(trigger);
}

TEST_F(TriggerTest, ContinuousProcessingTimeFiresOnceForAWindowThatLiesBehindTheClock) {
  context_.now = 5000;
  const auto trigger = ContinuousProcessingTimeTrigger::of(Millis(100));
  element(trigger);
  EXPECT_THAT(context_.processingTimers, ElementsAre(999)) << "due at once";
  EXPECT_EQ(processingTimer(trigger, 999), R::kFire);
  EXPECT_THAT(context_.processingTimers, IsEmpty());
}

TEST_F(TriggerTest, PurgingForgetsWheneverItsTriggerFires) {
  const auto trigger = PurgingTrigger::of(CountTrigger::of(2));
  EXPECT_EQ(element(trigger), R::kContinue);
  EXPECT_EQ(element(trigger), R::kFireAndPurge);
  EXPECT_TRUE(trigger->canMerge());
}

TEST_F(TriggerTest, ATimeoutFiresWhatItsTriggerHasNot) {
  context_.now = 10;
  const auto trigger = ProcessingTimeoutTrigger::of(CountTrigger::of(3), Millis(100));
  element(trigger);
  context_.now = 60;
  element(trigger);
  EXPECT_THAT(context_.processingTimers, ElementsAre(110)) << "counted from the first element";
  EXPECT_EQ(processingTimer(trigger, 110), R::kFire);
  EXPECT_EQ(context_.numEntries(), 0) << "and the count starts anew";
}

TEST_F(TriggerTest, ATimeoutMayBeCountedFromTheLatestElement) {
  context_.now = 10;
  const auto trigger = ProcessingTimeoutTrigger::of(CountTrigger::of(3), Millis(100), true, false);
  element(trigger);
  context_.now = 60;
  element(trigger);
  EXPECT_THAT(context_.processingTimers, ElementsAre(160));
  EXPECT_EQ(processingTimer(trigger, 160), R::kFire);
  EXPECT_EQ(element(trigger), R::kFire) << "the count went on";
}

TEST_F(TriggerTest, ATimeoutIsOffWhenItsTriggerFires) {
  const auto trigger = ProcessingTimeoutTrigger::of(CountTrigger::of(2), Millis(100));
  element(trigger);
  EXPECT_EQ(element(trigger), R::kFire);
  EXPECT_THAT(context_.processingTimers, IsEmpty());
}

TEST_F(TriggerTest, TheEndOfTheStreamFiresOnce) {
  context_.current = kGlobalWindow;
  const auto trigger = EndOfStreamTrigger::create();
  EXPECT_EQ(element(trigger), R::kContinue);
  EXPECT_EQ(eventTimer(trigger, kMaxWatermark), R::kFireAndPurge);
}

TEST_F(TriggerTest, NeverNeverFires) {
  EXPECT_EQ(element(NeverTrigger::create()), R::kContinue);
  EXPECT_THAT(context_.eventTimers, IsEmpty());
}

TEST_F(TriggerTest, DeltaFiresWhenAnElementIsFarFromTheOneOfTheLastFiring) {
  const auto trigger = deltaTrigger<int64_t>(10, [](int64_t old, int64_t fresh) { return static_cast<double>(fresh - old); });
  EXPECT_EQ(element(trigger, 5), R::kContinue);
  EXPECT_EQ(element(trigger, 15), R::kContinue);
  EXPECT_EQ(element(trigger, 16), R::kFire);
  EXPECT_EQ(element(trigger, 26), R::kContinue);
  EXPECT_FALSE(trigger->canMerge());
  clearLeavesNothing(trigger);
}

/// Fires at records that say so: a trigger as users write it.
class MarkerTrigger final : public Trigger {
 public:
  TriggerResult onElement(ElementRef element, int64_t, const TimeWindow&, TriggerContext&) const override {
    return element.as<std::string>() == "now" ? R::kFire : R::kContinue;
  }
  TriggerResult onEventTime(int64_t, const TimeWindow&, TriggerContext&) const override { return R::kContinue; }
  TriggerResult onProcessingTime(int64_t, const TimeWindow&, TriggerContext&) const override { return R::kContinue; }
  void clear(const TimeWindow&, TriggerContext&) const override {}
  std::string toString() const override { return "MarkerTrigger"; }
};

TEST_F(TriggerTest, ACustomTriggerSeesTheElement) {
  const MarkerTrigger trigger;
  const std::string later = "later", now = "now";
  EXPECT_EQ(trigger.onElement(ElementRef(later), 0, context_.current, context_), R::kContinue);
  EXPECT_EQ(trigger.onElement(ElementRef(now), 0, context_.current, context_), R::kFire);
  EXPECT_THROW(trigger.onMerge(context_.current, context_), Throwable) << "without onMerge it does not merge";
}

}  // namespace
}  // namespace weir
