#pragma once

#include <memory>

#include "weir/base/executor.h"

namespace weir {

struct SimulationOptions {
  uint64_t seed = 1;
  Nanos shortestStep{100}, longestStep{10'000};  ///< what a scheduling step costs, drawn evenly
  Nanos recordCost{100};                         ///< of each record that is billed
  int cores = 0;                                 ///< on which records and spun costs run; 0: one for each actor
  int64_t epochMillis = 1'704'067'200'000;       ///< when the run begins: 2024-01-01T00:00:00Z
  /// So many steps with neither a record, nor a cost, nor a progress() mark, nor a moment in which nobody could run, are a livelock.
  uint64_t livelockSteps = 1'000'000;
  /// Housekeeping may still free somebody (a flusher does), so it goes on for this long before "only housekeeping is left" is a deadlock.
  Nanos housekeepingGrace = std::chrono::seconds(60);
  Nanos timeLimit = Nanos::max();                ///< a run that takes longer fails
  size_t traceLines = 256;                       ///< how many of the last steps are kept for trace()
};

/// Why a simulated run cannot go on. The text lists all actors with what they wait for, and the last steps.
class SimulationError : public std::runtime_error {
 public:
  enum class Kind { kDeadlock, kLivelock, kTimeLimit };
  SimulationError(Kind kind, const std::string& report) : std::runtime_error(report), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

/// All actors as fibers of one thread, in virtual time, replayable bit for bit from a seed.
///
/// At every wait, wake, billed batch and interleaving point a seeded choice says who runs next among all that can; actors whose deadline is
/// due compete with the rest. Each such step costs a seeded bit of virtual time. Where nobody can run, time jumps to the next deadline.
/// A run ends with its main body; then everybody else is cancelled and unwound. It fails (SimulationError) where main waits and nothing
/// but housekeeping is left, where steps go by without progress, or at the time limit; and with ActorFailure where a body throws.
///
/// Threads: one. Signals may be set and actors spawned by the thread that calls run() only.
class SimulatedExecutor final : public Executor {
 public:
  explicit SimulatedExecutor(SimulationOptions options = {});
  ~SimulatedExecutor() override;

  std::shared_ptr<Actor> spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) override;
  void run(std::string name, const std::function<void(ExecutionContext&)>& body) override;
  void kill(std::string_view process) override;
  const Clock& clock() const override;
  std::string_view name() const override { return "simulated"; }
  uint64_t seed() const override;

  uint64_t steps() const;
  /// Of all steps so far: who ran, from which point, when. Equal for equal seeds, and for different ones only by chance.
  uint64_t traceHash() const;
  /// The last steps, a line each, oldest first.
  std::string trace() const;

 private:
  class Scheduler;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace weir
