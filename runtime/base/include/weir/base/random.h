#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

/// A stream of pseudo-random numbers (SplitMix64 seeded xoshiro256**). One per actor, derived from the run's seed and the
/// actor's name, so that the numbers an actor sees do not depend on what other actors do. Not thread-safe: it belongs to its actor.
class Random {
 public:
  explicit Random(uint64_t seed);
  /// The stream of `actor` in the run with `seed`.
  Random(uint64_t seed, std::string_view actor);
  uint64_t next();
  /// Uniform in [0, bound); bound > 0. No modulo bias.
  uint64_t below(uint64_t bound);
  /// Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high);
  /// Uniform in [0, 1).
  double unit();
  bool oneIn(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_[4];
};

}  // namespace weir
