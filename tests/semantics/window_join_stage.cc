#include "semantics/stages.h"
#include "weir/keyed/heap_keyed_state_backend.h"
#include "weir/time/status_watermark_valve.h"
#include "weir/windowing/join.h"

namespace weir::semantics {
namespace {

using Both = TaggedUnion<Item, Item>;
using KeyOfBoth = NonNullKey<UnionKey<Item, Item, CaseKey, CaseKey>>;

Item resultOf(const std::string& key, std::string text) {
  Item item;
  item.key = key;
  item.value = Value(std::move(text));
  return item;
}

/// Inner join: "left,right" for each pair.
struct Pairs {
  void operator()(std::span<const Item> left, std::span<const Item> right, Collector<Item>& out) const {
    JoinFunction<Item, Item, Pairs>{*this}(left, right, out);
  }
  Item operator()(const Item& left, const Item& right) const {
    return resultOf(*left.key, left.value.toString() + "," + right.value.toString());
  }
};

/// "l1 l2 / r1 r2", also where one side is empty.
struct Groups {
  void operator()(std::span<const Item> left, std::span<const Item> right, Collector<Item>& out) const {
    std::string text;
    for (const Item& item : left) text += item.value.toString() + " ";
    text += "/";
    for (const Item& item : right) text += " " + item.value.toString();
    out.collect(resultOf(left.empty() ? *right.front().key : *left.front().key, std::move(text)));
  }
};

/// A join is a window over the union of both streams, whose watermarks a valve merges as it does those of all channels.
template <class Function>
class WindowJoinStage final : public Stage {
 public:
  WindowJoinStage(const Json& op, testing::OperatorMachine& machine)
      : harness_(machine, [op](OperatorSetup setup) {
          using Contents = ListContents<Both, CoGroupFunction<Item, Item, Function>, Item>;
          return std::make_unique<WindowOperator<KeyOfBoth, Contents>>(
              std::move(setup), KeyOfBoth{}, WindowSettings{assignerOf(op.at("assigner"))}, Contents({Function{}}),
              heapKeyedStateBackend<std::string>());
        }) {
    harness_.start();
  }
  void process(int input, const Element& element) override {
    if (const auto* record = std::get_if<StreamRecord<Item>>(&element)) {
      std::vector<StreamRecord<Both>> tagged;
      tagged.emplace_back(input == 0 ? Both::ofOne(record->value) : Both::ofTwo(record->value));
      tagged.front().timestamp = record->timestamp;
      tagged.front().hasTimestamp = record->hasTimestamp;
      harness_.processRecords(std::move(tagged));
      return;
    }
    const auto& control = std::get<ControlElement>(element);
    const auto* watermark = std::get_if<Watermark>(&control);
    const MergedWatermark merged = watermark ? valve_.inputWatermark(input, watermark->timestamp)
                                             : valve_.inputStatus(input, std::get<WatermarkStatus>(control));
    if (merged.watermark) harness_.watermark(*merged.watermark);
    if (merged.status) harness_.status(merged.status->idle);
  }
  void advanceProcessingTime(int64_t time) override { harness_.time().advanceTo(time); }
  std::vector<Element> take() override { return std::exchange(harness_.keeping().elements, {}); }
  int64_t lateDropped() const override { return harness_.metrics().numLateRecordsDropped; }

 private:
  StatusWatermarkValve valve_{2};
  testing::OperatorHarness<Both, Item> harness_;
};

}  // namespace

std::unique_ptr<Stage> makeWindowJoinStage(const Json& op, testing::OperatorMachine& machine) {
  if (op.at("op") == "join") return std::make_unique<WindowJoinStage<Pairs>>(op, machine);
  return std::make_unique<WindowJoinStage<Groups>>(op, machine);
}

}  // namespace weir::semantics
