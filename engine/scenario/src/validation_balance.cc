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

std::string latencyOf(const Validated& validated) {
  const TwoStageSpec& spec = validated.twoStage;
  if (validated.node->window) return "one more exchange at the end of each window: at most the buffer timeout";
  if (spec.flushMillis == 0 && spec.flushRecords == 0) return "up to 1 s or 10000 records until stage one ships, and one more exchange";
  std::string text = "until stage one ships (";
  if (spec.flushMillis > 0) text += std::to_string(spec.flushMillis) + " ms";
  if (spec.flushRecords > 0) text += (spec.flushMillis > 0 ? " or " : "") + std::to_string(spec.flushRecords) + " records";
  return text + "), and one more exchange";
}

}  // namespace

BalanceFinding balanceOf(const Validated& validated, const FormRun& weighed, const FormRun& one, const FormRun& two,
                         const Configuration& configuration) {
  constexpr double kHardlyBetter = 1.05;
  BalanceFinding finding;
  const std::string& name = validated.node->name.value;
  const TwoStageSpec::Form form = validated.twoStage.form;
  finding.salts = validated.twoStage.salts;
  finding.before = bySubtask(one, name);
  const bool naive = form != TwoStageSpec::Form::kAccumulators && form != TwoStageSpec::Form::kSaltInSelector;
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
