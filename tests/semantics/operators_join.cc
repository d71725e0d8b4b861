#include <stdexcept>

#include "semantics/operators.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/operators/broadcast.h"
#include "weir/windowing/interval_join.h"

namespace weir::semantics {
namespace {

Item textItem(const std::string& key, std::string text) {
  Item item;
  item.key = key;
  item.value = Value(std::move(text));
  return item;
}

/// Input 2 sets the dimension of a key, input 1 prints it and wants to be called 10 ms later.
struct Enrich {
  ValueState<std::string> dimension;
  void open(KeyedRuntimeContext<std::string>& context) { dimension = context.state(ValueStateDescriptor<std::string>{"dimension"}); }
  void processElement1(const Item& item, KeyedProcessContext<std::string>& context, Collector<Item>& out) {
    const std::string* known = dimension.value();
    out.collect(textItem(context.currentKey(), item.value.toString() + " dim=" + (known ? *known : "null") +
                                                   " wm=" + std::to_string(context.timerService().currentWatermark())));
    context.timerService().registerEventTimeTimer(context.timestamp() + 10);
  }
  void processElement2(const Item& item, KeyedProcessContext<std::string>&, Collector<Item>&) { dimension.update(item.value.toString()); }
  void onTimer(int64_t timestamp, OnTimerContext<std::string>& context, Collector<Item>& out) {
    out.collect(textItem(context.currentKey(), "timer " + std::to_string(timestamp) +
                                                   " wm=" + std::to_string(context.timerService().currentWatermark())));
  }
};

struct Pair {
  void operator()(const Item& left, const Item& right, IntervalJoinContext& context, Collector<Item>& out) const {
    out.collect(textItem(*left.key, left.value.toString() + "," + right.value.toString() + " left=" +
                                        std::to_string(context.leftTimestamp) + " right=" + std::to_string(context.rightTimestamp)));
  }
};

/// Input 2 sets the rule of its tag, input 1 prints the rule of its tag.
struct Rules {
  BroadcastStateDescriptor<std::string, std::string> rules{"rules"};
  template <class Context>
  void processElement(const Item& item, Context& context, Collector<Item>& out) {
    const auto& known = context.getBroadcastState(rules);
    const auto rule = known.find(item.tag.value_or(""));
    Item printed = textItem(*item.key, item.value.toString() + " rule=" + (rule == known.end() ? "null" : rule->second) +
                                           " wm=" + std::to_string(context.currentWatermark()));
    printed.tag = item.tag;
    out.collect(std::move(printed));
  }
  template <class Context>
  void processBroadcastElement(const Item& item, Context& context, Collector<Item>& out) {
    context.getBroadcastState(rules)[item.tag.value_or("")] = item.value.toString();
    Item printed = textItem("*", "set " + item.tag.value_or("") + " wm=" + std::to_string(context.currentWatermark()));
    printed.tag = item.tag;
    out.collect(std::move(printed));
  }
};

std::unique_ptr<StreamOperator> makeIntervalJoin(const Json& op, OperatorSetup setup) {
  auto interval = JoinInterval::between(Millis(op.at("lower").get<int64_t>()), Millis(op.at("upper").get<int64_t>()),
                                        !op.value("lowerExclusive", false), !op.value("upperExclusive", false))
                      .value();
  if (op.value("late", "drop") == "side") interval.lateLeftTag = "lateLeft", interval.lateRightTag = "lateRight";
  return std::make_unique<IntervalJoinOperator<Item, Item, Item, KeyOfItem, KeyOfItem, Pair>>(
      std::move(setup), KeyOfItem{}, KeyOfItem{}, interval, Pair{}, heapKeyedStateBackend<std::string>());
}

}  // namespace

std::unique_ptr<StreamOperator> makeJoin(const Json& op, OperatorSetup setup) {
  const std::string name = op.at("op");
  if (name == "intervalJoin") return makeIntervalJoin(op, std::move(setup));
  if (name == "broadcast")
    return std::make_unique<KeyedBroadcastProcessOperator<Item, Item, Item, KeyOfItem, Rules>>(std::move(setup), KeyOfItem{}, Rules{},
                                                                                              heapKeyedStateBackend<std::string>());
  if (name == "connect")
    return std::make_unique<KeyedCoProcessOperator<Item, Item, Item, KeyOfItem, KeyOfItem, Enrich>>(
        std::move(setup), KeyOfItem{}, KeyOfItem{}, Enrich{}, heapKeyedStateBackend<std::string>());
  throw std::runtime_error("the interpreter knows no operator " + name);
}

}  // namespace weir::semantics
