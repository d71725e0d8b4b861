#include "weir/metrics/barrier_trace.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<std::string_view, kBarrierSteps> kNames = {
    "triggered", "emitted", "enqueued", "overtook", "socket-written", "socket-flushed", "announced", "received",
    "channel-blocked", "timed-out", "aligned", "snapshot-sync", "snapshot-async", "acknowledged", "completed", "aborted"};

}  // namespace

std::string_view barrierStepName(BarrierStep step) { return kNames[static_cast<size_t>(step)]; }

std::optional<BarrierStep> barrierStepOf(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<BarrierStep>(found - kNames.begin());
}

std::shared_ptr<BarrierTracer> BarrierTrace::tracer(std::string process, std::string name) {
  uint32_t track = 0;
  {
    Lock lock(mutex_);
    track = static_cast<uint32_t>(tracks_.size());
    newest_[name] = static_cast<int32_t>(track);
    tracks_.push_back({std::move(process), std::move(name)});
  }
  return std::make_shared<BarrierTracer>(shared_from_this(), track);
}

void BarrierTrace::drain(std::vector<BarrierTraceEvent>& into) {
  constexpr size_t kAtOnce = 256;
  for (;;) {
    const size_t before = into.size();
    into.resize(before + kAtOnce);
    const size_t got = events_.try_dequeue_bulk(into.begin() + static_cast<std::ptrdiff_t>(before), kAtOnce);
    into.resize(before + got);
    if (got == 0) return;
  }
}

int32_t BarrierTrace::trackNamed(const std::string& name) const {
  Lock lock(mutex_);
  const auto found = newest_.find(name);
  return found == newest_.end() ? -1 : found->second;
}

std::vector<BarrierTrace::Track> BarrierTrace::tracksFrom(size_t first) const {
  Lock lock(mutex_);
  return {tracks_.begin() + static_cast<std::ptrdiff_t>(std::min(first, tracks_.size())), tracks_.end()};
}

}  // namespace weir
