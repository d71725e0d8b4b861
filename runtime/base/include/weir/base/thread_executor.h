#pragma once

#include <memory>

#include "weir/base/executor.h"

namespace weir {

struct ThreadExecutorOptions {
  uint64_t seed = 0;                             ///< 0: drawn
  Nanos spin = std::chrono::microseconds(30);    ///< how long a wait spins at most where a core is free; 0: never
  size_t stackBytes = 1024 * 1024;               ///< mapped lazily
};

/// A thread for each actor: Flink's model, and the default. A user function that sleeps or burns CPU hurts exactly one subtask.
///
/// Threads are kept for the next actor: starting one costs a few microseconds then. Timer slack is 1 ns. blocking() just calls.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(ThreadExecutorOptions options = {});
  /// Cancels and joins everybody.
  ~ThreadExecutor() override;

  std::shared_ptr<Actor> spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) override;
  void run(std::string name, const std::function<void(ExecutionContext&)>& body) override;
  void kill(std::string_view process) override;
  const Clock& clock() const override { return SystemClock::instance(); }
  std::string_view name() const override { return "threads"; }
  uint64_t seed() const override;

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace weir
