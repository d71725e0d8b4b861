#include "trace_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "weir/cli/terminal.h"

namespace weir {
namespace {

/// Sums and the worst of one checkpoint, for a line of the overview.
struct Overview {
  int64_t tasks = 0, overtaken = 0, blocked = 0;
  int64_t overtakenBytes = -1;  ///< -1: nobody told
  const BarrierTraceEvent* longestAlignment = nullptr;
  const BarrierTraceEvent* lastEmitted = nullptr;
  bool timedOut = false;

  explicit Overview(const CheckpointStory& story) {
    for (const BarrierTraceEvent* event : story.events) {
      if (event->step == BarrierStep::kEmitted) {
        ++tasks;
        lastEmitted = event;
      }
      if (event->step == BarrierStep::kOvertook) {
        overtaken += std::max<int64_t>(0, event->details.count);
        if (event->details.bytes >= 0) overtakenBytes = std::max<int64_t>(0, overtakenBytes) + event->details.bytes;
      }
      if (event->step == BarrierStep::kChannelBlocked) ++blocked;
      if (event->step == BarrierStep::kTimedOut) timedOut = true;
      const bool aligned = event->step == BarrierStep::kAligned;
      if (aligned && (!longestAlignment || event->details.durationNanos > longestAlignment->details.durationNanos))
        longestAlignment = event;
    }
  }
};

std::string timeOfDay(int64_t epochMs) {
  const std::time_t seconds = static_cast<std::time_t>(epochMs / 1000);
  return fmt::format("{:%H:%M:%S},{:03}", fmt::localtime(seconds), epochMs % 1000);
}

std::string triggeredAt(const BarrierTraceFile& trace, const CheckpointStory& story) {
  return timeOfDay(trace.startEpochMs + story.start().count() / 1'000'000);
}

std::string detailsOf(const BarrierTraceFile& trace, const BarrierTraceEvent& event) {
  const BarrierDetails& d = event.details;
  std::string text;
  const auto add = [&](std::string part) { text += (text.empty() ? "" : ", ") + part; };
  if (d.of >= 0) add(trace.tracks[static_cast<size_t>(d.of)].name);
  if (d.channel >= 0) {
    const bool output = event.step >= BarrierStep::kEnqueued && event.step <= BarrierStep::kSocketFlushed;
    add(fmt::format("{} {}, {} {}", output ? "partition" : "gate", d.gate, output ? "subpartition" : "channel", d.channel));
  }
  if (d.count >= 0) add(event.step == BarrierStep::kEnqueued ? fmt::format("behind {}", d.count) : fmt::format("{} buffers", d.count));
  if (d.bytes >= 0) add(withThousands(d.bytes) + " B");
  if (d.durationNanos >= 0) add("took " + humanDuration(d.durationNanos));
  return text;
}

}  // namespace

std::map<int64_t, CheckpointStory> storiesOf(const BarrierTraceFile& trace) {
  std::map<int64_t, CheckpointStory> stories;
  for (const BarrierTraceEvent& event : trace.events) {
    CheckpointStory& story = stories[event.checkpointId];
    story.id = event.checkpointId;
    story.events.push_back(&event);
    if (event.step == BarrierStep::kTriggered) story.triggered = &event;
    const bool ends = event.step == BarrierStep::kCompleted || event.step == BarrierStep::kAborted;
    if (ends && !story.ended) story.ended = &event;
  }
  return stories;
}

std::string humanDuration(int64_t nanos) {
  const auto n = static_cast<double>(nanos);
  if (nanos < 1'000) return fmt::format("{} ns", nanos);
  if (nanos < 1'000'000) return fmt::format("{:.3g} us", n / 1e3);
  if (nanos < 1'000'000'000) return fmt::format("{:.3g} ms", n / 1e6);
  return fmt::format("{:.2f} s", n / 1e9);
}

void printTraceOverview(std::ostream& out, const BarrierTraceFile& trace, const std::map<int64_t, CheckpointStory>& stories, bool colour) {
  using Align = TextTable::Align;
  TextTable table({{"checkpoint", Align::kRight}, {"triggered"}, {"outcome"}, {"end to end", Align::kRight},
                   {"last barrier sent", Align::kRight}, {"longest alignment", Align::kRight}, {"blocked", Align::kRight},
                   {"overtaken", Align::kRight}, {"in-flight", Align::kRight}, {"slowest"}});
  for (const auto& [id, story] : stories) {
    const Overview o(story);
    const auto since = [&](const BarrierTraceEvent* event) { return event ? humanDuration((event->at - story.start()).count()) : "-"; };
    table.addRow({std::to_string(id), triggeredAt(trace, story), std::string(story.outcome()) + (o.timedOut ? ", timed out" : ""),
                  since(story.ended), since(o.lastEmitted),
                  o.longestAlignment ? humanDuration(o.longestAlignment->details.durationNanos) : "-", withThousands(o.blocked),
                  withThousands(o.overtaken), o.overtakenBytes < 0 ? "-" : withThousands(o.overtakenBytes) + " B",
                  o.lastEmitted ? trace.tracks[o.lastEmitted->track].name : "-"});
  }
  table.print(out, colour);
  out << "slowest: the task that sent its barrier last; --checkpoint N shows the way of one\n";
}

void printTimeline(std::ostream& out, const BarrierTraceFile& trace, const CheckpointStory& story, bool colour) {
  out << styled(fmt::format("checkpoint {}, triggered {}, {}", story.id, triggeredAt(trace, story), story.outcome()), Style::kBold, colour);
  if (story.ended) out << " after " << humanDuration((story.ended->at - story.start()).count());
  out << "\n\n";
  using Align = TextTable::Align;
  TextTable table({{"after", Align::kRight}, {"process"}, {"task"}, {"step"}, {"details"}});
  for (const BarrierTraceEvent* event : story.events) {
    const BarrierTrace::Track& track = trace.tracks[event->track];
    table.addRow({humanDuration((event->at - story.start()).count()), track.process, track.name, std::string(barrierStepName(event->step)),
                  detailsOf(trace, *event)});
  }
  table.print(out, colour);
}

void printTraceJson(std::ostream& out, const BarrierTraceFile& trace, const std::map<int64_t, CheckpointStory>& stories) {
  using Json = nlohmann::ordered_json;
  Json all = {{"version", 1}, {"checkpoints", Json::array()}};
  for (const auto& [id, story] : stories) {
    Json checkpoint = {{"id", id},
                       {"triggered-epoch-ms", trace.startEpochMs + story.start().count() / 1'000'000},
                       {"outcome", story.outcome()}};
    if (story.ended) checkpoint["end-to-end-ns"] = (story.ended->at - story.start()).count();
    Json& events = checkpoint["events"] = Json::array();
    for (const BarrierTraceEvent* event : story.events) {
      const BarrierTrace::Track& track = trace.tracks[event->track];
      Json one = {{"after-ns", (event->at - story.start()).count()},
                  {"process", track.process},
                  {"task", track.name},
                  {"step", barrierStepName(event->step)}};
      const auto field = [&](const char* name, int64_t value) {
        if (value >= 0) one[name] = value;
      };
      field("gate", event->details.gate);
      field("channel", event->details.channel);
      field("count", event->details.count);
      field("bytes", event->details.bytes);
      field("duration-ns", event->details.durationNanos);
      if (event->details.of >= 0) one["of"] = trace.tracks[static_cast<size_t>(event->details.of)].name;
      events.push_back(std::move(one));
    }
    all["checkpoints"].push_back(std::move(checkpoint));
  }
  out << all.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace weir
