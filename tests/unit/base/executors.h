#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/base/pool_executor.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"

namespace weir {

/// Typed tests over these run one contract on every executor: TypeParam::Executor is made by its default constructor.
struct OnThreads {
  using Executor = ThreadExecutor;
  static constexpr bool kReal = true;
};
struct OnPool {
  using Executor = PoolExecutor;
  static constexpr bool kReal = true;
};
struct OnSimulation {
  using Executor = SimulatedExecutor;
  static constexpr bool kReal = false;
};

using AllExecutors = ::testing::Types<OnThreads, OnPool, OnSimulation>;
inline const std::vector<const char*> kExecutorNames = {"threads", "pool", "simulated"};

struct ExecutorNames {
  template <class T>
  static std::string GetName(int) {
    return std::string(typename T::Executor().name());
  }
};

/// Waits for a signal that must come: a lost wake-up fails the test instead of hanging it.
inline void await(ExecutionContext& context, Signal& signal) {
  const Deadline guard = Deadline::work(context.clock().monotonic() + std::chrono::seconds(30));
  ASSERT_EQ(context.wait(WaitReason::kInputOrMail, {&signal}, guard), WaitOutcome::kSignalled) << signal.name() << " was never set";
}

/// A signal that outlives whoever waits for it.
inline std::shared_ptr<Signal> makeSignal(const char* name = "test") { return std::make_shared<Signal>(name); }

/// Typed tests on this run one contract on every executor.
template <class T>
struct ExecutorContract : ::testing::Test {
  typename T::Executor executor;

  void run(const std::function<void(ExecutionContext&)>& body) { executor.run("main", body); }
  std::shared_ptr<Actor> spawn(std::string name, std::function<void(ExecutionContext&)> body) {
    return executor.spawn({.name = std::move(name)}, std::move(body));
  }
  /// Starts `body`, cancels it once it has set the signal that it is given, and waits for its end.
  bool endsWhenCancelled(const std::function<void(ExecutionContext&, Signal&)>& body) {
    bool cancelled = false;
    run([&](ExecutionContext& context) {
      auto ready = makeSignal("ready");
      auto actor = spawn("victim", [&, ready](ExecutionContext& own) {
        try {
          body(own, *ready);
        } catch (const TaskCancelled&) {
          cancelled = true;
          throw;
        }
      });
      await(context, *ready);
      actor->cancel();
      await(context, actor->done());
    });
    return cancelled;
  }
};

}  // namespace weir
