#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <vector>

#include "weir/metrics/trace_file.h"

namespace weir {

/// One checkpoint of a trace.
struct CheckpointStory {
  int64_t id = 0;
  std::vector<const BarrierTraceEvent*> events;  ///< by time
  const BarrierTraceEvent* triggered = nullptr;
  const BarrierTraceEvent* ended = nullptr;  ///< completed or aborted; null: the trace ends before

  /// Moment zero of its timeline.
  Nanos start() const { return triggered ? triggered->at : events.front()->at; }
  std::string_view outcome() const { return ended ? barrierStepName(ended->step) : "open"; }
};

/// The checkpoints of a trace by id.
std::map<int64_t, CheckpointStory> storiesOf(const BarrierTraceFile& trace);

/// Nanoseconds as people read them: `840 ns`, `12.3 us`, `4.56 ms`, `1.20 s`.
std::string humanDuration(int64_t nanos);

void printTraceOverview(std::ostream& out, const BarrierTraceFile& trace, const std::map<int64_t, CheckpointStory>& stories, bool colour);
void printTimeline(std::ostream& out, const BarrierTraceFile& trace, const CheckpointStory& story, bool colour);
void printTraceJson(std::ostream& out, const BarrierTraceFile& trace, const std::map<int64_t, CheckpointStory>& stories);
/// Trace events that ui.perfetto.dev and chrome://tracing open: a process per TaskManager, a track per subtask, a flow per checkpoint.
void printPerfetto(std::ostream& out, const BarrierTraceFile& trace, const std::map<int64_t, CheckpointStory>& stories);

}  // namespace weir
