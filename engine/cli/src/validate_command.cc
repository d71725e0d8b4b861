#include "weir/cli/validate_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "weir/base/real_file_system.h"
#include "weir/cli/terminal.h"
#include "weir/scenario/validation.h"

namespace weir {
namespace {

using Verdict = AggregateFinding::Verdict;

std::string_view wordOf(Verdict verdict) {
  return verdict == Verdict::kEqual ? "equal" : verdict == Verdict::kEqualUpToRounding ? "equal up to rounding" : "different";
}
Style styleOf(Verdict verdict) {
  return verdict == Verdict::kEqual ? Style::kGreen : verdict == Verdict::kEqualUpToRounding ? Style::kYellow : Style::kRed;
}

double mostOverMean(const std::vector<int64_t>& records) {
  if (records.empty()) return 0;
  int64_t sum = 0;
  for (const int64_t count : records) sum += count;
  return sum == 0 ? 0 : static_cast<double>(*std::max_element(records.begin(), records.end())) * static_cast<double>(records.size()) /
                            static_cast<double>(sum);
}

std::string listOf(const std::vector<int64_t>& records) {
  std::string text;
  for (const int64_t count : records) text += (text.empty() ? "" : " ") + withThousands(count);
  return text;
}

void printExample(std::ostream& out, const char* what, const AggregateFinding::Example& example) {
  out << fmt::format("    {} {}: {} in one stage, {} in two", what, example.group, example.oneStage, example.twoStages);
  if (example.difference > 0) out << fmt::format(" ({:.6g} apart)", example.difference);
  out << '\n';
}

void printAggregate(std::ostream& out, const AggregateFinding& a, bool colour) {
  out << "  " << a.column << " (" << a.function << "): " << styled(wordOf(a.verdict), styleOf(a.verdict), colour);
  if (a.groups > 0 && a.differing == 0) out << fmt::format(", {} results", withThousands(a.groups));
  if (a.differing > 0) {
    out << fmt::format(": {} of {} results differ, of {} key{}", withThousands(a.differing), withThousands(a.groups),
                       withThousands(a.differingKeys), a.differingKeys == 1 ? "" : "s");
    if (a.verdict == Verdict::kDifferent) out << fmt::format("; {} by more than 1e-9", withThousands(a.differingMore));
    out << fmt::format("; at most by {:.6g}", a.largest);
    if (a.bound) out << fmt::format(" (rounding explains up to {:.3g})", *a.bound);
    if (a.missing > 0) out << fmt::format("; {} missing in two stages", withThousands(a.missing));
    if (a.additional > 0) out << fmt::format("; {} in two stages alone", withThousands(a.additional));
  }
  out << '\n';
  for (const std::string& reason : a.reasons) out << "    " << reason << '\n';
  if (a.verdict != Verdict::kDifferent) return;
  if (a.first) printExample(out, "first:", *a.first);
  for (const auto& example : a.worst)
    if (example.difference > 0) printExample(out, "worst:", example);
}

std::string networkText(const NetworkCost& cost) {
  std::string text = fmt::format("{} bytes in one stage, ", withThousands(cost.oneStage));
  if (cost.toStageTwo == 0) return text + fmt::format("{} with salts", withThousands(cost.toStageOne));
  return text + fmt::format("{} in two ({} to stage one, {} that it ships)", withThousands(cost.toStageOne + cost.toStageTwo),
                            withThousands(cost.toStageOne), withThousands(cost.toStageTwo));
}

void printBalance(std::ostream& out, const BalanceFinding& b, bool colour) {
  using Align = TextTable::Align;
  TextTable table({{"records by subtask"}, {"max/mean", Align::kRight}, {"by subtask"}});
  table.addRow({"one stage", fmt::format("{:.2f}", mostOverMean(b.before)), listOf(b.before)});
  if (!b.stageOne.empty()) table.addRow({"stage one", fmt::format("{:.2f}", mostOverMean(b.stageOne)), listOf(b.stageOne)});
  if (!b.stageTwo.empty()) table.addRow({"stage two", fmt::format("{:.2f}", mostOverMean(b.stageTwo)), listOf(b.stageTwo)});
  table.print(out, colour);
  out << fmt::format("  exchanged: {} records before, {} after; largest checkpoint: {} bytes before, {} after\n",
                     withThousands(b.exchangedBefore), withThousands(b.exchangedAfter), withThousands(b.stateBefore),
                     withThousands(b.stateAfter));
  if (b.network) out << "  network: " << networkText(*b.network) << '\n';
  out << "  added latency: " << b.latency;
  if (b.heldBack)
    out << fmt::format("; measured in virtual time: {:.1f} ms on average, {:.0f} ms at most", b.heldBack->mean, b.heldBack->largest);
  out << '\n';
  if (b.choices.empty()) return;
  out << "  expected max/mean by salts:";
  for (const auto& choice : b.choices) out << fmt::format(" {}: {:.2f}", choice.salts, choice.mostOverMean);
  out << (b.worthIt == 1 ? std::string("; salts are not worth it")
                         : fmt::format("; {} salts are worth it, more hardly help", b.worthIt))
      << '\n';
}

void printText(std::ostream& out, const ValidationReport& report, bool colour) {
  for (const StreamFinding& stream : report.streams) {
    out << styled(stream.stream, Style::kBold, colour) << " (" << stream.form << ", " << stream.runs << " runs compared)\n";
    for (const AggregateFinding& aggregate : stream.aggregates) printAggregate(out, aggregate, colour);
    if (stream.oneStageLate > 0 || stream.twoStageLate > 0)
      out << fmt::format("  dropped as late: {} in one stage, {} in two\n", withThousands(stream.oneStageLate),
                         withThousands(stream.twoStageLate));
    for (const std::string& note : stream.notes) out << "  " << note << '\n';
    if (stream.balance) printBalance(out, *stream.balance, colour);
    out << '\n';
  }
  const bool different = report.different();
  out << styled(different ? "two stages give other results" : "two stages give the results of one stage",
                different ? Style::kRed : Style::kGreen, colour)
      << '\n';
}

nlohmann::ordered_json toJson(const AggregateFinding::Example& example) {
  return {{"group", example.group}, {"one-stage", example.oneStage}, {"two-stages", example.twoStages}, {"difference", example.difference}};
}

nlohmann::ordered_json toJson(const AggregateFinding& a) {
  nlohmann::ordered_json json = {{"column", a.column},
                                 {"function", a.function},
                                 {"verdict", wordOf(a.verdict)},
                                 {"results", a.groups},
                                 {"differing", a.differing},
                                 {"differing-by-more-than-1e-9", a.differingMore},
                                 {"differing-keys", a.differingKeys},
                                 {"missing", a.missing},
                                 {"additional", a.additional},
                                 {"largest-difference", a.largest},
                                 {"mean-difference", a.mean},
                                 {"reasons", a.reasons}};
  if (a.bound) json["rounding-bound"] = *a.bound;
  if (a.first) json["first"] = toJson(*a.first);
  json["worst"] = nlohmann::ordered_json::array();
  for (const auto& example : a.worst) json["worst"].push_back(toJson(example));
  return json;
}

nlohmann::ordered_json toJson(const BalanceFinding& b) {
  nlohmann::ordered_json json = {{"one-stage", b.before},
                                 {"stage-one", b.stageOne},
                                 {"stage-two", b.stageTwo},
                                 {"exchanged-before", b.exchangedBefore},
                                 {"exchanged-after", b.exchangedAfter},
                                 {"state-before", b.stateBefore},
                                 {"state-after", b.stateAfter},
                                 {"added-latency", b.latency},
                                 {"salts", b.salts}};
  if (b.network)
    json["network-bytes"] = {
        {"one-stage", b.network->oneStage}, {"to-stage-one", b.network->toStageOne}, {"to-stage-two", b.network->toStageTwo}};
  if (b.heldBack)
    json["added-latency-ms"] = {
        {"clock", "virtual"}, {"compared", b.heldBack->compared}, {"mean", b.heldBack->mean}, {"largest", b.heldBack->largest}};
  if (b.choices.empty()) return json;
  json["salts-worth-it"] = b.worthIt;
  for (const auto& choice : b.choices) json["max-over-mean-by-salts"][std::to_string(choice.salts)] = choice.mostOverMean;
  return json;
}

void printJson(std::ostream& out, const ValidationReport& report) {
  nlohmann::ordered_json json = {{"version", 1}, {"equal", !report.different()}, {"streams", nlohmann::ordered_json::array()}};
  for (const StreamFinding& stream : report.streams) {
    nlohmann::ordered_json one = {{"stream", stream.stream},
                                  {"form", stream.form},
                                  {"runs", stream.runs},
                                  {"late-in-one-stage", stream.oneStageLate},
                                  {"late-in-two-stages", stream.twoStageLate},
                                  {"notes", stream.notes},
                                  {"aggregates", nlohmann::ordered_json::array()}};
    for (const AggregateFinding& aggregate : stream.aggregates) one["aggregates"].push_back(toJson(aggregate));
    if (stream.balance) one["balance"] = toJson(*stream.balance);
    json["streams"].push_back(std::move(one));
  }
  out << json.dump(2) << '\n';
}

}  // namespace

ExitCode validateFile(const ScenarioFile& file, const ValidateOptions& options, const Configuration& configuration, std::ostream& out,
                      bool colour) {
  RealFileSystem files;
  ProgressLine progress(options.quiet);
  double step = 0;
  ValidationOptions validation;
  validation.input = options.input;
  validation.tolerance = options.tolerance;
  validation.seeds = options.seeds;
  validation.salts = options.salts;
  validation.progress = [&](const std::string& text) { progress.show("validating " + text, step += 10); };
  const auto report = validateJob(file, configuration, files, validation);
  progress.clear();
  if (report.has_error()) {
    std::cerr << "weir: " << report.error().message << '\n';
    return kExitUsage;
  }
  if (options.json)
    printJson(out, *report);
  else
    printText(out, *report, colour);
  return report->different() ? kExitFailed : kExitOk;
}

}  // namespace weir
