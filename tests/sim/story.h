#pragma once

#include <string>

#include "weir/base/log_sinks.h"
#include "weir/metrics/barrier_trace.h"

namespace weir::sim {

/// What happened, a line each, by virtual time: the lines of the log, and every step of every barrier with who took it.
std::string storyOf(const MemoryLogSink& log, BarrierTrace& trace, int64_t epochMsAtZero);

}  // namespace weir::sim
