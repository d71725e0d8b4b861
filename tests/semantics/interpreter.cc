#include "semantics/interpreter.h"

#include <algorithm>
#include <sstream>

#include "semantics/stages.h"

namespace weir::semantics {
namespace {

class Interpreter {
 public:
  explicit Interpreter(const StepCase& golden) : golden_(golden) {
    bool doubles = golden.doubles;
    for (const Json& op : golden.operators) {
      stages_.push_back(makeStage(op, doubles, machine_));
      doubles = givesDoubles(op, doubles);
    }
  }

  Outcome run() {
    try {
      for (const Step& step : golden_.input) {
        take(step);
        ++step_;
      }
    } catch (const Throwable& thrown) {
      const std::string name = thrown.className();
      outcome_.error = name.substr(name.find_last_of('.') + 1) + ": " + thrown.message();
    }
    for (const auto& stage : stages_) outcome_.lateDropped.push_back(stage->lateDropped());
    return std::move(outcome_);
  }

 private:
  void take(const Step& step) {
    if (step.kind == "r") {
      feed(0, step.input, step.time ? StreamRecord<Item>(step.item, *step.time) : StreamRecord<Item>(step.item));
    } else if (step.kind == "w") {
      control(step, Watermark{*step.time});
    } else if (step.kind == "idle" || step.kind == "active") {
      control(step, WatermarkStatus{step.kind == "idle"});
    } else if (step.kind == "p") {
      inOrder([&](Stage& stage) { stage.advanceProcessingTime(*step.time); });
    } else if (step.kind == "ttlp") {
      inOrder([&](Stage& stage) { stage.advanceTtlTime(*step.time); });
    } else if (step.kind == "restore") {
      inOrder([](Stage& stage) { stage.restore(); });
    } else if (step.kind == "end") {
      inOrder([](Stage& stage) { stage.end(); });
    } else {
      throw std::runtime_error("the interpreter knows no step " + step.kind);
    }
  }

  void control(const Step& step, const ControlElement& element) {
    const bool both = step.both && hasTwoInputs(golden_.operators.at(0));
    feed(0, step.input, element);
    if (both) feed(0, 1, element);
  }

  template <class Action>
  void inOrder(const Action& action) {
    for (size_t i = 0; i < stages_.size(); ++i) {
      action(*stages_[i]);
      drain(i);
    }
  }

  void feed(size_t stage, int input, const Element& element) {
    stages_[stage]->process(input, element);
    drain(stage);
  }
  /// Hands on what stage `stage` has put out.
  void drain(size_t stage) {
    for (const auto& [tag, record] : stages_[stage]->takeLate()) {
      Json line = shown(record);
      line[0] = tag;
      put(line);
    }
    for (const Element& element : stages_[stage]->take()) {
      if (stage + 1 < stages_.size())
        feed(stage + 1, 0, element);
      else
        put(std::visit([](const auto& e) { return shown(e); }, element));
    }
  }
  void put(Json line) {
    line.insert(line.begin(), step_);
    outcome_.output.push_back(std::move(line));
  }

  const StepCase& golden_;
  testing::OperatorMachine machine_;
  std::vector<std::unique_ptr<Stage>> stages_;
  int step_ = 0;
  Outcome outcome_;
};

std::string lines(const std::vector<Json>& output) {
  std::string text;
  for (const Json& line : output) text += "\n    " + line.dump();
  return text.empty() ? "\n    nothing" : text;
}

/// The salted list depends on the order in which stage one's results come: only which values each salt has is defined.
std::vector<Json> withoutOpenOrder(std::vector<Json> output) {
  for (Json& line : output) {
    if (line.at(1) != "r" || !line.at(4).is_string()) continue;
    std::istringstream in(line[4].get<std::string>());
    std::vector<std::string> values{std::istream_iterator<std::string>(in), {}};
    std::sort(values.begin(), values.end());
    line[4] = values;
  }
  return output;
}

}  // namespace

Json shown(const StreamRecord<Item>& record) {
  const Item& item = record.value;
  Json line = {"r", record.hasTimestamp ? Json(record.timestamp) : Json(nullptr), item.key ? Json(*item.key) : Json(nullptr),
               item.value.toJson()};
  if (item.hasWindow)
    line.insert(line.end(), {item.windowStart, item.windowEnd});
  else if (item.tag)
    line.push_back(*item.tag);
  return line;
}

Json shown(const ControlElement& control) {
  if (const auto* watermark = std::get_if<Watermark>(&control)) return {"w", watermark->timestamp};
  return Json::array({std::get<WatermarkStatus>(control).idle ? "idle" : "active"});
}

Outcome interpret(const StepCase& golden) { return Interpreter(golden).run(); }

std::string difference(const StepCase& golden, const Outcome& outcome) {
  if (golden.error.value_or("") != outcome.error)
    return "\n  error: " + golden.error.value_or("none") + "\n  here: " + (outcome.error.empty() ? "none" : outcome.error);
  std::vector<Json> expected = canonical(golden.output), found = canonical(outcome.output);
  if (golden.name == "salted-list") expected = withoutOpenOrder(expected), found = withoutOpenOrder(found);
  if (expected != found) return "\n  expected:" + lines(expected) + "\n  found:" + lines(found);
  std::vector<int64_t> dropped;  // the cases count for those operators that can drop
  for (size_t i = 0; i < outcome.lateDropped.size(); ++i) {
    const std::string op = golden.operators.at(i).at("op");
    if (op == "window" || op == "join" || op == "coGroup" || op == "intervalJoin") dropped.push_back(outcome.lateDropped[i]);
  }
  if (!golden.lateDropped.empty() && dropped != golden.lateDropped)
    return "\n  dropped as late: " + Json(golden.lateDropped).dump() + "\n  here: " + Json(dropped).dump();
  return "";
}

}  // namespace weir::semantics
