#include <algorithm>

#include "validation_parts.h"
#include "weir/aggregate/salt_balance.h"
#include "weir/config/execution_options.h"
#include "weir/exchange/key_groups.h"

namespace weir {
namespace {

std::vector<int64_t> bySubtask(const FormRun& run, const std::string& name) {
  std::vector<int64_t> records;
  const auto found = run.recordsIn.find(name);
  if (found == run.recordsIn.end()) return records;
  for (const auto& [subtask, count] : found->second) records.push_back(count);
  return records;
}
int64_t sum(const std::vector<int64_t>& records) {
  int64_t all = 0;
  for (const int64_t count : records) all += count;
  return all;
}

/// How often each key came, from the hidden count of rows; empty where keys are no text.
std::vector<KeyWeight> weightsOf(const FormRun& weighed, size_t keyColumns) {
  std::vector<KeyWeight> keys;
  if (keyColumns != 1) return keys;
  for (const auto& [group, values] : weighed.groups) {
    const auto* text = std::get_if<std::string>(&group.first);
    const auto* rows = std::get_if<int64_t>(&values.back().back());
    if (!text || !rows) return {};
    if (keys.empty() || keys.back().key != *text) keys.push_back({*text, 0, true});
    keys.back().count += *rows;
  }
  return keys;
}

int64_t bytesInto(const FormRun& run, const std::string& name) {
  const auto found = run.bytesInto.find(name);
  return found == run.bytesInto.end() ? 0 : found->second;
}

bool isNaive(TwoStageSpec::Form form) {
  return form != TwoStageSpec::Form::kAccumulators && form != TwoStageSpec::Form::kSaltInSelector;
}

class Delays {
 public:
  void add(int64_t delay) {
    sum_ += static_cast<double>(delay);
    largest_ = compared_ == 0 ? delay : std::max(largest_, delay);
    ++compared_;
  }
  std::optional<AddedLatency> result() const {
    if (compared_ == 0) return std::nullopt;
    return AddedLatency{compared_, sum_ / static_cast<double>(compared_), static_cast<double>(largest_)};
  }

 private:
  int64_t compared_ = 0, largest_ = 0;
  double sum_ = 0;
};

std::string latencyOf(const Validated& validated) {
  const TwoStageSpec& spec = validated.twoStage;
  if (validated.node->window) return "one more exchange at the end of each window: at most the buffer timeout";
  if (spec.flushMillis == 0 && spec.flushRecords == 0)
    return "until stage one ships (1 s or 10000 records, or a watermark), and one more exchange";
  std::string text = "until stage one ships (";
  if (spec.flushMillis > 0) text += std::to_string(spec.flushMillis) + " ms";
  if (spec.flushRecords > 0) text += (spec.flushMillis > 0 ? " or " : "") + std::to_string(spec.flushRecords) + " records";
  return text + ", or a watermark), and one more exchange";
}

}  // namespace

std::optional<AddedLatency> addedLatency(const FormRun& one, const FormRun& two, bool counted) {
  Delays delays;
  for (const auto& [group, times] : one.times) {
    const auto found = two.times.find(group);
    if (found == two.times.end()) continue;
    const std::vector<int64_t>& later = found->second;
    if (!counted) {
      delays.add(later.front() - times.front());
      continue;
    }
    // One stage has a result per record; that of two stages which holds it is the first that counts as many.
    size_t record = 0;
    const auto& results = two.groups.at(group);
    for (size_t i = 0; i < later.size(); ++i) {
      const auto* holds = std::get_if<int64_t>(&results[i].back());
      for (; holds && record < static_cast<size_t>(*holds) && record < times.size(); ++record) delays.add(later[i] - times[record]);
    }
  }
  return delays.result();
}

NetworkCost networkCost(const Validated& validated, const FormRun& one, const FormRun& two) {
  const std::string& name = validated.node->name.value;
  const bool naive = isNaive(validated.twoStage.form);
  return {bytesInto(one, name), bytesInto(two, naive ? name + "-local" : name), bytesInto(two, naive ? name : name + "-global")};
}

BalanceFinding balanceOf(const Validated& validated, const FormRun& weighed, const FormRun& one, const FormRun& two,
                         const Configuration& configuration) {
  constexpr double kHardlyBetter = 1.05;
  BalanceFinding finding;
  const std::string& name = validated.node->name.value;
  const TwoStageSpec::Form form = validated.twoStage.form;
  finding.salts = validated.twoStage.salts;
  finding.before = bySubtask(one, name);
  const bool naive = isNaive(form);
  finding.stageOne = bySubtask(two, naive ? name + "-local" : name);
  finding.stageTwo = bySubtask(two, naive ? name : name + "-global");
  finding.exchangedBefore = sum(finding.before);
  finding.exchangedAfter = sum(finding.stageOne) + sum(finding.stageTwo);
  finding.stateBefore = one.stateBytes;
  finding.stateAfter = two.stateBytes;
  finding.latency = latencyOf(validated);

  const size_t bounds = validated.node->window && validated.node->window->kind != WindowSpec::Kind::kCount ? 2 : 0;
  const std::vector<KeyWeight> keys = weightsOf(weighed, validated.groupColumns - bounds);
  if (keys.empty()) return finding;
  const int32_t parallelism = validated.node->parallelism.value_or(*configuration.get(kDefaultParallelism));
  const int32_t maxParallelism = validated.node->maxParallelism.value_or(computeDefaultMaxParallelism(parallelism));
  for (int32_t salts = 1; salts <= std::clamp(parallelism * 16, 16, 1024); salts *= 2)
    finding.choices.push_back({salts, balanceSalts(keys, SaltForm::kTuple, salts, parallelism, maxParallelism).mostOverMean()});
  const auto best = std::min_element(finding.choices.begin(), finding.choices.end(),
                                     [](const auto& a, const auto& b) { return a.mostOverMean < b.mostOverMean; });
  const auto enough = std::find_if(finding.choices.begin(), finding.choices.end(),
                                   [&](const auto& c) { return c.mostOverMean <= std::max(best->mostOverMean * kHardlyBetter, 1.1); });
  finding.worthIt = enough->salts;
  return finding;
}

}  // namespace weir
