#include "weir/cli/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "weir/cli/terminal.h"

namespace weir {
namespace {

std::string_view statusName(CheckpointStatus status) {
  return status == CheckpointStatus::kCompleted ? "COMPLETED" : status == CheckpointStatus::kFailed ? "FAILED" : "IN_PROGRESS";
}

/// The largest value that any subtask reported.
int64_t largest(const CheckpointStats& checkpoint, StatsSummary TaskCheckpointStats::*which) {
  int64_t most = 0;
  for (const TaskCheckpointStats& task : checkpoint.tasks) most = std::max(most, (task.*which).max());
  return most;
}

std::string millis(int64_t value) { return value < 0 ? "-" : std::to_string(value) + " ms"; }

}  // namespace

void printCheckpoints(std::ostream& out, const JobSnapshot& snapshot, bool colour) {
  if (!snapshot.checkpoints) return;
  using Align = TextTable::Align;
  TextTable table({{"checkpoint", Align::kRight}, {"status"}, {"acknowledged", Align::kRight}, {"end to end", Align::kRight},
                   {"start delay", Align::kRight}, {"alignment", Align::kRight}, {"sync", Align::kRight}, {"async", Align::kRight},
                   {"state", Align::kRight}});
  const auto& history = snapshot.checkpoints->history;
  for (auto at = history.rbegin(); at != history.rend(); ++at) {
    const CheckpointStats& c = **at;
    table.addRow({std::to_string(c.id), std::string(statusName(c.status)), fmt::format("{}/{}", c.acknowledged, c.subtasks),
                  millis(c.endToEndMs()), millis(largest(c, &TaskCheckpointStats::startDelayMs)),
                  millis(largest(c, &TaskCheckpointStats::alignmentMs)), millis(largest(c, &TaskCheckpointStats::syncMs)),
                  millis(largest(c, &TaskCheckpointStats::asyncMs)), withThousands(c.stateSize) + " B"});
  }
  table.print(out, colour);
  const CheckpointCounts& counts = snapshot.checkpoints->counts;
  if (static_cast<size_t>(counts.total) > history.size())
    out << fmt::format("(the newest {} of {} checkpoints; start delay, alignment, sync and async are those of the slowest subtask)\n",
                       history.size(), counts.total);
  out << '\n';
}

void printSummary(std::ostream& out, const JobSnapshot& snapshot, const JobResult& result, bool colour) {
  const bool good = result.status == JobStatus::kFinished;
  const auto entered = [&](JobStatus status) { return snapshot.statusTimestampsMs[static_cast<size_t>(status)]; };
  const int64_t tookMs = entered(result.status) - entered(JobStatus::kCreated);
  out << styled(toString(result.status), good ? Style::kGreen : Style::kRed, colour)
      << fmt::format(" after {:.1f} s, {} restart{}", static_cast<double>(tookMs) / 1000, result.restarts, result.restarts == 1 ? "" : "s");
  if (snapshot.checkpoints) {
    const CheckpointCounts& counts = snapshot.checkpoints->counts;
    out << fmt::format(", {} checkpoints completed, {} failed", counts.completed, counts.failed - counts.notTriggered);
    if (counts.notTriggered > 0) out << fmt::format(", {} not begun because not all tasks ran", counts.notTriggered);
  }
  out << '\n';
}

void printJsonReport(std::ostream& out, const JobSnapshot& snapshot, const JobResult& result, bool compared,
                     const Result<void>& comparison, const std::string& results) {
  nlohmann::ordered_json report;
  report["version"] = 1;
  report["job"] = {{"id", snapshot.job.toString()},
                   {"name", snapshot.graph ? snapshot.graph->name() : ""},
                   {"status", toString(result.status)},
                   {"runtime-ms", result.runtimeMs},
                   {"restarts", result.restarts}};
  if (result.failure) report["job"]["failure"] = result.failure->trace();
  if (snapshot.checkpoints) {
    const CheckpointCounts& counts = snapshot.checkpoints->counts;
    report["checkpoints"] = {
        {"completed", counts.completed}, {"failed", counts.failed - counts.notTriggered}, {"not-begun", counts.notTriggered}};
    auto& history = report["checkpoints"]["history"] = nlohmann::ordered_json::array();
    for (const auto& c : snapshot.checkpoints->history)
      history.push_back({{"id", c->id},
                         {"status", statusName(c->status)},
                         {"acknowledged", c->acknowledged},
                         {"subtasks", c->subtasks},
                         {"end-to-end-ms", c->endToEndMs()},
                         {"slowest-start-delay-ms", largest(*c, &TaskCheckpointStats::startDelayMs)},
                         {"slowest-alignment-ms", largest(*c, &TaskCheckpointStats::alignmentMs)},
                         {"slowest-sync-ms", largest(*c, &TaskCheckpointStats::syncMs)},
                         {"slowest-async-ms", largest(*c, &TaskCheckpointStats::asyncMs)},
                         {"state-size", c->stateSize},
                         {"path", c->externalPath}});
  }
  if (!results.empty()) report["results"] = nlohmann::ordered_json::parse(results);
  if (compared) {
    report["oracle"]["equal"] = comparison.has_value();
    if (comparison.has_error()) report["oracle"]["difference"] = comparison.error().message;
  }
  out << report.dump(2) << '\n';
}

}  // namespace weir
