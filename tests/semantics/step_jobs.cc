#include "semantics/step_jobs.h"

#include <algorithm>
#include <sstream>

#include "semantics/interpreter.h"
#include "semantics/operators.h"
#include "support/job_runner.h"
#include "weir/base/mutex.h"

namespace weir::semantics {
namespace {

/// Turns numbers of steps into what the steps say. Event time is that of the steps alone.
class Player final : public OneInputOperator<int64_t> {
 public:
  Player(OperatorSetup setup, std::vector<Step> steps) : OneInputOperator<int64_t>(std::move(setup)), steps_(std::move(steps)) {}

 protected:
  void process(std::span<StreamRecord<int64_t>> records) override {
    for (const auto& number : records) {
      const Step& step = steps_[static_cast<size_t>(number.value)];
      if (step.kind == "w") {
        emitWatermark(*step.time);
        continue;
      }
      auto record = step.time ? StreamRecord<Item>(step.item, *step.time) : StreamRecord<Item>(step.item);
      output<Item>().collect({&record, 1});
    }
  }
  void processWatermark(int64_t) override {}

 private:
  const std::vector<Step> steps_;
};

/// Lines of output, without steps. Written by one task and read when the job is over.
struct Record {
  Mutex mutex;
  std::vector<Json> lines;
  void add(Json line) {
    line.insert(line.begin(), 0);
    Lock lock(mutex);
    lines.push_back(std::move(line));
  }
};

class Recorder final : public OneInputOperator<Item> {
 public:
  Recorder(OperatorSetup setup, std::shared_ptr<Record> record) : OneInputOperator<Item>(std::move(setup)), record_(std::move(record)) {}

 protected:
  void process(std::span<StreamRecord<Item>> records) override {
    for (const auto& record : records) record_->add(shown(record));
  }
  void processWatermark(int64_t timestamp) override { record_->add(shown(ControlElement(Watermark{timestamp}))); }

 private:
  const std::shared_ptr<Record> record_;
};

void keepLate(DataStream<Item>& stream, const std::string& tag, const std::shared_ptr<Record>& record) {
  stream.getSideOutput(OutputTag<Item>{tag}).addSink([record, tag](const Item& item) {
    record->add(Json::array({tag, *item.key, item.value.toJson()}));
  });
}

bool isKeyed(const Json& op) { return op.at("op") == "window" || op.at("op") == "process" || op.at("op") == "rolling"; }

std::vector<Json> sorted(std::vector<Json> lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}

/// The case's output without steps: what came the ordinary way, and what was late.
std::pair<std::vector<Json>, std::vector<Json>> expectedOf(const StepCase& golden) {
  std::vector<Json> main, late;
  for (Json line : golden.output) {
    line[0] = 0;
    if (line.at(1) == "late")
      late.push_back(Json::array({0, "late", line.at(3), line.at(4)}));
    else
      main.push_back(std::move(line));
  }
  return {canonical(main), sorted(late)};
}

std::string text(const std::vector<Json>& lines) {
  std::string all;
  for (const Json& line : lines) all += "\n    " + line.dump();
  return all;
}

}  // namespace

bool canBeJob(const StepCase& golden) {
  if (golden.error || golden.name == "salted-list") return false;
  std::optional<int64_t> watermark;
  for (const Step& step : golden.input) {
    const std::string script = step.item.tag.value_or("");
    if (step.kind == "w") {
      if (watermark && *step.time <= *watermark) return false;  // no channel hands on one that does not advance
      watermark = step.time;
    } else if (step.kind != "r" || !step.item.key || script.find("pt:") != script.npos || script.find("now") != script.npos) {
      return false;
    }
  }
  return std::all_of(golden.operators.begin(), golden.operators.end(), [](const Json& op) {
    const std::string name = op.at("op"), whole = op.dump();
    const bool processingTime = whole.find("rocessing") != whole.npos || whole.find("timeout") != whole.npos;
    return (isKeyed(op) || name == "salt" || name == "unsalt") && !processingTime && !op.contains("ttl");
  });
}

std::string differenceAsJob(const StepCase& golden, std::unique_ptr<Executor> executor) {
  StreamExecutionEnvironment env;
  const auto record = std::make_shared<Record>(), late = std::make_shared<Record>();
  const auto steps = golden.input;
  DataStream<Item> stream = env.fromSequence(0, static_cast<int64_t>(steps.size()) - 1)
                                .transform<Item>("Steps", Batching::kOneByOne, [steps](OperatorSetup setup) {
                                  return std::make_unique<Player>(std::move(setup), steps);
                                });
  bool doubles = golden.doubles;
  for (const Json& op : golden.operators) {
    if (isKeyed(op)) stream = stream.keyBy([](const Item& item) { return item.key.value_or(""); }).stream();
    const auto make = [op, doubles](OperatorSetup setup) { return makeOperator(op, doubles, std::move(setup)); };
    stream = stream.transform<Item>(op.at("op"), Batching::kOneByOne, make);
    if (op.value("late", "drop") == "side") keepLate(stream, "late", late);
    doubles = givesDoubles(op, doubles);
  }
  stream.sinkTo("Recorder", Batching::kOneByOne,
                [record](OperatorSetup setup) { return std::make_unique<Recorder>(std::move(setup), record); });
  JobRunner runner(std::move(executor), LogLevel::kError);
  const JobResult result = runner.run(env);
  if (result.status != JobStatus::kFinished) return result.failure ? result.failure->trace() : "the job did not finish";
  auto [main, wasLate] = expectedOf(golden);
  const auto found = canonical(record->lines);
  if (main != found) return "\n  expected:" + text(main) + "\n  found:" + text(found);
  if (wasLate != sorted(late->lines)) return "\n  expected late:" + text(wasLate) + "\n  found:" + text(sorted(late->lines));
  return "";
}

}  // namespace weir::semantics
