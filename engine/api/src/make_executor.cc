#include "weir/api/make_executor.h"

#include "weir/base/pool_executor.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"
#include "weir/config/weir_options.h"

namespace weir {

Result<std::unique_ptr<Executor>> makeExecutor(const Configuration& configuration, uint64_t seed) {
  WEIR_ASSIGN(const ExecutorKind kind, configuration.get(kExecutor));
  switch (kind) {
    case ExecutorKind::kPool: {
      PoolExecutorOptions pool;
      pool.seed = seed;
      WEIR_ASSIGN(const auto workers, configuration.getOptional(kPoolWorkers));
      pool.workers = workers.value_or(0);
      return std::unique_ptr<Executor>(std::make_unique<PoolExecutor>(pool));
    }
    case ExecutorKind::kSimulated: {
      SimulationOptions simulation;
      if (seed != 0) simulation.seed = seed;
      WEIR_ASSIGN(const auto cores, configuration.getOptional(kSimulationCores));
      simulation.cores = cores.value_or(0);
      return std::unique_ptr<Executor>(std::make_unique<SimulatedExecutor>(simulation));
    }
    case ExecutorKind::kThreads: break;
  }
  ThreadExecutorOptions threads;
  threads.seed = seed;
  return std::unique_ptr<Executor>(std::make_unique<ThreadExecutor>(threads));
}

}  // namespace weir
