#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/scenario.h"

namespace weir::sim {

/// What became of one scenario.
struct Outcome {
  std::vector<std::string> problems;  ///< none: every invariant held
  std::string log;                    ///< of the job
  uint64_t traceHash = 0;
  int64_t restarts = 0, checkpoints = 0;
};

/// Runs the scenario on a MiniCluster in virtual time and checks all that must hold at its end.
Outcome simulate(const Scenario& scenario);

/// Runs a share (percent) of WEIR_SEEDS scenarios from WEIR_SEED_BASE on, up to the first that breaks an invariant. Failures print the
/// seed, the scenario and the command that replays it; so does an abort.
void checkSeeds(int sharePercent, const Taste& taste, const std::function<void(const Scenario&, const Outcome&)>& also = nullptr);

int64_t seedsWanted();
uint64_t firstSeed();

}  // namespace weir::sim
