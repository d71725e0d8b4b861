// What it costs to wait, to be woken and to start, on each executor. One item is one wait that was ended by another actor, or one actor.
#include <benchmark/benchmark.h>

#include "weir/base/pool_executor.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"

namespace weir {
namespace {

/// Two actors that wake each other in turn. Spinning threads need a free core each.
void pingPong(benchmark::State& state, Executor& executor) {
  struct Table {
    Signal there{"there"}, back{"back"};
    bool ended = false;
  };
  executor.run("ping", [&](ExecutionContext& context) {
    auto table = std::make_shared<Table>();
    auto pong = executor.spawn({.name = "pong"}, [table](ExecutionContext& own) {
      for (;;) {
        own.wait(WaitReason::kInputOrMail, {&table->there});
        table->there.reset();
        if (table->ended) return;
        table->back.set();
      }
    });
    for (auto _ : state) {
      context.progress();
      table->there.set();
      context.wait(WaitReason::kInputOrMail, {&table->back});
      table->back.reset();
    }
    table->ended = true;
    table->there.set();
    context.wait(WaitReason::kInputOrMail, {&pong->done()});
  });
  state.SetItemsProcessed(2 * static_cast<int64_t>(state.iterations()));
}
void pingPongOfThreads(benchmark::State& state) {
  ThreadExecutor executor;
  pingPong(state, executor);
}
void pingPongOfSleepingThreads(benchmark::State& state) {
  ThreadExecutor executor({.spin = Nanos::zero()});
  pingPong(state, executor);
}
void pingPongInPool(benchmark::State& state) {
  PoolExecutor executor({.workers = static_cast<int>(state.range(0))});
  pingPong(state, executor);
}
void pingPongInSimulation(benchmark::State& state) {
  SimulatedExecutor executor;
  pingPong(state, executor);
}
BENCHMARK(pingPongOfThreads)->UseRealTime();
BENCHMARK(pingPongOfSleepingThreads)->UseRealTime();
BENCHMARK(pingPongInPool)->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK(pingPongInSimulation)->UseRealTime();

/// Sets a signal whose waiter is not parked: what a producer pays while its consumer is busy.
void setUnparked(benchmark::State& state) {
  Signal signal;
  for (auto _ : state) {
    signal.set();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(setUnparked);

/// A thousand actors that take turns under simulation; an item is a step.
void interleave(benchmark::State& state) {
  SimulatedExecutor executor;
  executor.run("main", [&](ExecutionContext& context) {
    for (int i = 1; i < 1'000; ++i) {
      executor.spawn({.name = "other"}, [](ExecutionContext& own) {
        while (!own.isCancelled()) {
          own.progress();
          own.interleave("turn");
        }
      });
    }
    for (auto _ : state) context.interleave("turn");
  });
  state.SetItemsProcessed(static_cast<int64_t>(executor.steps()));
}
BENCHMARK(interleave)->UseRealTime();

/// Twelve tasks, as a small region has, started and awaited: what a restart pays for its actors.
template <class SomeExecutor>
void restartOfARegion(benchmark::State& state) {
  SomeExecutor executor;
  executor.run("main", [&](ExecutionContext& context) {
    for (auto _ : state) {
      context.progress();
      std::vector<std::shared_ptr<Actor>> tasks;
      for (int i = 0; i < 12; ++i) tasks.push_back(executor.spawn({.name = "task"}, [](ExecutionContext&) {}));
      for (auto& task : tasks) context.wait(WaitReason::kInputOrMail, {&task->done()});
    }
  });
  state.SetItemsProcessed(12 * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(restartOfARegion<ThreadExecutor>)->UseRealTime();
BENCHMARK(restartOfARegion<PoolExecutor>)->UseRealTime();
BENCHMARK(restartOfARegion<SimulatedExecutor>)->UseRealTime();

/// A whole run with twelve actors that each wait a hundred times, on a fresh executor: what a seed of a small job costs at least.
void smallSeed(benchmark::State& state) {
  uint64_t seed = 0;
  for (auto _ : state) {
    SimulatedExecutor executor({.seed = ++seed});
    executor.run("main", [&](ExecutionContext& context) {
      std::vector<std::shared_ptr<Actor>> tasks;
      for (int i = 0; i < 12; ++i) {
        tasks.push_back(executor.spawn({.name = "task"}, [](ExecutionContext& own) {
          for (int n = 0; n < 100; ++n) own.wait(WaitReason::kInputOrMail, {}, Deadline::work(own.clock().monotonic() + Millis(1)));
        }));
      }
      for (auto& task : tasks) context.wait(WaitReason::kInputOrMail, {&task->done()});
    });
  }
}
BENCHMARK(smallSeed)->UseRealTime();

}  // namespace
}  // namespace weir
