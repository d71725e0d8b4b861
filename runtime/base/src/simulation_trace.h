#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/clock.h"

namespace weir {

/// What happened in a simulated run: a hash over all steps, and the text of the last ones.
class SimulationTrace {
 public:
  explicit SimulationTrace(size_t lines) : ring_(lines) {}

  /// `actor` goes on from `point` (static text).
  void add(uint64_t step, Nanos now, uint32_t actor, const char* point);
  uint64_t hash() const { return hash_; }
  /// Oldest first; `names` by actor id.
  std::string text(const std::vector<std::string>& names) const;

 private:
  struct Entry {
    uint64_t step = 0;
    Nanos now{};
    uint32_t actor = 0;
    const char* point = nullptr;
  };
  std::vector<Entry> ring_;
  size_t next_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325ull;
};

}  // namespace weir
