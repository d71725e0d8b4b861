#include "semantics/golden_case.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "support/golden_dir.h"

namespace weir::semantics {
namespace {

std::vector<std::pair<std::string, Json>> allCases() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(casesFolder()))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<std::pair<std::string, Json>> cases;
  for (const std::string& file : files) {
    std::ifstream in(file);
    const Json json = Json::parse(in);
    for (const Json& one : json.at("cases")) cases.emplace_back(std::filesystem::path(file).stem().string(), one);
  }
  if (cases.empty()) throw std::runtime_error("no cases in " + casesFolder());
  return cases;
}

Step readStep(const Json& json, const StepCase& in) {
  Step step;
  step.kind = json.at(0);
  const bool valve = in.operators.at(0).at("op") == "valve";
  const bool numbered = step.kind.size() > 1 && (step.kind.back() == '1' || step.kind.back() == '2');
  if (numbered) {
    step.input = step.kind.back() - '1';
    step.kind.pop_back();
  } else if (valve) {
    step.input = json.at(1);
  }
  if (step.kind == "r") {
    if (!json.at(1).is_null()) step.time = json.at(1).get<int64_t>();
    if (!json.at(2).is_null()) step.item.key = json.at(2).get<std::string>();
    step.item.value = Value::of(json.at(3), in.doubles);
    if (json.size() > 4 && !json.at(4).is_null()) step.item.tag = json.at(4).get<std::string>();
  } else if (step.kind == "w" || step.kind == "p" || step.kind == "ttlp") {
    step.time = json.at(valve ? 2 : 1).get<int64_t>();
  }
  step.both = !numbered && !valve && step.kind != "r";
  return step;
}

StepCase readStepCase(const std::string& file, const Json& json) {
  StepCase result;
  result.file = file;
  result.name = json.at("name");
  result.operators = json.at("operators");
  result.doubles = json.value("valueType", "") == "double";
  for (const Json& step : json.at("input")) result.input.push_back(readStep(step, result));
  result.output = json.at("output").get<std::vector<Json>>();
  if (json.contains("numLateRecordsDropped")) result.lateDropped = json["numLateRecordsDropped"].get<std::vector<int64_t>>();
  if (json.contains("error") && !json["error"].is_null()) result.error = json["error"].get<std::string>();
  return result;
}

/// Results that differ in this may come in any order.
Json orderKey(const Json& item) {
  Json key = {item.at(3)};
  if (item.size() > 6) key.insert(key.end(), {item[5], item[6]});
  return key;
}

}  // namespace

std::string casesFolder() {
  const char* given = std::getenv("WEIR_CASES_DIR");
  return given && *given ? given : golden::folder() + "/semantics";
}

std::vector<StepCase> stepCases() {
  std::vector<StepCase> cases;
  for (const auto& [file, json] : allCases())
    if (json.at("input").is_array()) cases.push_back(readStepCase(file, json));
  return cases;
}

std::vector<JobCase> jobCases() {
  std::vector<JobCase> cases;
  for (const auto& [file, json] : allCases()) {
    if (json.at("input").is_array()) continue;
    const std::string expected = casesFolder() + "/flights/" + json.at("expected").get<std::string>() + ".tsv";
    cases.push_back({json.at("name"), json.value("parallelism", 1), json.at("input"), json.at("operators"), expected});
  }
  return cases;
}

std::vector<Json> canonical(std::vector<Json> output) {
  const auto isSide = [](const Json& item) { return item.at(1).get<std::string>().starts_with("late"); };
  for (auto from = output.begin(); from != output.end();) {
    const auto to = std::find_if(from, output.end(), [&](const Json& item) { return item.at(0) != from->at(0); });
    auto at = std::stable_partition(from, to, isSide);
    while (at != to) {
      const auto open = [&](const Json& item) { return item.at(1) == "r" && item.at(1) == at->at(1) && item.at(2) == at->at(2); };
      const auto end = std::find_if_not(at, to, open);
      std::stable_sort(at, end, [](const Json& a, const Json& b) { return orderKey(a) < orderKey(b); });
      at = end == at ? at + 1 : end;
    }
    from = to;
  }
  return output;
}

}  // namespace weir::semantics
