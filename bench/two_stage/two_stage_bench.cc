// Salted two-stage sum of long keys: half of the records on one key, against its own uniform case, taken in turn. What stage one sends on
// is counted and held against one accumulator per key, flush and subtask.
#include <map>

#include "limits/common.hpp"
#include "support/job.h"
#include "weir/aggregate/numbers.h"
#include "weir/api/aggregated_stream.h"

namespace weir::bench {
namespace {

constexpr int64_t kRecords = kForNumbers ? 16'000'000 : 20'000;
constexpr int64_t kKeys = 1'000;
constexpr int64_t kFlushRecords = 100'000;
constexpr int32_t kStageOne = 2;

struct Pair {
  int64_t key = 0, value = 0;
  WEIR_FIELDS(key, value)
};
int64_t keyOf(int64_t number, bool hot) {
  const auto mixed = static_cast<int64_t>(static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15 >> 33);
  return hot && mixed % 2 == 0 ? 0 : mixed / 2 % kKeys;
}

/// What the sink sees: one task.
struct Seen {
  uint64_t first = 0;
  int64_t shipped = 0;
  std::map<int64_t, int64_t> last;
};
struct Measured {
  double megaRecords;  ///< a second
  int64_t shipped;
};

/// From the first record of the source to the end of the job. Ends the process if the sums are wrong.
Measured run(Jobs& jobs, bool hot) {
  auto seen = std::make_shared<Seen>();
  StreamExecutionEnvironment env;
  env.setParallelism(1);
  TwoStageOptions<int64_t> options{.salts = 16 * kStageOne};
  options.flush = {.records = kFlushRecords, .interval = Millis(0)};
  auto sums = env.fromGenerator(kRecords,
                                [seen, hot](int64_t number) {
                                  if (number == 0) seen->first = now_ns();
                                  return Pair{keyOf(number, hot), 1};
                                })
                  .keyBy(&Pair::key)
                  .aggregate(on(&Pair::value, Sum<int64_t>()))
                  .twoStage(options)
                  .setParallelism(kStageOne);
  sums.addSink([seen](const std::pair<int64_t, int64_t>& sum) {
        ++seen->shipped;
        seen->last[sum.first] = sum.second;
      })
      .setParallelism(1);
  jobs.run(env,
           [](ExecutionContext& context, MiniCluster&, JobMaster& master) { context.wait(WaitReason::kInputOrMail, {&master.done()}); });
  const uint64_t end = now_ns();
  int64_t all = 0;
  for (const auto& [key, sum] : seen->last) all += sum;
  if (all != kRecords) Jobs::exitWith("the sums are wrong");
  return {static_cast<double>(kRecords) / static_cast<double>(end - seen->first) * 1e3, seen->shipped};
}

void saltedTwoStageSum(benchmark::State& state) {
  Jobs jobs;
  Pairs pairs;
  int64_t shipped = 0;
  for (auto _ : state) {
    const Measured uniform = run(jobs, false), hot = run(jobs, true);
    pairs.add(hot.megaRecords, uniform.megaRecords);
    shipped = std::max(hot.shipped, uniform.shipped);
    state.SetIterationTime(static_cast<double>(kRecords) / hot.megaRecords / 1e6);
  }
  pairs.report(state, "hot_Mrec_s", "uniform_Mrec_s");
  // A subtask flushes once its records are enough, and at the end; which of them gets how many hangs on the salts.
  const auto flushes = static_cast<double>(kRecords) / kFlushRecords + kStageOne;
  state.counters["shipped"] = static_cast<double>(shipped);
  state.counters["shipped_over_bound"] = static_cast<double>(shipped) / (kKeys * flushes);
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(saltedTwoStageSum)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
