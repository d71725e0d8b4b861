#include "weir/operators/broadcast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/operator_harness.h"
#include "weir/keyed/heap_keyed_state_backend.h"

namespace weir {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using Rule = std::pair<std::string, int64_t>;   // a name and its factor
using Value = std::pair<std::string, int64_t>;  // the name of a rule and a number

const BroadcastStateDescriptor<std::string, int64_t> kRules{"rules"};
const ValueStateDescriptor<int64_t> kTotal{"total"};

/// Numbers times the factor of their rule.
struct Multiply {
  template <class Context>
  void processElement(const Value& value, Context& context, Collector<std::string>& out) {
    const auto& rules = context.getBroadcastState(kRules);
    const auto rule = rules.find(value.first);
    out.collect(fmt::format("{} wm={}", rule == rules.end() ? "no rule" : std::to_string(rule->second * value.second),
                            context.currentWatermark() == kNoTimestamp ? "none" : std::to_string(context.currentWatermark())));
  }
  template <class Context>
  void processBroadcastElement(const Rule& rule, Context& context, Collector<std::string>&) {
    context.getBroadcastState(kRules)[rule.first] = rule.second;
  }
};

/// Totals per key; a rule named "reset" sets them all to its factor. A timer at each record's time + 10.
struct Totals {
  ValueState<int64_t> total;
  void open(KeyedRuntimeContext<std::string>& context) { total = context.state(kTotal); }
  void processElement(const Value& value, KeyedReadOnlyBroadcastContext<std::string>& context, Collector<std::string>& out) {
    total.slot() += value.second;
    context.timerService().registerEventTimeTimer(context.timestamp() + 10);
    out.collect(fmt::format("{} {}", context.currentKey(), *total.value()));
  }
  void processBroadcastElement(const Rule& rule, KeyedBroadcastContext<std::string>& context, Collector<std::string>&) {
    context.applyToKeyedState(kTotal, [&](const std::string&, ValueState<int64_t>& state) { state.update(rule.second); });
  }
  void onTimer(int64_t timestamp, OnTimerContext<std::string>& context, Collector<std::string>& out) {
    out.collect(fmt::format("{} timer {} {}", context.currentKey(), timestamp, *total.value()));
  }
};

class BroadcastTest : public ::testing::Test {
 protected:
  using Harness = OperatorHarness<Value, std::string>;
  std::unique_ptr<Harness> multiply() {
    return std::make_unique<Harness>(machine_, [](OperatorSetup setup) {
      return std::make_unique<BroadcastProcessOperator<Value, Rule, std::string, Multiply>>(std::move(setup), Multiply{});
    });
  }
  std::unique_ptr<Harness> totals() {
    return std::make_unique<Harness>(machine_, [](OperatorSetup setup) {
      return std::make_unique<KeyedBroadcastProcessOperator<Value, Rule, std::string, std::string Value::*, Totals>>(
          std::move(setup), &Value::first, Totals{}, heapKeyedStateBackend<std::string>());
    });
  }
  static void value(Harness& op, std::string name, int64_t number, int64_t time = 0) {
    op.processRecords({StreamRecord<Value>({std::move(name), number}, time)});
  }
  static void rule(Harness& op, std::string name, int64_t factor) {
    std::vector<StreamRecord<Rule>> records{StreamRecord<Rule>({std::move(name), factor}, 0)};
    static_cast<Output<Rule>&>(op.op().input(1)).collect(records);
  }
  OperatorMachine machine_;
};

TEST_F(BroadcastTest, ARecordSeesTheRulesThatCameBeforeIt) {
  auto op = multiply();
  op->start();
  value(*op, "x", 2);
  rule(*op, "x", 10);
  value(*op, "x", 2);
  rule(*op, "x", 100);
  value(*op, "x", 2);
  EXPECT_THAT(op->output(), ElementsAre("no rule wm=none", "20 wm=none", "200 wm=none"));
}

TEST_F(BroadcastTest, TheWatermarkIsTheSmallerOneOfBothInputs) {
  auto op = multiply();
  op->start();
  op->watermark(10, 0);
  value(*op, "x", 1);
  op->watermark(5, 1);
  value(*op, "x", 1);
  EXPECT_THAT(op->output(), ElementsAre("no rule wm=none", "no rule wm=5"));
}

TEST_F(BroadcastTest, RulesSurviveAFailure) {
  auto op = multiply();
  op->start();
  rule(*op, "x", 10);
  auto again = multiply();
  again->restore(op->snapshot(1));
  value(*again, "x", 2);
  EXPECT_THAT(again->output(), ElementsAre("20 wm=none"));
}

TEST_F(BroadcastTest, EverySubtaskHasAllRulesAtAnyParallelism) {
  auto op = multiply();
  op->start();
  rule(*op, "x", 10);
  for (const auto& state : rescaled({op->snapshot(1)}, 3)) {
    auto one = multiply();
    one->restore(state);
    value(*one, "x", 2);
    EXPECT_THAT(one->output(), ElementsAre("20 wm=none"));
  }
}

TEST_F(BroadcastTest, ABroadcastRecordMayChangeTheStateOfAllKeys) {
  auto op = totals();
  op->start();
  value(*op, "a", 1);
  value(*op, "b", 2);
  rule(*op, "reset", 100);
  value(*op, "a", 1);
  value(*op, "b", 2);
  EXPECT_THAT(op->output(), ElementsAre("a 1", "b 2", "a 101", "b 102"));
}

TEST_F(BroadcastTest, AKeyedSideHasTimers) {
  auto op = totals();
  op->start();
  value(*op, "a", 1, 5);
  op->watermark(15, 0);
  EXPECT_THAT(op->takeElements(), ElementsAre("a 1@5"));
  op->watermark(15, 1);
  EXPECT_THAT(op->takeElements(), ElementsAre("a timer 15 1@15", "Watermark @ 15"));
}

}  // namespace
}  // namespace weir
