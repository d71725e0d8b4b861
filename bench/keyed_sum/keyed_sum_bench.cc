// Keyed running sum of string keys, exactly once, a checkpoint of the heap state every second: through an exchange and chained, against
// the limits of the same shape taken in turn. And what checkpoints every 100 ms take from the rate.
#include "support/keyed_sum_job.h"
#include "support/keyed_sum_limit.h"

namespace weir::bench {
namespace {

constexpr int64_t kRounds = kForNumbers ? 24 : 1;
constexpr uint64_t kLimitRecords = 8'000'000;

template <class Limit>
void keyedSum(benchmark::State& state, Shape shape, Limit limit) {
  Jobs jobs;
  const auto input = std::make_shared<const KeyedInput>();
  Pairs pairs;
  double rate = 0;
  for (auto _ : state) {
    const auto atMost = limit(kLimitRecords);
    rate = runKeyedSum(jobs, input, shape, kRounds, "1 s");
    state.SetIterationTime(static_cast<double>(kRounds * KeyedInput::period()) / rate / 1e6);
    if (atMost) pairs.add(rate, *atMost);
  }
  if (kForNumbers) pairs.report(state, "Mrec_s", "limit_Mrec_s");
  state.SetItemsProcessed(state.iterations() * kRounds * KeyedInput::period());
  state.SetLabel("executor: " + jobs.executor());
}
void twoTasks(benchmark::State& state) { keyedSum(state, Shape::kTwoTasks, keyedSumOfTwoThreads); }
void chained(benchmark::State& state) { keyedSum(state, Shape::kChained, keyedSumChained); }
BENCHMARK(twoTasks)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(chained)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

/// The ratio is the rate with checkpoints against the rate without.
void checkpointEvery100Ms(benchmark::State& state) {
  Jobs jobs;
  const auto input = std::make_shared<const KeyedInput>();
  Pairs pairs;
  bool withFirst = false;
  for (auto _ : state) {
    double with = 0;
    if (withFirst) with = runKeyedSum(jobs, input, Shape::kTwoTasks, kRounds, "100 ms");
    const double without = runKeyedSum(jobs, input, Shape::kTwoTasks, kRounds, "");
    if (!withFirst) with = runKeyedSum(jobs, input, Shape::kTwoTasks, kRounds, "100 ms");
    withFirst = !withFirst;
    state.SetIterationTime(static_cast<double>(kRounds * KeyedInput::period()) / with / 1e6);
    pairs.add(with, without);
  }
  pairs.report(state, "Mrec_s", "without_Mrec_s");
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(checkpointEvery100Ms)->Iterations(kForNumbers ? 10 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
