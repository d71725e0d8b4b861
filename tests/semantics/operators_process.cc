#include <charconv>
#include <sstream>
#include <stdexcept>

#include "semantics/operators.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/operators/keyed.h"

namespace weir::semantics {
namespace {

using Context = KeyedProcessContext<std::string>;
using TimerContext = OnTimerContext<std::string>;

void print(const std::string& key, std::string text, Collector<Item>& out) {
  Item item;
  item.key = key;
  item.value = Value(std::move(text));
  out.collect(std::move(item));
}

std::optional<StateTtlConfig> ttlOf(const Json& op) {
  if (!op.contains("ttl") || op.value("ttlUpdate", "") == "Disabled") return std::nullopt;
  using Ttl = StateTtlConfig;
  return Ttl{op["ttl"],
             op.value("ttlUpdate", "") == "OnReadAndWrite" ? Ttl::UpdateType::kOnReadAndWrite : Ttl::UpdateType::kOnCreateAndWrite,
             op.value("ttlVisibility", "") == "ReturnExpiredIfNotCleanedUp" ? Ttl::StateVisibility::kReturnExpiredIfNotCleanedUp
                                                                            : Ttl::StateVisibility::kNeverReturnExpired};
}

/// The tag of each record is a script; see the README of the cases.
class Script {
 public:
  explicit Script(const Json& op) : ttl_(ttlOf(op)) {}

  void open(KeyedRuntimeContext<std::string>& context) {
    value_ = context.state(ValueStateDescriptor<std::string>{.name = "value", .ttl = ttl_});
    map_ = context.state(MapStateDescriptor<std::string, std::string>{.name = "map", .ttl = ttl_});
    list_ = context.state(ListStateDescriptor<std::string>{.name = "list", .ttl = ttl_});
    sum_ = context.state(
        ReducingStateDescriptor<int64_t>{.name = "sum", .reduce = [](int64_t a, int64_t b) { return a + b; }, .ttl = ttl_});
  }

  void processElement(const Item& item, Context& context, Collector<Item>& out) { run(item.tag.value_or(""), context, out); }

  void onTimer(int64_t timestamp, TimerContext& context, Collector<Item>& out) {
    const bool event = context.timeDomain() == TimeDomain::kEventTime;
    print(context.currentKey(),
          "timer " + std::string(event ? "EVENT_TIME " : "PROCESSING_TIME ") + std::to_string(timestamp) +
              " wm=" + std::to_string(context.timerService().currentWatermark()),
          out);
    const std::string* kept = value_.value();
    if (!kept || !kept->starts_with(kKept)) return;
    const std::string script = kept->substr(kKept.size());
    value_.clear();
    run(script, context, out);
  }

 private:
  static constexpr std::string_view kKept = "onTimer:";

  void run(const std::string& script, Context& context, Collector<Item>& out) {
    std::istringstream words(script);
    for (std::string word; words >> word;) {
      if (word.starts_with(kKept)) {  // all that follows is for the next timer
        std::string rest;
        std::getline(words, rest);
        value_.update(word + rest);
        return;
      }
      step(word, context, out);
    }
  }

  void step(const std::string& word, Context& context, Collector<Item>& out) {
    const size_t colon = word.find(':');
    const std::string name = word.substr(0, colon), argument = colon == word.npos ? "" : word.substr(colon + 1);
    auto& timers = context.timerService();
    const auto show = [&](std::string text) { print(context.currentKey(), std::move(text), out); };
    if (name == "et") return timers.registerEventTimeTimer(std::stoll(argument));
    if (name == "pt") return timers.registerProcessingTimeTimer(std::stoll(argument));
    if (name == "-et") return timers.deleteEventTimeTimer(std::stoll(argument));
    if (name == "-pt") return timers.deleteProcessingTimeTimer(std::stoll(argument));
    if (name == "wm") return show("wm=" + std::to_string(timers.currentWatermark()));
    if (name == "now") return show("pt=" + std::to_string(timers.currentProcessingTime()));
    if (name == "ts") return show("ts=" + (context.hasTimestamp() ? std::to_string(context.timestamp()) : "null"));
    if (name == "put") return value_.update(argument);
    if (name == "null" || name == "clear") return value_.clear();
    if (name == "get") return showValue(show);
    if (name == "ladd") return list_.add(argument);
    if (name == "lget") return show("l[" + joined(list_.get()) + "]");
    if (name == "radd") return sum_.add(std::stoll(argument));
    if (name == "rget") return showSum(show);
    stepOfMap(name, argument, show);
  }

  template <class Show>
  void showValue(const Show& show) {
    const std::string* value = value_.value();  // once: reading may remove what has expired
    show("v=" + (value ? *value : "null"));
  }
  template <class Show>
  void showSum(const Show& show) {
    const int64_t* sum = sum_.get();
    show("r=" + (sum ? std::to_string(*sum) : "null"));
  }

  template <class Show>
  void stepOfMap(const std::string& name, const std::string& argument, const Show& show) {
    if (name == "mput") {
      const size_t colon = argument.find(':');
      map_.put(argument.substr(0, colon), argument.substr(colon + 1));
    } else if (name == "mget") {
      const std::string* found = map_.get(argument);
      show("m[" + argument + "]=" + (found ? *found : "null"));
    } else if (name == "mdel") {
      map_.remove(argument);
    } else if (name == "mkeys") {
      std::vector<std::string> keys;
      for (const auto& [key, value] : map_.entries()) keys.push_back(key);
      show("m[" + joined(&keys) + "] empty=" + (map_.isEmpty() ? "true" : "false"));
    } else {
      throw std::runtime_error("the interpreter knows no word " + name);
    }
  }

  static std::string joined(const std::vector<std::string>* values) {
    std::string text;
    if (values)
      for (const std::string& value : *values) text += (text.empty() ? "" : ", ") + value;
    return text;
  }

  std::optional<StateTtlConfig> ttl_;
  ValueState<std::string> value_;
  MapState<std::string, std::string> map_;
  ListState<std::string> list_;
  ReducingState<int64_t> sum_;
};

}  // namespace

std::unique_ptr<StreamOperator> makeProcess(const Json& op, OperatorSetup setup) {
  return std::make_unique<KeyedProcessOperator<Item, Item, KeyOfItem, Script>>(std::move(setup), KeyOfItem{}, Script(op),
                                                                               heapKeyedStateBackend<std::string>());
}

}  // namespace weir::semantics
