#include <stdexcept>

#include "semantics/functions.h"
#include "semantics/operators.h"
#include "weir/keyed/heap_keyed_state_backend.h"

namespace weir::semantics {
namespace {

TriggerPtr triggerOf(const Json& json) {
  const std::string type = json.at("type");
  if (type == "event") return EventTimeTrigger::create();
  if (type == "processing") return ProcessingTimeTrigger::create();
  if (type == "count") return CountTrigger::of(json.at("n"));
  if (type == "continuousEvent") return ContinuousEventTimeTrigger::of(Millis(json.at("interval").get<int64_t>()));
  if (type == "continuousProcessing") return ContinuousProcessingTimeTrigger::of(Millis(json.at("interval").get<int64_t>()));
  if (type == "purging") return PurgingTrigger::of(triggerOf(json.at("of")));
  if (type == "timeout") return ProcessingTimeoutTrigger::of(triggerOf(json.at("of")), Millis(json.at("ms").get<int64_t>()));
  throw std::runtime_error("the interpreter knows no trigger " + type);
}

EvictorPtr<Item> evictorOf(const Json& json) {
  const bool after = json.value("after", false);
  if (json.at("type") == "count") return CountEvictor<Item>::of(json.at("n"), after);
  if (json.at("type") == "time") return TimeEvictor<Item>::of(Millis(json.at("ms").get<int64_t>()), after);
  throw std::runtime_error("the interpreter knows no evictor " + json.at("type").get<std::string>());
}

Item resultOf(const std::string& key, const Value& value, const TimeWindow& window) {
  Item item;
  item.key = key;
  item.value = value;
  item.hasWindow = window != kGlobalWindow;
  if (item.hasWindow) item.windowStart = window.start, item.windowEnd = window.end;
  return item;
}

/// Names the window of each result.
struct WithWindow {
  using Context = ProcessWindowContext<std::string>;
  void operator()(const std::string& key, Context& context, std::span<const Value> values, Collector<Item>& out) const {
    for (const Value& value : values) out.collect(resultOf(key, value, context.window()));
  }
  void operator()(const std::string& key, Context& context, std::span<const Item> items, Collector<Item>& out) const {
    for (const Item& item : items) out.collect(resultOf(key, item.value, context.window()));
  }
};

struct Reduction {
  std::string name;
  Item operator()(const Item& a, const Item& b) const {
    Item sum = a;
    sum.value = reduceValues(name, a.value, b.value);
    return sum;
  }
};

struct CaseWindow {
  WindowSettings settings;
  EvictorPtr<Item> evictor;
  bool keyed = true;
};

CaseWindow windowOf(const Json& op) {
  CaseWindow window;
  window.keyed = op.value("keyed", true);
  if (op.contains("countWindow")) {
    const int64_t size = op["countWindow"].at("size");
    window.settings.assigner = GlobalWindows::create().value();
    if (op["countWindow"].contains("slide")) {
      window.settings.trigger = CountTrigger::of(op["countWindow"]["slide"]);
      window.evictor = CountEvictor<Item>::of(size);
    } else {
      window.settings.trigger = PurgingTrigger::of(CountTrigger::of(size));
    }
  } else {
    window.settings.assigner = assignerOf(op.at("assigner"));
  }
  if (op.contains("trigger")) window.settings.trigger = triggerOf(op["trigger"]);
  if (op.contains("evictor")) window.evictor = evictorOf(op["evictor"]);
  window.settings.allowedLateness = op.value("allowedLateness", int64_t{0});
  if (op.value("late", "drop") == "side") window.settings.lateTag = "late";
  return window;
}

template <class Contents>
std::unique_ptr<StreamOperator> operatorOf(CaseWindow window, Contents contents, OperatorSetup setup) {
  return std::make_unique<WindowOperator<KeyOfItem, Contents>>(std::move(setup), KeyOfItem{CaseKey{window.keyed}}, window.settings,
                                                               std::move(contents), heapKeyedStateBackend<std::string>());
}
template <class Contents>
std::unique_ptr<StreamOperator> withOrWithoutEvictor(CaseWindow window, Contents contents, OperatorSetup setup) {
  if (!window.evictor) return operatorOf(std::move(window), std::move(contents), std::move(setup));
  EvictingContents<Contents> evicting(window.evictor, std::move(contents));
  return operatorOf(std::move(window), std::move(evicting), std::move(setup));
}

}  // namespace

std::shared_ptr<const WindowAssigner> assignerOf(const Json& json) {
  const std::string type = json.at("type");
  const bool event = json.value("time", "event") == "event";
  const auto millis = [&](const char* key) { return Millis(json.value(key, int64_t{0})); };
  if (type == "tumbling")
    return event ? TumblingEventTimeWindows::of(millis("size"), millis("offset")).value()
                 : TumblingProcessingTimeWindows::of(millis("size"), millis("offset")).value();
  if (type == "sliding")
    return event ? SlidingEventTimeWindows::of(millis("size"), millis("slide"), millis("offset")).value()
                 : SlidingProcessingTimeWindows::of(millis("size"), millis("slide"), millis("offset")).value();
  if (type == "session")
    return event ? EventTimeSessionWindows::withGap(millis("gap")).value() : ProcessingTimeSessionWindows::withGap(millis("gap")).value();
  if (type == "dynamicSession")
    return DynamicSessionWindows::withDynamicGap<Item>([](const Item& item) { return Millis(item.value.number); },
                                                       event ? TimeKind::kEventTime : TimeKind::kProcessingTime)
        .value();
  if (type == "global") return GlobalWindows::create().value();
  if (type == "globalEndOfStream") return GlobalWindows::createWithEndOfStreamTrigger().value();
  throw std::runtime_error("the interpreter knows no assigner " + type);
}

std::unique_ptr<StreamOperator> makeWindow(const Json& op, bool doubles, OperatorSetup setup) {
  const std::string function = op.at("function");
  CaseWindow window = windowOf(op);
  if (function.starts_with("reduce:"))
    return withOrWithoutEvictor(std::move(window), ReduceContents<Item, Reduction, WithWindow, Item>(Reduction{function.substr(7)}, {}),
                                std::move(setup));
  return withOrWithoutEvictor(std::move(window), AggregateContents<CaseFunction, WithWindow, Item>(CaseFunction{{function, doubles}}, {}),
                              std::move(setup));
}

}  // namespace weir::semantics
