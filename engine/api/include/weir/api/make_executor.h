#pragma once

#include <cstdint>
#include <memory>

#include "weir/base/executor.h"
#include "weir/config/configuration.h"

namespace weir {

/// The executor that weir.executor names, sized by weir.pool.workers or weir.simulation.cores where they are set. `seed` 0: drawn by
/// threads and pool; the simulated executor takes 1, so that a run repeats unless it is told otherwise.
Result<std::unique_ptr<Executor>> makeExecutor(const Configuration& configuration, uint64_t seed = 0);

}  // namespace weir
