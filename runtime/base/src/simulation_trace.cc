#include "simulation_trace.h"

#include <fmt/format.h>

namespace weir {

void SimulationTrace::add(uint64_t step, Nanos now, uint32_t actor, const char* point) {
  const auto mix = [this](uint64_t value) {
    hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15ull;
    hash_ ^= hash_ >> 32;
  };
  mix(step);
  mix(static_cast<uint64_t>(now.count()));
  uint64_t text = actor;  // by content: where a literal lies differs between builds
  for (const char* c = point; *c; ++c) text = text * 31 + static_cast<unsigned char>(*c);
  mix(text);
  if (ring_.empty()) return;
  ring_[next_] = {step, now, actor, point};
  if (++next_ == ring_.size()) next_ = 0;
}

std::string SimulationTrace::text(const std::vector<std::string>& names) const {
  std::string text;
  for (size_t i = 0; i < ring_.size(); ++i) {
    const Entry& entry = ring_[(next_ + i) % ring_.size()];
    if (!entry.point) continue;
    text += fmt::format("  step {} at {:.3f} us: #{} '{}' from '{}'\n", entry.step, static_cast<double>(entry.now.count()) / 1e3,
                        entry.actor, names[entry.actor], entry.point);
  }
  return text;
}

}  // namespace weir
