#include "semantics/stages.h"

#include "weir/time/status_watermark_valve.h"

namespace weir::semantics {
namespace {

class OperatorStage final : public Stage {
 public:
  OperatorStage(Json op, bool doubles, testing::OperatorMachine& machine) : op_(std::move(op)), doubles_(doubles), machine_(machine) {
    options_.autoWatermarkInterval = Millis(op_.value("autoWatermarkInterval", int64_t{200}));
    make();
    harness_->start();
  }

  void process(int input, const Element& element) override {
    auto& into = static_cast<Output<Item>&>(harness_->op().input(input));
    if (const auto* record = std::get_if<StreamRecord<Item>>(&element)) {
      StreamRecord<Item> copy = *record;
      into.collect({&copy, 1});
    } else {
      into.emitControl(std::get<ControlElement>(element));
    }
  }
  void advanceProcessingTime(int64_t time) override {
    processingTime_ = time;
    harness_->time().advanceTo(time);
  }
  void advanceTtlTime(int64_t time) override {
    ttlTime_ = time;
    harness_->context().setTime(time);
  }
  void restore() override {
    const OperatorSubtaskState state = harness_->snapshot(++checkpoints_);
    droppedBefore_ += harness_->op().metrics().numLateRecordsDropped;
    harness_->close();
    make();
    harness_->restore(state);
  }
  void end() override { harness_->finish(); }
  std::vector<Element> take() override { return std::exchange(harness_->keeping().elements, {}); }
  std::vector<std::pair<std::string, StreamRecord<Item>>> takeLate() override {
    std::vector<std::pair<std::string, StreamRecord<Item>>> all;
    for (auto& [tag, output] : late_)
      for (auto& element : std::exchange(output.elements, {}))
        if (auto* record = std::get_if<StreamRecord<Item>>(&element)) all.emplace_back(tag, std::move(*record));
    return all;
  }
  int64_t lateDropped() const override { return droppedBefore_ + harness_->op().metrics().numLateRecordsDropped; }

 private:
  void make() {
    harness_ = std::make_unique<testing::OperatorHarness<Item>>(
        machine_,
        [this](OperatorSetup setup) {
          for (const char* tag : {"late", "lateLeft", "lateRight"}) setup.sideOutputs[tag] = &late_[tag];
          return makeOperator(op_, doubles_, std::move(setup));
        },
        options_);
    harness_->time().advanceTo(processingTime_);
    harness_->context().setTime(ttlTime_);
  }

  const Json op_;
  const bool doubles_;
  testing::OperatorMachine& machine_;
  testing::HarnessOptions options_;
  std::map<std::string, testing::KeepingOutput<Item>> late_;
  std::unique_ptr<testing::OperatorHarness<Item>> harness_;
  int64_t processingTime_ = 0, ttlTime_ = 0, checkpoints_ = 0, droppedBefore_ = 0;
};

/// Merges the watermarks of channels; its inputs are the channels.
class ValveStage final : public Stage {
 public:
  explicit ValveStage(int channels) : valve_(channels) {}
  void process(int input, const Element& element) override {
    const auto& control = std::get<ControlElement>(element);
    const auto* watermark = std::get_if<Watermark>(&control);
    const MergedWatermark merged = watermark ? valve_.inputWatermark(input, watermark->timestamp)
                                             : valve_.inputStatus(input, std::get<WatermarkStatus>(control));
    if (merged.watermark) out_.push_back(ControlElement(Watermark{*merged.watermark}));
    if (merged.status) out_.push_back(ControlElement(*merged.status));
  }
  std::vector<Element> take() override { return std::exchange(out_, {}); }

 private:
  StatusWatermarkValve valve_;
  std::vector<Element> out_;
};

}  // namespace

std::unique_ptr<Stage> makeStage(const Json& op, bool doubles, testing::OperatorMachine& machine) {
  if (op.at("op") == "valve") return std::make_unique<ValveStage>(op.at("channels").get<int>());
  if (op.at("op") == "join" || op.at("op") == "coGroup") return makeWindowJoinStage(op, machine);
  return std::make_unique<OperatorStage>(op, doubles, machine);
}

}  // namespace weir::semantics
