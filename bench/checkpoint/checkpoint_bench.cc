// A whole checkpoint of a job that does nothing, from its trigger to its completion on the JobMaster, in files: 3 stages x 4 against the
// smallest file and three wake-ups of sleeping threads; N source tasks into one, for what each added task costs.
#include "limits/create_rename.hpp"
#include "limits/wake_up.hpp"
#include "support/checkpoints.h"

namespace weir::bench {
namespace {

constexpr int kCheckpoints = kForNumbers ? 50 : 3;

StreamExecutionEnvironment environment(const ScratchFolder& folder, bool sync) {
  StreamExecutionEnvironment env;
  env.configure("execution.checkpointing.interval", "1 h")
      .configure("execution.checkpointing.dir", folder.path())
      .configure("weir.checkpoint.sync", sync ? "true" : "false");
  return env;
}
/// One record a day.
DataStream<int64_t> idleSource(StreamExecutionEnvironment& env) {
  return env.fromGenerator(1'000'000, [](int64_t index) { return index; }, 1e-5);
}

/// Nanoseconds of each checkpoint; in between all `tasks` hear of its completion and fall asleep.
std::vector<uint64_t> takeCheckpoints(Jobs& jobs, const StreamExecutionEnvironment& env, int tasks) {
  const Nanos pause = Millis(5) + tasks * std::chrono::microseconds(100);
  std::vector<uint64_t> times;
  jobs.run(env, [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
    awaitRunning(context, master);
    for (int i = -2; i < kCheckpoints; ++i) {
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + pause));
      const uint64_t took = takeCheckpoint(context, master).nanos;
      if (i >= 0) times.push_back(took);  // the first ones make folders and threads
    }
  });
  return times;
}

void threeStagesOfFour(benchmark::State& state) {
  const bool sync = state.range(0) != 0;
  Jobs jobs;
  Pairs pairs;
  for (auto _ : state) {
    ScratchFolder folder;
    cpu_set_t cpus;
    pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus);
    const double file = quantile(create_rename_ns(folder.path() + "/f", 300), 0.5);
    const double wakeUp = quantile(futex_ns(2'000), 0.5);
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    auto env = environment(folder, sync);
    env.setParallelism(4);
    idleSource(env).rebalance().map([](int64_t x) { return x; }).rebalance().addSink([](int64_t) {});
    const auto times = takeCheckpoints(jobs, env, 12);
    const double weir = quantile(times, 0.5);
    pairs.add(weir / 1e3, (file + 3 * wakeUp) / 1e3);
    state.SetIterationTime(weir / 1e9);
    state.counters["file_us"] = file / 1e3;
    state.counters["wake_up_us"] = wakeUp / 1e3;
    state.counters["p99_us"] = quantile(times, 0.99) / 1e3;
  }
  pairs.report(state, "us", "limit_us");
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(threeStagesOfFour)->ArgName("sync")->Arg(0)->Arg(1)->Iterations(5)->UseManualTime()->Unit(benchmark::kMicrosecond);

/// us_per_task: what each task above 16 adds. The worker pool is what a job of so many subtasks is for.
void sourcesIntoOne(benchmark::State& state) {
  const auto sources = static_cast<int32_t>(state.range(0));
  Jobs jobs = state.range(1) ? Jobs(std::make_unique<PoolExecutor>()) : Jobs();
  const auto measure = [&](int32_t parallelism) {
    ScratchFolder folder;
    auto env = environment(folder, false);
    auto source = idleSource(env);
    source.setParallelism(parallelism);
    source.rebalance().addSink([](int64_t) {}).setParallelism(1);
    return quantile(takeCheckpoints(jobs, env, parallelism + 1), 0.5) / 1e3;
  };
  std::vector<double> few, many, perTask;
  for (auto _ : state) {
    few.push_back(measure(16));
    many.push_back(measure(sources));
    perTask.push_back((many.back() - few.back()) / (sources - 16));
    state.SetIterationTime(many.back() / 1e6);
  }
  state.counters["us"] = median(many);
  state.counters["us_of_16"] = median(few);
  state.counters["us_per_task"] = median(perTask);
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(sourcesIntoOne)
    ->ArgNames({"sources", "pool"})
    ->ArgsProduct({{128, 512}, {0, 1}})
    ->Iterations(kForNumbers ? 5 : 1)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

/// A region of twelve tasks without state, restarted without delay: from the failure of one task until all run again.
void restartOfARegion(benchmark::State& state) {
  Jobs jobs;
  StreamExecutionEnvironment env;
  env.configure("restart-strategy.type", "fixed-delay")
      .configure("restart-strategy.fixed-delay.attempts", "1000000")
      .configure("restart-strategy.fixed-delay.delay", "0 ms");
  env.setParallelism(4);
  idleSource(env).rebalance().map([](int64_t x) { return x; }).name("victim").rebalance().addSink([](int64_t) {});
  std::vector<uint64_t> times;
  jobs.run(env, [&](ExecutionContext& context, MiniCluster& cluster, JobMaster& master) {
    awaitRunning(context, master);
    int64_t restarts = 0;
    for (auto _ : state) {
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + Millis(5)));
      const uint64_t start = now_ns();
      if (!cluster.failSubtask(context, "victim", 1, std::make_shared<Throwable>("java.lang.Exception", "benchmark")))
        Jobs::exitWith("there was nothing to fail");
      ++restarts;
      for (;;) {
        const auto reply = master.requestSnapshot();
        context.wait(WaitReason::kInputOrMail, {&reply->ready()});
        const JobSnapshot now = reply->take();
        if (now.restarts == restarts && now.status == JobStatus::kRunning &&
            std::all_of(now.tasks.begin(), now.tasks.end(), [](const auto& t) { return t.current.state == ExecutionState::kRunning; }))
          break;
        context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + std::chrono::microseconds(100)));
      }
      times.push_back(now_ns() - start);
      state.SetIterationTime(static_cast<double>(times.back()) / 1e9);
    }
  });
  state.counters["ms"] = quantile(times, 0.5) / 1e6;
  state.counters["p99_ms"] = quantile(times, 0.99) / 1e6;
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(restartOfARegion)->Iterations(kForNumbers ? 50 : 2)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
