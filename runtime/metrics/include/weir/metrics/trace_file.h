#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/base/log.h"
#include "weir/base/result.h"
#include "weir/base/signal.h"
#include "weir/base/world.h"
#include "weir/metrics/barrier_trace.h"

namespace weir {

/// A whole trace, read back: events by time, those of one moment in the order of a barrier's way.
struct BarrierTraceFile {
  int64_t startEpochMs = 0;  ///< wall time of moment zero of the events
  std::vector<BarrierTrace::Track> tracks;
  std::vector<BarrierTraceEvent> events;
};

/// Reads what a BarrierTraceWriter wrote. An error names file and line. A last line that was cut off by the end of the process is left out.
Result<BarrierTraceFile> readBarrierTrace(FileSystem& files, const std::string& path);

/// Writes a trace to a file while the job runs: an actor that looks ten times a second what is new. One JSON object a line: first what the
/// file is, then a line per track before its first event, and a line per event.
///
/// Threads: start and stop by one owner; the actor keeps everything it needs. A file that cannot be written any more is told once in the
/// log, and the rest of the trace is dropped.
class BarrierTraceWriter {
 public:
  /// Creates the file, so that a wrong path is found before the job runs.
  static Result<std::unique_ptr<BarrierTraceWriter>> start(World& world, const std::string& path, std::shared_ptr<BarrierTrace> trace);
  ~BarrierTraceWriter();
  /// Writes what is left and closes. The tracks must have fallen silent before.
  void stop(ExecutionContext& context);

 private:
  struct State;
  explicit BarrierTraceWriter(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  std::shared_ptr<Actor> actor_;
};

}  // namespace weir
