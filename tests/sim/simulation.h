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
  std::string story;                  ///< the log and the way of every barrier; only where it was asked for
  uint64_t traceHash = 0;
  int64_t restarts = 0, checkpoints = 0;
};

enum class Tell { kOutcome, kStory };
/// Runs the scenario on a MiniCluster in virtual time and checks all that must hold at its end. To tell the story changes nothing of it.
Outcome simulate(const Scenario& scenario, Tell tell = Tell::kOutcome);

/// Runs a share (percent) of WEIR_SEEDS scenarios from WEIR_SEED_BASE on, up to the first that breaks an invariant. Failures print the
/// seed, the scenario and the command that replays it; so does an abort. What fails is shrunk, and the smallest scenario comes with its
/// story. With WEIR_SHRINK set, each runs in a process of its own, so that what aborts is shrunk as well.
void checkSeeds(int sharePercent, const Taste& taste, const std::function<void(const Scenario&, const Outcome&)>& also = nullptr);

int64_t seedsWanted();
uint64_t firstSeed();

}  // namespace weir::sim
