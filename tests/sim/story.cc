#include "sim/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weir::sim {
namespace {

struct Line {
  double ms;
  std::string text;
};

std::string detailsOf(const BarrierDetails& details, const std::vector<BarrierTrace::Track>& tracks) {
  std::string text;
  if (details.of >= 0) text += " of " + tracks[static_cast<size_t>(details.of)].name;
  const auto add = [&](const char* name, int64_t value) {
    if (value >= 0) text += fmt::format(" {} {}", name, value);
  };
  add("gate", details.gate);
  add("channel", details.channel);
  add("count", details.count);
  add("bytes", details.bytes);
  return text;
}

}  // namespace

std::string storyOf(const MemoryLogSink& log, BarrierTrace& trace, int64_t epochMsAtZero) {
  std::vector<Line> lines;
  for (const auto& line : log.lines()) {
    const std::string name = line.logger.substr(line.logger.rfind('.') + 1);
    lines.push_back({static_cast<double>(line.epochMillis - epochMsAtZero), fmt::format("{}: {}", name, line.message)});
  }
  std::vector<BarrierTraceEvent> events;
  trace.drain(events);
  const auto tracks = trace.tracksFrom(0);
  for (const BarrierTraceEvent& event : events) {
    const BarrierTrace::Track& track = tracks[event.track];
    lines.push_back({static_cast<double>(event.at.count()) / 1e6,
                     fmt::format("{} {}: checkpoint {} {}{}", track.process, track.name, event.checkpointId, barrierStepName(event.step),
                                 detailsOf(event.details, tracks))});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.ms < b.ms; });
  std::string text;
  for (const Line& line : lines) text += fmt::format("{:10.3f} ms  {}\n", line.ms, line.text);
  return text;
}

}  // namespace weir::sim
