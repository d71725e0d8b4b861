#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "support/manual_processing_time.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/time/internal_timer_service.h"

// When timers fire, and which.
namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class N>
class TimersOf : private Triggerable<std::string, N> {
 public:
  HeapKeyedStateBackend<std::string> backend{{{0, 127}, 128, Random(1)}};
  ::weir::testing::ManualProcessingTime clock;
  InternalTimerService<std::string, N> service{backend, *backend.template timerQueue<N>("p").value(),
                                               *backend.template timerQueue<N>("e").value(), clock, *this};
  std::vector<std::string> fired;
  std::function<void()> whenFired = [] {};

  TimersOf& key(const std::string& key) { return backend.setCurrentKey(key), *this; }
  std::vector<std::string> take() { return std::exchange(fired, {}); }

 private:
  void onEventTime(const InternalTimer<std::string, N>& timer) override { note("e", timer); }
  void onProcessingTime(const InternalTimer<std::string, N>& timer) override { note("p", timer); }
  void note(const char* kind, const InternalTimer<std::string, N>& timer) {
    EXPECT_EQ(backend.currentKey(), timer.key);
    fired.push_back(fmt::format("{}{}{}", timer.key, kind, timer.timestamp));
    if constexpr (std::is_same_v<N, TimeWindow>) fired.back() += fmt::format("[{},{})", timer.nameSpace.start, timer.nameSpace.end);
    const auto call = whenFired;  // it may put another one in its place
    call();
  }
};
using Timers = TimersOf<VoidNamespace>;
constexpr VoidNamespace kVoid{};

TEST(InternalTimerServiceTest, EventTimeTimersFireInTheOrderOfTimeUpToTheWatermark) {
  Timers t;
  for (const int64_t time : {50, 10, 30}) t.key("a").service.registerEventTimeTimer(kVoid, time);
  t.service.advanceWatermark(9);
  EXPECT_THAT(t.take(), IsEmpty());
  t.service.advanceWatermark(30);
  EXPECT_THAT(t.take(), ElementsAre("ae10", "ae30"));
  EXPECT_EQ(t.service.currentWatermark(), 30);
  t.service.advanceWatermark(kMaxWatermark);
  EXPECT_THAT(t.take(), ElementsAre("ae50"));
}

TEST(InternalTimerServiceTest, ATimerIsPerKeyAndThereOnce) {
  Timers t;
  t.key("a").service.registerEventTimeTimer(kVoid, 10);
  t.key("a").service.registerEventTimeTimer(kVoid, 10);
  t.key("b").service.registerEventTimeTimer(kVoid, 10);
  t.key("b").service.registerEventTimeTimer(kVoid, 20);
  EXPECT_EQ(t.service.numEventTimeTimers(), 3);
  t.key("a").service.deleteEventTimeTimer(kVoid, 20);
  t.key("b").service.deleteEventTimeTimer(kVoid, 10);
  t.service.advanceWatermark(100);
  EXPECT_THAT(t.take(), ElementsAre("ae10", "be20"));
}

TEST(InternalTimerServiceTest, OfEqualTimesTheOneThatWasSetFirstFiresFirst) {
  Timers t;
  for (const char* key : {"c", "a", "b", "d"}) t.key(key).service.registerEventTimeTimer(kVoid, 10);
  t.key("a").service.registerEventTimeTimer(kVoid, 5);
  t.service.advanceWatermark(10);
  EXPECT_THAT(t.take(), ElementsAre("ae5", "ce10", "ae10", "be10", "de10"));
}

TEST(InternalTimerServiceTest, ATimerBehindTheWatermarkFiresWithTheNextOneAlsoAnEqualOne) {
  Timers t;
  t.service.advanceWatermark(100);
  t.key("a").service.registerEventTimeTimer(kVoid, 50);
  EXPECT_THAT(t.take(), IsEmpty());
  t.service.advanceWatermark(100);
  EXPECT_THAT(t.take(), ElementsAre("ae50"));
}

TEST(InternalTimerServiceTest, ATimerThatIsSetWhileOthersFireFiresInTheSameAdvanceIfItIsDue) {
  Timers t;
  t.key("a").service.registerEventTimeTimer(kVoid, 10);
  t.whenFired = [&] {
    t.whenFired = [] {};
    t.service.registerEventTimeTimer(kVoid, 5);
    t.service.registerEventTimeTimer(kVoid, 200);
  };
  t.service.advanceWatermark(100);
  EXPECT_THAT(t.take(), ElementsAre("ae10", "ae5"));
  EXPECT_EQ(t.service.numEventTimeTimers(), 1);
}

TEST(InternalTimerServiceTest, TimersOfWindowsAreToldApart) {
  TimersOf<TimeWindow> t;
  t.key("a").service.registerEventTimeTimer({0, 10}, 9);
  t.key("a").service.registerEventTimeTimer({5, 15}, 9);
  t.key("a").service.registerEventTimeTimer({0, 20}, 9);
  t.key("a").service.deleteEventTimeTimer({5, 15}, 9);
  t.service.advanceWatermark(9);
  EXPECT_THAT(t.take(), ElementsAre("ae9[0,10)", "ae9[0,20)"));
}

TEST(InternalTimerServiceTest, ProcessingTimeTimersFireWhenTheClockHasPassedThem) {
  Timers t;
  for (const int64_t time : {50, 10, 30, 10}) t.key("a").service.registerProcessingTimeTimer(kVoid, time);
  t.key("b").service.registerProcessingTimeTimer(kVoid, 30);
  t.key("b").service.deleteProcessingTimeTimer(kVoid, 30);
  t.clock.advanceTo(9);
  EXPECT_THAT(t.take(), IsEmpty());
  t.clock.advanceTo(30);
  EXPECT_THAT(t.take(), ElementsAre("ap10", "ap30"));
  t.clock.advanceTo(100);
  EXPECT_THAT(t.take(), ElementsAre("ap50"));
  EXPECT_EQ(t.clock.numTimers(), 0u);
}

TEST(InternalTimerServiceTest, OnlyTheFirstProcessingTimeTimerIsAnAlarmOfTheTask) {
  Timers t;
  for (int64_t time = 1000; time > 0; --time) t.key("a").service.registerProcessingTimeTimer(kVoid, time);
  EXPECT_EQ(t.clock.numTimers(), 1u);
  t.whenFired = [&] { t.service.registerProcessingTimeTimer(kVoid, 5000); };
  t.clock.advanceTo(500);
  EXPECT_EQ(t.take().size(), 500u);
  EXPECT_EQ(t.clock.numTimers(), 1u);
}

TEST(InternalTimerServiceTest, AProcessingTimeTimerInThePastFiresAtTheNextOpportunity) {
  Timers t;
  t.clock.advanceTo(100);
  t.key("a").service.registerProcessingTimeTimer(kVoid, 50);
  EXPECT_THAT(t.take(), IsEmpty());
  t.clock.advanceTo(100);
  EXPECT_THAT(t.take(), ElementsAre("ap50"));
}

class Every final : public Interruption {
 public:
  explicit Every(int n) : n_(n) {}
  bool isRequested() const override { return ++asked_ % n_ == 0; }

 private:
  const int n_;
  mutable int asked_ = 0;
};

TEST(InternalTimerServiceTest, AnInterruptedAdvanceGoesOnWhereItWasAndFiresEachTimerOnce) {
  Timers t;
  for (int key = 0; key < 100; ++key) t.key(std::to_string(key)).service.registerEventTimeTimer(kVoid, 10);
  const Every tenth(10);
  int calls = 1;
  while (!t.service.advanceWatermark(10, &tenth)) ++calls;
  EXPECT_EQ(calls, 10);
  const auto fired = t.take();
  EXPECT_EQ(std::set<std::string>(fired.begin(), fired.end()).size(), 100u);
  EXPECT_EQ(fired.size(), 100u);
}

}  // namespace
}  // namespace weir
