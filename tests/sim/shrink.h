#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/simulation.h"

namespace weir::sim {

/// How a scenario fails: the first words of its first problem, without numbers, or the signal that ended the process. None: it holds.
using Failure = std::optional<std::string>;

Failure failureOf(const Outcome& outcome);
/// Runs the scenario in a process of its own, so that an abort does not end the search.
Failure failureOf(const Scenario& scenario);

struct Shrunk {
  Scenario scenario;
  int runs = 0;  ///< how many scenarios were tried
};

/// Takes away from `scenario` what can go while it still fails in the same way: faults, sinks, operators, records, parallelism, settings,
/// one after the other, until nothing more can go, `maxRuns` were tried
/// or a minute is over. Otherwise deterministic.
Shrunk shrink(Scenario scenario, const std::string& failure, int maxRuns, const std::function<Failure(const Scenario&)>& run);
/// With each in a process of its own.
Shrunk shrink(Scenario scenario, const std::string& failure, int maxRuns);

}  // namespace weir::sim
