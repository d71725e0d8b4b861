#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "trace_report.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

/// Events in the JSON of Chrome's trace viewer: times in microseconds, processes and tracks by number.
class PerfettoWriter {
 public:
  PerfettoWriter(std::ostream& out, const BarrierTraceFile& trace) : out_(out), trace_(trace) {
    for (const auto& track : trace.tracks) processes_.try_emplace(track.process, static_cast<int>(processes_.size()) + 1);
  }

  void begin() {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    for (const auto& [name, pid] : processes_) write({{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"args", {{"name", name}}}});
    for (size_t i = 0; i < trace_.tracks.size(); ++i) {
      nameTrack(i, kSteps, trace_.tracks[i].name);
      nameTrack(i, kWorkers, trace_.tracks[i].name + ", writes");
    }
  }
  void story(const CheckpointStory& story) {
    if (story.triggered && story.ended)
      slice(*story.triggered, fmt::format("checkpoint {} {}", story.id, story.outcome()), story.triggered->at, story.ended->at);
    for (const BarrierTraceEvent* event : story.events) step(story, *event);
  }
  void end() { out_ << "\n]}\n"; }

 private:
  /// Async parts overlap with what the task does next, so they have a row of their own.
  enum Row { kSteps = 0, kWorkers = 1 };

  void step(const CheckpointStory& story, const BarrierTraceEvent& event) {
    const std::string name = fmt::format("{} {}", barrierStepName(event.step), story.id);
    const bool lasted = event.details.durationNanos > 0;
    const Nanos from = lasted ? event.at - Nanos(event.details.durationNanos) : event.at;
    slice(event, name, from, lasted ? event.at : event.at + kInstant);
    const bool first = event.step == BarrierStep::kTriggered;
    const bool passes = event.step == BarrierStep::kEmitted || event.step == BarrierStep::kReceived;
    const bool last = &event == story.ended;
    if (!story.triggered || !(first || passes || last)) return;
    Json flow = base(event, first ? "s" : last ? "f" : "t", event.at);
    flow["name"] = "barrier";
    flow["cat"] = "barrier";
    flow["id"] = story.id;
    if (last) flow["bp"] = "e";
    write(flow);
  }
  void slice(const BarrierTraceEvent& event, const std::string& name, Nanos from, Nanos to) {
    Json slice = base(event, "X", from);
    slice["name"] = name;
    slice["dur"] = micros(to - from);
    Json args = {{"checkpoint", event.checkpointId}};
    const auto field = [&](const char* key, int64_t value) {
      if (value >= 0) args[key] = value;
    };
    field("gate", event.details.gate);
    field("channel", event.details.channel);
    field("count", event.details.count);
    field("bytes", event.details.bytes);
    if (event.details.of >= 0) args["of"] = trace_.tracks[static_cast<size_t>(event.details.of)].name;
    slice["args"] = std::move(args);
    write(slice);
  }
  Json base(const BarrierTraceEvent& event, const char* phase, Nanos at) const {
    const Row row = event.step == BarrierStep::kSnapshotAsync ? kWorkers : kSteps;
    return {{"ph", phase}, {"pid", processes_.at(trace_.tracks[event.track].process)}, {"tid", tid(event.track, row)}, {"ts", micros(at)}};
  }
  void nameTrack(size_t track, Row row, const std::string& name) {
    write({{"ph", "M"},
           {"name", "thread_name"},
           {"pid", processes_.at(trace_.tracks[track].process)},
           {"tid", tid(track, row)},
           {"args", {{"name", name}}}});
  }
  static size_t tid(size_t track, Row row) { return 2 * track + row + 1; }
  static double micros(Nanos time) { return static_cast<double>(time.count()) / 1000; }
  void write(const Json& event) {
    out_ << (first_ ? "\n" : ",\n") << event.dump(-1, ' ', false, Json::error_handler_t::replace);
    first_ = false;
  }

  static constexpr Nanos kInstant{1000};  // wide enough to be clicked
  std::ostream& out_;
  const BarrierTraceFile& trace_;
  std::map<std::string, int> processes_;
  bool first_ = true;
};

}  // namespace

void printPerfetto(std::ostream& out, const BarrierTraceFile& trace, const std::map<int64_t, CheckpointStory>& stories) {
  PerfettoWriter writer(out, trace);
  writer.begin();
  for (const auto& [id, story] : stories) writer.story(story);
  writer.end();
}

}  // namespace weir
