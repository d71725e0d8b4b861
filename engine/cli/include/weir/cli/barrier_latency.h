#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weir/base/executor.h"
#include "weir/metrics/latency_histogram.h"

namespace weir {

/// One way to measure a barrier at a gate: one task writes, one reads.
struct BarrierCase {
  int32_t channels = 1;
  bool unaligned = false;
  bool backPressure = false;  ///< every channel holds kQueuedBuffers before the barrier comes, each costs the reader kBufferCost at least
  bool spinning = false;      ///< the reader looks, and works, all the time; else it sleeps until something comes, and over each buffer

  static constexpr int32_t kQueuedBuffers = 2;
  static constexpr Nanos kBufferCost{2'000};
};

/// From the broadcast to the moment at which the reader has the barrier from every channel: repeated for `budget`, five times at least.
LatencyHistogram measureBarrier(Executor& executor, const BarrierCase& which, Nanos budget);
/// The least: a number written to a ring per channel, and a thread that looks until it has all.
LatencyHistogram measureRings(int32_t channels, Nanos budget);
/// Why a number from this machine would say little now; none: it is quiet.
std::optional<std::string> unrest();

}  // namespace weir
