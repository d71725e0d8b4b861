// An idle barrier at gate level: one writer thread broadcasts it into N subpartitions, one spinning reader takes it from N channels of a
// gate, lets them go on and answers. What `weir bench barrier` measures, against a ring per channel, in turn.
#include "support/job.h"
#include "weir/cli/barrier_latency.h"

namespace weir::bench {
namespace {

constexpr Nanos kBudget = Millis(kForNumbers ? 300 : 1);

double idleNanos(int32_t channels, bool unaligned) {
  ThreadExecutor executor;
  const BarrierCase which{.channels = channels, .unaligned = unaligned, .backPressure = false, .spinning = true};
  return static_cast<double>(measureBarrier(executor, which, kBudget).quantile(0.5));
}

void idleBarrier(benchmark::State& state) {
  const auto channels = static_cast<int32_t>(state.range(0));
  Pairs pairs;
  for (auto _ : state) {
    const double rings = static_cast<double>(measureRings(channels, kBudget / 4).quantile(0.5));
    const double weir = idleNanos(channels, state.range(1) != 0);
    pairs.add(weir, rings);
    state.SetIterationTime(weir / 1e9);
    state.counters["ns_per_channel"] = weir / channels;
  }
  pairs.report(state, "ns", "rings_ns");
}
BENCHMARK(idleBarrier)->ArgNames({"channels", "unaligned"})->ArgsProduct({{1, 16, 128, 1024}, {0, 1}})->Iterations(5)->UseManualTime();

/// What each channel from the 17th to the 1024th adds.
void addedChannel(benchmark::State& state) {
  std::vector<double> added;
  for (auto _ : state) {
    const double few = idleNanos(16, state.range(0) != 0), many = idleNanos(1024, state.range(0) != 0);
    added.push_back((many - few) / (1024 - 16));
    state.SetIterationTime(std::max(0.0, many - few) / 1e9);
  }
  state.counters["ns_per_channel"] = median(added);
  state.counters["ns_max"] = *std::max_element(added.begin(), added.end());
}
BENCHMARK(addedChannel)->ArgName("unaligned")->Arg(0)->Arg(1)->Iterations(5)->UseManualTime();

}  // namespace
}  // namespace weir::bench
