// Keyed running sum of string keys, exactly once, a checkpoint of the heap state every second: through an exchange and chained, against
// the limits of the same shape taken in turn. And what checkpoints every 100 ms, unaligned ones, and the trace of barriers take from the
// rate.
#include "support/checkpoints.h"
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

/// Two ways to run the two tasks, in turn; each goes first every other time. The ratio is that of the rates.
template <class Run>
void inTurn(benchmark::State& state, const Run& with, const Run& without, const char* withoutName) {
  Jobs jobs;
  const auto input = std::make_shared<const KeyedInput>();
  Pairs pairs;
  bool withFirst = false;
  for (auto _ : state) {
    double rateWith = 0;
    if (withFirst) rateWith = with(jobs, input);
    const double rateWithout = without(jobs, input);
    if (!withFirst) rateWith = with(jobs, input);
    withFirst = !withFirst;
    state.SetIterationTime(static_cast<double>(kRounds * KeyedInput::period()) / rateWith / 1e6);
    pairs.add(rateWith, rateWithout);
  }
  pairs.report(state, "Mrec_s", withoutName);
  state.SetLabel("executor: " + jobs.executor());
}
/// `rounds` of the input with a checkpoint every `interval`.
struct TwoTasks {
  int64_t rounds;
  std::string interval;
  std::function<void(StreamExecutionEnvironment&)> also = nullptr;
  double operator()(Jobs& jobs, const std::shared_ptr<const KeyedInput>& input) const {
    return runKeyedSum(jobs, input, Shape::kTwoTasks, rounds, interval, also);
  }
};

void checkpointEvery100Ms(benchmark::State& state) {
  inTurn(state, TwoTasks{kRounds, "100 ms"}, TwoTasks{kRounds, ""}, "without_Mrec_s");
}
BENCHMARK(checkpointEvery100Ms)->Iterations(kForNumbers ? 10 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

/// What it costs to have unaligned checkpoints enabled, with one a second; without: aligned ones.
void unalignedEverySecond(benchmark::State& state) {
  const auto unaligned = [](StreamExecutionEnvironment& env) { env.configure("execution.checkpointing.unaligned.enabled", "true"); };
  constexpr int64_t kLong = kRounds * (kForNumbers ? 5 : 1);
  inTurn(state, TwoTasks{kLong, "1 s", unaligned}, TwoTasks{kLong, "1 s"}, "aligned_Mrec_s");
}
BENCHMARK(unalignedEverySecond)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

/// What it costs to write down the way of every barrier, with ten a second.
void barrierTrace(benchmark::State& state) {
  ScratchFolder folder;
  const auto traced = [&](StreamExecutionEnvironment& env) { env.configure("weir.trace.path", folder.path() + "/trace"); };
  inTurn(state, TwoTasks{kRounds, "100 ms", traced}, TwoTasks{kRounds, "100 ms"}, "without_Mrec_s");
}
BENCHMARK(barrierTrace)->Iterations(kForNumbers ? 10 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
