// Windows in event time: tumblingWindow and slidingWindow of flink-benchmarks, as whole jobs through an exchange, against the limit of
// fixed records (a hash map behind a ring, without timestamps).
//
// Expected: a record is 29 bytes on the wire instead of the limit's 16 (length, tag, timestamp), each takes a look-up of key and window
// instead of key alone, and results are one per key and window: 0.3 of the limit or more.
#include "limits/common.hpp"
#include "support/job.h"
#include "support/keyed_sum_limit.h"
#include "weir/operators/sinks.h"

namespace weir::bench {
namespace {

/// flink-benchmarks: (int, long) records; here two longs, as in the limit.
struct Tuple {
  int64_t key = 0;
  int64_t value = 0;
  WEIR_FIELDS(key, value)
};
constexpr int64_t kKeys = 1000;
constexpr int64_t kRecords = kForNumbers ? 10'000'000 : 100'000;

/// Sums what all windows say, and notes when the last of them has come.
class TotalSink {
 public:
  struct Seen {
    std::atomic<uint64_t> first{0};
    alignas(128) int64_t sum = 0;
    uint64_t last = 0;
  };
  TotalSink(std::shared_ptr<Seen> seen, int64_t windowsPerRecord) : seen_(std::move(seen)), expected_(kRecords * windowsPerRecord) {}
  std::unique_ptr<StreamOperator> operator()(OperatorSetup setup) const {
    return std::make_unique<BatchSinkOperator<Tuple, TotalSink>>(std::move(setup), *this);
  }
  void invoke(std::span<StreamRecord<Tuple>> records) {
    for (const auto& record : records) seen_->sum += record.value.value;
    if (seen_->sum == expected_) seen_->last = now_ns();
  }

 private:
  std::shared_ptr<Seen> seen_;
  int64_t expected_;
};

/// M records/s from the first record that the source makes to the last result. Ends the process if the sums are wrong.
double runWindows(Jobs& jobs, const WindowAssignerResult& assigner, int64_t windowsPerRecord) {
  auto seen = std::make_shared<TotalSink::Seen>();
  StreamExecutionEnvironment env;
  env.setParallelism(1);
  auto source = env.fromGenerator(kRecords, [seen](int64_t index) {
    if (index == 0) seen->first.store(now_ns(), std::memory_order_relaxed);
    return Tuple{index % kKeys, 1};
  });
  // Timestamps are 1 ms apart; a watermark every 200 ms of processing time, as in Flink.
  source
      .assignTimestampsAndWatermarks(WatermarkStrategy::forMonotonousTimestamps().withTimestampAssigner(
          [time = int64_t{0}](const Tuple&) mutable { return time++; }))
      .keyBy(&Tuple::key)
      .window(assigner)
      .sum(&Tuple::value)
      .sinkTo("Total", Batching::kBatches, TotalSink(seen, windowsPerRecord));
  jobs.run(env, [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
    context.wait(WaitReason::kInputOrMail, {&master.done()});
  });
  if (seen->sum != kRecords * windowsPerRecord) Jobs::exitWith("the sums are wrong");
  return static_cast<double>(kRecords) / static_cast<double>(seen->last - seen->first.load()) * 1e3;
}

void windows(benchmark::State& state, const WindowAssignerResult& assigner, int64_t windowsPerRecord) {
  Jobs jobs;
  Pairs pairs;
  double rate = 0;
  for (auto _ : state) {
    const auto atMost = fixedSumOfTwoThreads(40'000'000, kKeys);
    rate = runWindows(jobs, assigner, windowsPerRecord);
    state.SetIterationTime(static_cast<double>(kRecords) / rate / 1e6);
    if (atMost) pairs.add(rate, *atMost);
  }
  if (kForNumbers) pairs.report(state, "Mrec_s", "limit_Mrec_s");
  state.SetItemsProcessed(state.iterations() * kRecords);
  state.SetLabel("executor: " + jobs.executor());
}
void tumblingWindow(benchmark::State& state) { windows(state, TumblingEventTimeWindows::of(Millis(10'000'000)), 1); }
void tumblingWindow100s(benchmark::State& state) { windows(state, TumblingEventTimeWindows::of(Millis(100'000)), 1); }
void slidingWindow(benchmark::State& state) { windows(state, SlidingEventTimeWindows::of(Millis(10'000'000), Millis(1'000'000)), 10); }
BENCHMARK(tumblingWindow)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(tumblingWindow100s)->Iterations(kForNumbers ? 5 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(slidingWindow)->Iterations(kForNumbers ? 3 : 1)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir::bench
