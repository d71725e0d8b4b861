#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "weir/keyed/heap_keyed_state_backend.h"

namespace weir {
namespace {

constexpr size_t kRecords = 1 << 18;
constexpr size_t kBatch = 64;

/// A running sum per key over string keys: what the state costs, without the record's way to it.
struct RunningSum {
  explicit RunningSum(int64_t keys) : backend({{0, 127}, 128, Random(1)}), records(kRecords) {
    Random random(2);
    for (auto& key : records) key = "user-" + std::to_string(random.below(static_cast<uint64_t>(keys)));
    for (int64_t i = 0; i < keys; ++i) {
      backend.setCurrentKey("user-" + std::to_string(i));
      sum.slot() = 0;
    }
  }
  void batch(size_t at) {
    const std::string* keys[kBatch];
    int64_t* values[kBatch];
    for (size_t i = 0; i < kBatch; ++i) keys[i] = &records[at + i];
    slots.get(keys, values);
    for (size_t i = 0; i < kBatch; ++i) *values[i] += 1;
  }

  HeapKeyedStateBackend<std::string> backend;
  ValueSlots<std::string, int64_t> slots = backend.valueSlots(ValueStateDescriptor<int64_t>{"sum"}).value();
  ValueState<int64_t> sum = backend.state(ValueStateDescriptor<int64_t>{"sum"}).value();
  std::vector<std::string> records;
};

void BM_BatchesOf64(benchmark::State& state) {
  RunningSum sum(state.range(0));
  size_t at = 0;
  for (auto _ : state) {
    sum.batch(at);
    at = (at + kBatch) % kRecords;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kBatch));
}
BENCHMARK(BM_BatchesOf64)->Arg(10'000)->Arg(1'000'000);

void BM_RecordByRecord(benchmark::State& state) {
  RunningSum sum(state.range(0));
  size_t at = 0;
  for (auto _ : state) {
    sum.backend.setCurrentKey(sum.records[at]);
    sum.sum.slot() += 1;
    at = (at + 1) % kRecords;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RecordByRecord)->Arg(10'000)->Arg(1'000'000);

/// The synchronous part of a snapshot, while nothing else runs.
void BM_PrepareSnapshot(benchmark::State& state) {
  RunningSum sum(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(sum.backend.prepareSnapshot(1, {}));
}
BENCHMARK(BM_PrepareSnapshot)->Arg(10'000)->Arg(1'000'000);

/// A pass over all records that copies every chunk once, because a snapshot reads them: against BM_BatchesOf64 what a snapshot costs the
/// task.
void BM_PassBesideASnapshot(benchmark::State& state) {
  RunningSum sum(state.range(0));
  for (auto _ : state) {
    const auto job = sum.backend.prepareSnapshot(1, {});
    for (size_t at = 0; at < kRecords; at += kBatch) sum.batch(at);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kRecords));
}
BENCHMARK(BM_PassBesideASnapshot)->Arg(10'000)->Arg(1'000'000);

}  // namespace
}  // namespace weir
