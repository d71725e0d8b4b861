// Checkpoints of a job whose queues are full: Flink's checkpointSingleInput and checkpointMultiInput. Source, map, slow sink, two
// rebalances, parallelism 4, segments of 8 KiB; checkpoints are triggered by hand, in files, without sync. Against the least that the bytes
// in flight take: as long as a new file takes so many.
#include <array>

#include "limits/file_write.hpp"
#include "support/checkpoints.h"

namespace weir::bench {
namespace {

using std::chrono::microseconds;

constexpr int32_t kParallelism = 4;
/// The configured time in flight: a target per gate, and there are two on the way.
constexpr double kDebloatTargetMs = 2 * 300;

enum Mode : int64_t { ALIGNED, UNALIGNED, UNALIGNED_1 };
enum SinkCost : int64_t { kSpins200us, kParks200us, kParks10ms };

struct Payload {
  std::string bytes;
  WEIR_FIELDS(bytes)
};

struct CoMap {
  void processElement1(const Payload& record, ProcessContext&, Collector<Payload>& out) { out.collect(record); }
  void processElement2(const Payload& record, ProcessContext&, Collector<Payload>& out) { out.collect(record); }
};

DataStream<Payload> endlessSource(StreamExecutionEnvironment& env, size_t size) {
  const auto record = std::make_shared<const Payload>(Payload{std::string(size, 'x')});
  return env.fromGenerator(int64_t{1} << 60, [record](int64_t) -> const Payload& { return *record; });
}

StreamExecutionEnvironment environment(const ScratchFolder& folder, Mode mode, int64_t taskManagers) {
  StreamExecutionEnvironment env;
  env.setParallelism(kParallelism);
  env.configure("execution.checkpointing.interval", "1 h")
      .configure("execution.checkpointing.dir", folder.path())
      .configure("weir.checkpoint.sync", "false")
      .configure("minicluster.number-of-taskmanagers", std::to_string(taskManagers))
      .configure("taskmanager.memory.segment-size", "8 kb")
      .configure("execution.checkpointing.unaligned.enabled", mode == ALIGNED ? "false" : "true")
      .configure("execution.checkpointing.aligned-checkpoint-timeout", mode == UNALIGNED_1 ? "1 ms" : "0 ms");
  if (mode == ALIGNED) {
    env.configure("taskmanager.network.memory.buffer-debloat.enabled", "true")
        .configure("taskmanager.network.memory.buffer-debloat.target", "300 ms")
        .configure("taskmanager.network.memory.buffer-debloat.period", "200 ms")
        .configure("taskmanager.network.memory.buffer-debloat.samples", "5")
        .configure("taskmanager.memory.min-segment-size", "256 b");
  }
  return env;
}

/// Where it is not for numbers a record costs a tenth, so that full queues are worked off in no time.
void slowSink(DataStream<Payload> stream, SinkCost cost) {
  static constexpr std::array<Nanos, 3> kCosts{microseconds(200), microseconds(200), Millis(10)};
  const Nanos perRecord = kCosts[static_cast<size_t>(cost)] / (kForNumbers ? 1 : 10);
  stream.rebalance().addSink([](const Payload&) {}).name("slow").cost(perRecord, cost == kSpins200us ? CostMode::kSpin : CostMode::kSleep);
}

struct Measured {
  double ms = 0, p99Ms = 0, inFlightMb = 0;
};

/// Lets the queues fill, and the sizes of buffers settle; then takes checkpoints.
Measured measure(Jobs& jobs, const StreamExecutionEnvironment& env, Mode mode) {
  const Nanos settling = mode == ALIGNED ? Millis(kForNumbers ? 20'000 : 100) : Millis(kForNumbers ? 2'000 : 100);
  const int rounds = !kForNumbers ? 1 : mode == ALIGNED ? 5 : 20;
  std::vector<uint64_t> times, bytes;
  jobs.run(env, [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
    awaitRunning(context, master);
    sleepFor(context, settling);
    for (int i = 0; i < rounds; ++i) {
      const TakenCheckpoint taken = takeCheckpoint(context, master);
      times.push_back(taken.nanos);
      bytes.push_back(static_cast<uint64_t>(taken.inFlightBytes));
      sleepFor(context, Millis(kForNumbers ? 100 : 1));
    }
  });
  return {quantile(times, 0.5) / 1e6, quantile(times, 0.99) / 1e6, quantile(bytes, 0.5) / 1e6};
}

Measured singleInput(Jobs& jobs, Mode mode, SinkCost cost, int64_t taskManagers = 1) {
  ScratchFolder folder;
  auto env = environment(folder, mode, taskManagers);
  slowSink(endlessSource(env, mode == ALIGNED ? 1 : 1024).rebalance().map([](const Payload& record) { return record; }), cost);
  return measure(jobs, env, mode);
}

Measured multiInput(Jobs& jobs, Mode mode, SinkCost cost) {
  ScratchFolder folder;
  auto env = environment(folder, mode, 1);
  auto first = endlessSource(env, 1).rebalance(), second = endlessSource(env, 1024).rebalance();
  slowSink(first.connect(second).process<Payload>(CoMap()), cost);
  return measure(jobs, env, mode);
}

double fileWriteGbPerSecond() {
  ScratchFolder folder;
  return file_write_gb_s(folder.path() + "/limit", size_t{kForNumbers ? 64 : 1} << 20, 32768, false, false);
}

/// of_goal: against one and a half times the limit and half a millisecond. of_target: against the configured time in flight.
template <class Run>
void shape(benchmark::State& state, const Run& run) {
  const Mode mode = static_cast<Mode>(state.range(0));
  Jobs jobs;
  Pairs pairs;
  std::vector<double> ofGoal, p99, megabytes;
  for (auto _ : state) {
    const double rate = fileWriteGbPerSecond();
    const Measured measured = run(jobs, mode);
    const double limit = mode == ALIGNED ? kDebloatTargetMs : measured.inFlightMb / rate;
    pairs.add(measured.ms, std::max(limit, 1e-6));
    ofGoal.push_back(measured.ms / (1.5 * limit + 0.5));
    p99.push_back(measured.p99Ms);
    megabytes.push_back(measured.inFlightMb);
    state.SetIterationTime(measured.ms / 1e3);
  }
  pairs.report(state, "ms", mode == ALIGNED ? "target_ms" : "limit_ms");
  state.counters["p99_ms"] = median(p99);
  state.counters["in_flight_MB"] = median(megabytes);
  if (mode != ALIGNED) state.counters["of_goal"] = median(ofGoal);
  state.SetLabel("executor: " + jobs.executor());
}

void checkpointSingleInput(benchmark::State& state) {
  shape(state, [&](Jobs& jobs, Mode mode) { return singleInput(jobs, mode, static_cast<SinkCost>(state.range(1)), state.range(2)); });
}
/// mode 0 ALIGNED with debloating, 1 UNALIGNED, 2 UNALIGNED_1; sink 0 spins 200 us a record, 1 parks 200 us, 2 parks 10 ms.
BENCHMARK(checkpointSingleInput)
    ->ArgNames({"mode", "sink", "tms"})
    ->Args({ALIGNED, kSpins200us, 1})
    ->Args({UNALIGNED, kSpins200us, 1})
    ->Args({UNALIGNED, kParks200us, 1})
    ->Args({UNALIGNED, kParks10ms, 1})
    ->Args({UNALIGNED, kSpins200us, 4})
    ->Args({UNALIGNED, kParks10ms, 4})
    ->Args({UNALIGNED_1, kSpins200us, 1})
    ->Args({UNALIGNED_1, kParks10ms, 1})
    ->Iterations(kForNumbers ? 3 : 1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void checkpointMultiInput(benchmark::State& state) {
  shape(state, [&](Jobs& jobs, Mode mode) { return multiInput(jobs, mode, static_cast<SinkCost>(state.range(1))); });
}
BENCHMARK(checkpointMultiInput)
    ->ArgNames({"mode", "sink"})
    ->Args({ALIGNED, kSpins200us})
    ->Args({UNALIGNED, kSpins200us})
    ->Args({UNALIGNED_1, kSpins200us})
    ->Iterations(kForNumbers ? 3 : 1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// The same job aligned with debloating and unaligned, in turn.
void alignedOverUnaligned(benchmark::State& state) {
  const auto cost = static_cast<SinkCost>(state.range(0));
  Jobs jobs;
  Pairs pairs;
  for (auto _ : state) {
    const double aligned = singleInput(jobs, ALIGNED, cost).ms, unaligned = singleInput(jobs, UNALIGNED, cost).ms;
    pairs.add(aligned, unaligned);
    state.SetIterationTime(unaligned / 1e3);
  }
  pairs.report(state, "aligned_ms", "unaligned_ms");
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(alignedOverUnaligned)
    ->ArgName("sink")
    ->Arg(kSpins200us)
    ->Arg(kParks200us)
    ->Iterations(kForNumbers ? 3 : 1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

/// What a slower sink makes of it: a barrier waits for the one record in each of four sinks.
void slowOverFastSink(benchmark::State& state) {
  Jobs jobs;
  Pairs pairs;
  for (auto _ : state) {
    const double slow = singleInput(jobs, UNALIGNED, kParks10ms).ms, fast = singleInput(jobs, UNALIGNED, kParks200us).ms;
    pairs.add(slow, fast);
    state.SetIterationTime(slow / 1e3);
  }
  pairs.report(state, "sink_10ms_ms", "sink_200us_ms");
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(slowOverFastSink)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
