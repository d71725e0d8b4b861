#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/operator_harness.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/operators/keyed.h"

// Timers as user functions see them, through failure and rescaling.
namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using weir::testing::HarnessOptions;
using weir::testing::OperatorHarness;
using weir::testing::OperatorMachine;

/// A record is a number: its key are the hundreds; it sets an event-time timer at its rest, and one of processing time at ten times that.
struct Alarms {
  void processElement(int64_t value, KeyedProcessContext<int64_t>& context, Collector<std::string>& out) {
    out.collect(fmt::format("{} wm={}", value, context.timerService().currentWatermark()));
    context.timerService().registerEventTimeTimer(value % 100);
    context.timerService().registerProcessingTimeTimer(value % 100 * 10);
  }
  void onTimer(int64_t timestamp, OnTimerContext<int64_t>& context, Collector<std::string>& out) {
    const char* domain = context.timeDomain() == TimeDomain::kEventTime ? "event" : "processing";
    out.collect(fmt::format("{} {} of {} wm={}", domain, timestamp, context.currentKey(), context.timerService().currentWatermark()));
    EXPECT_EQ(context.timestamp(), timestamp);
  }
};
struct Hundreds {
  int64_t operator()(int64_t value) const { return value / 100; }
};

class AlarmsHarness : public OperatorHarness<int64_t, std::string> {
 public:
  explicit AlarmsHarness(OperatorMachine& machine, HarnessOptions options = {})
      : OperatorHarness<int64_t, std::string>(
            machine,
            [](OperatorSetup setup) {
              return std::make_unique<KeyedProcessOperator<int64_t, std::string, Hundreds, Alarms>>(
                  std::move(setup), Hundreds{}, Alarms{}, heapKeyedStateBackend<int64_t>());
            },
            options) {}
};

TEST(KeyedTimersTest, OutputOfAnEventTimeTimerHasItsTimeAndComesBeforeTheWatermark) {
  OperatorMachine machine;
  AlarmsHarness op(machine);
  op.start();
  op.processRecords({{110, 7}});
  op.watermark(9);
  EXPECT_THAT(op.takeElements(), ElementsAre("110 wm=-9223372036854775808@7", "Watermark @ 9"));
  op.watermark(10);
  EXPECT_THAT(op.takeElements(), ElementsAre("event 10 of 1 wm=10@10", "Watermark @ 10"));
  op.time().advanceTo(100);
  EXPECT_THAT(op.takeElements(), ElementsAre("processing 100 of 1 wm=10")) << "no time, in spite of the record before";
}

TEST(KeyedTimersTest, TimersSurviveARestoreTheWatermarkDoesNot) {
  OperatorMachine machine;
  AlarmsHarness first(machine);
  first.start();
  first.process({110, 220});
  first.watermark(5);
  const OperatorSubtaskState state = first.snapshot(1);
  first.watermark(50);  // lost with the attempt

  AlarmsHarness second(machine);
  second.restore(state);
  second.process({333});
  EXPECT_THAT(second.takeElements(), ElementsAre("333 wm=-9223372036854775808"));
  second.watermark(20);
  EXPECT_THAT(second.takeElements(), ElementsAre("event 10 of 1 wm=20@10", "event 20 of 2 wm=20@20", "Watermark @ 20"));
  second.time().advanceTo(1000);
  EXPECT_THAT(second.takeElements(),
              ElementsAre("processing 100 of 1 wm=20", "processing 200 of 2 wm=20", "processing 330 of 3 wm=20"))
      << "restored ones are due without anything being registered";
}

TEST(KeyedTimersTest, RescaledTimersFireWhereTheirKeysAre) {
  OperatorMachine machine;
  std::vector<OperatorSubtaskState> states;
  for (int32_t subtask = 0; subtask < 2; ++subtask) {
    AlarmsHarness op(machine, {.subtask = subtask, .parallelism = 2});
    op.start();
    for (int64_t key = 1; key <= 20; ++key)
      if (assignKeyToParallelOperator(key, 2, 128) == subtask) op.process({key * 100 + 10});
    states.push_back(op.snapshot(1));
  }
  int fired = 0;
  for (const int32_t parallelism : {1, 3, 5}) {
    const auto dealt = weir::testing::rescaled(states, parallelism);
    for (int32_t subtask = 0; subtask < parallelism; ++subtask) {
      AlarmsHarness op(machine, {.subtask = subtask, .parallelism = parallelism});
      op.restore(dealt[static_cast<size_t>(subtask)]);
      op.watermark(kMaxWatermark);
      for (const std::string& element : op.takeElements()) {
        if (!element.starts_with("event 10 of ")) continue;
        ++fired;
        EXPECT_EQ(assignKeyToParallelOperator(static_cast<int64_t>(std::stoi(element.substr(12))), parallelism, 128), subtask);
      }
    }
  }
  EXPECT_EQ(fired, 3 * 20);
}

/// Sums per ten milliseconds of event time; drops what is late.
struct Tens {
  int64_t* dropped;
  MapState<int64_t, int64_t> sums{};
  void open(KeyedRuntimeContext<int64_t>& context) { sums = context.state(MapStateDescriptor<int64_t, int64_t>{.name = "sums"}); }
  void processElement(int64_t value, KeyedProcessContext<int64_t>& context, Collector<std::string>&) {
    const int64_t end = value % 100 / 10 * 10 + 10;
    if (end - 1 <= context.timerService().currentWatermark()) {
      ++*dropped;
      return;
    }
    ++sums.slot(end);
    context.timerService().registerEventTimeTimer(end - 1);
  }
  void onTimer(int64_t timestamp, OnTimerContext<int64_t>&, Collector<std::string>& out) {
    out.collect(fmt::format("{} until {}", *sums.get(timestamp + 1), timestamp + 1));
    sums.remove(timestamp + 1);
  }
};

TEST(KeyedTimersTest, WatermarkNotInCheckpoint) {
  // As in Flink the watermark is lost with the attempt: a record that was late before opens its window once more after the restore, and a
  // second, partial result comes out.
  OperatorMachine machine;
  int64_t dropped = 0;
  const auto make = [&](OperatorSetup setup) {
    return std::make_unique<KeyedProcessOperator<int64_t, std::string, Hundreds, Tens>>(std::move(setup), Hundreds{}, Tens{&dropped},
                                                                                       heapKeyedStateBackend<int64_t>());
  };
  OperatorHarness<int64_t, std::string> first(machine, make);
  first.start();
  first.process({101, 102});
  first.watermark(10);
  EXPECT_THAT(first.takeElements(), ElementsAre("2 until 10@9", "Watermark @ 10"));
  const OperatorSubtaskState state = first.snapshot(1);
  first.process({105});
  EXPECT_EQ(dropped, 1);

  OperatorHarness<int64_t, std::string> second(machine, make);
  second.restore(state);
  second.process({105});  // replayed
  second.watermark(10);
  EXPECT_EQ(dropped, 1) << "not late any more";
  EXPECT_THAT(second.takeElements(), ElementsAre("1 until 10@9", "Watermark @ 10"));
}

/// Stands for a task with a mail in its box.
class Asked final : public Interruption {
 public:
  bool isRequested() const override { return requested; }
  bool requested = false;
};

TEST(KeyedTimersTest, ACheckpointBetweenTwoTimersOfOneWatermarkLosesAndRepeatsNone) {
  OperatorMachine machine;
  Asked mail;
  AlarmsHarness op(machine, {.interruption = &mail});
  op.start();
  for (int64_t key = 1; key <= 9; ++key) op.process({key * 100 + 10});
  op.takeElements();
  mail.requested = true;
  op.watermark(10);
  EXPECT_TRUE(op.op().hasPendingWatermark());
  EXPECT_FALSE(op.op().continueWatermark());
  EXPECT_THAT(op.takeElements(), ElementsAre("event 10 of 1 wm=10@10", "event 10 of 2 wm=10@10")) << "and no watermark";
  const OperatorSubtaskState state = op.snapshot(1);
  mail.requested = false;
  EXPECT_TRUE(op.op().continueWatermark());
  EXPECT_EQ(op.takeElements().size(), 7u + 1);

  AlarmsHarness again(machine);
  again.restore(state);
  again.watermark(10);
  EXPECT_EQ(again.takeElements().size(), 7u + 1);
}

struct TwoClocks {
  void processElement1(int64_t value, KeyedProcessContext<int64_t>& context, Collector<std::string>&) {
    context.timerService().registerEventTimeTimer(value % 100);
  }
  void processElement2(int64_t value, KeyedProcessContext<int64_t>& context, Collector<std::string>&) {
    context.timerService().deleteEventTimeTimer(value % 100);
  }
  void onTimer(int64_t timestamp, OnTimerContext<int64_t>& context, Collector<std::string>& out) {
    out.collect(fmt::format("{} of {}", timestamp, context.currentKey()));
  }
};

TEST(KeyedTimersTest, BothInputsOfACoProcessShareTimersAndTheWatermarkIsTheSmallerOne) {
  OperatorMachine machine;
  OperatorHarness<int64_t, std::string> op(machine, [](OperatorSetup setup) {
    return std::make_unique<KeyedCoProcessOperator<int64_t, int64_t, std::string, Hundreds, Hundreds, TwoClocks>>(
        std::move(setup), Hundreds{}, Hundreds{}, TwoClocks{}, heapKeyedStateBackend<int64_t>());
  });
  op.start();
  op.process({110, 120, 210});
  StreamRecord<int64_t> second(110);
  static_cast<Output<int64_t>&>(op.op().input(1)).collect({&second, 1});
  op.watermark(30, 0);
  EXPECT_THAT(op.takeElements(), IsEmpty());
  op.watermark(15, 1);
  EXPECT_THAT(op.takeElements(), ElementsAre("10 of 2@10", "Watermark @ 15"));
  op.status(true, 1);
  EXPECT_THAT(op.takeElements(), ElementsAre("20 of 1@20", "Watermark @ 30")) << "the idle input does not hold back the other";
}

/// Holds the watermark back by a join's bound.
template <int64_t kHoldBack>
class HoldingOperator final : public OneInputOperator<int64_t> {
 public:
  using OneInputOperator<int64_t>::OneInputOperator;

 protected:
  void process(std::span<StreamRecord<int64_t>> records) override { output<int64_t>().collect(records); }
  void onEventTime(int64_t timestamp) override { emitWatermark(timestamp - kHoldBack); }
};
template <int64_t kHoldBack>
std::vector<std::string> heldBack() {
  OperatorMachine machine;
  OperatorHarness<int64_t> op(machine, [](OperatorSetup setup) { return std::make_unique<HoldingOperator<kHoldBack>>(std::move(setup)); });
  op.start();
  op.watermark(6000);
  return op.takeElements();
}

TEST(KeyedTimersTest, HoldBackOffByOne) {
  // With watermark 6000 a join over 5000 ms may still emit a result of time 1000. A watermark t promises that nothing up to t comes: held
  // back by the bound alone it would make that result late.
  EXPECT_THAT(heldBack<5000>(), ElementsAre("Watermark @ 1000"));
  EXPECT_THAT(heldBack<5001>(), ElementsAre("Watermark @ 999"));
}

}  // namespace
}  // namespace weir
