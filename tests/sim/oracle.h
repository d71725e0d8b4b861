#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/functions.h"

namespace weir::sim {

/// What the scenario's job must come to, worked out by plain loops.
class Oracle {
 public:
  explicit Oracle(const Scenario& scenario);

  /// Compares what a sink has committed. Exactly once: the same records as often; and of a keyed operator all counts and sums. At least
  /// once: nothing is missing, and nothing came from nowhere.
  std::vector<std::string> judgeSink(size_t sink, const std::vector<Rec>& committed) const;
  /// Compares what operators reported when they finished.
  std::vector<std::string> judgeFinals(const std::map<std::pair<int32_t, int32_t>, FinalState>& finals, size_t incarnation) const;

 private:
  /// A record with its timestamp, where that follows from the record.
  struct Timed {
    Rec rec;
    int64_t time = 0;
  };
  /// All inputs together: of two, records remember from which they are.
  std::vector<Timed> outputOf(int32_t node) const;
  void add(std::vector<Timed>& out, const Timed& in, int32_t node, int64_t variant) const;
  std::vector<Timed> input(const Input& input) const;
  void judgeCounts(size_t sink, const std::vector<Rec>& committed, std::vector<std::string>& problems) const;

  const Scenario& scenario_;
  std::vector<std::vector<Timed>> outputs_;  ///< of each node, in no particular order
};

}  // namespace weir::sim
