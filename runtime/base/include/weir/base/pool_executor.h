#pragma once

#include <memory>

#include "weir/base/executor.h"

namespace weir {

struct PoolExecutorOptions {
  uint64_t seed = 0;                           ///< 0: drawn
  int workers = 0;                             ///< 0: one for each core
  int blockingThreads = 32;                    ///< the most calls of blocking() that run at once; threads start when needed
  Nanos spin = std::chrono::microseconds(30);  ///< how long an idle worker spins at most where a core is free
};

/// Thousands of actors on a few threads: each actor is a fiber that stays on the worker on which it began (the one with the fewest).
///
/// A wait, and a slept cost, frees the worker; a user function that does not wait, and a spun cost, holds it and everybody on it. bill()
/// yields now and then. blocking() moves the call to a thread of its own pool. Stacks of 256 KiB with a guard page, reused. An actor with a
/// reactor is a thread: it would hold its worker in the network.
class PoolExecutor final : public Executor {
 public:
  explicit PoolExecutor(PoolExecutorOptions options = {});
  /// Cancels everybody and joins the workers.
  ~PoolExecutor() override;

  std::shared_ptr<Actor> spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) override;
  void run(std::string name, const std::function<void(ExecutionContext&)>& body) override;
  void kill(std::string_view process) override;
  const Clock& clock() const override { return SystemClock::instance(); }
  std::string_view name() const override { return "pool"; }
  uint64_t seed() const override;
  int workers() const;

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace weir
