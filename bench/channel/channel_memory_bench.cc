// What a channel costs that holds no buffer: its subpartition, its end in the gate and the deserializer of the reading task, as the
// allocator counts them.
#include <malloc.h>

#include "support/job.h"
#include "weir/exchange/local_input_channel.h"
#include "weir/exchange/result_partition_manager.h"
#include "weir/exchange/single_input_gate.h"
#include "weir/record/record_deserializer.h"

namespace weir::bench {
namespace {

size_t allocated() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void memoryOfAnEmptyChannel(benchmark::State& state) {
  const auto channels = static_cast<int32_t>(state.range(0));
  const ResultPartitionID id{{IntermediateDataSetID::of(0, 1), 0}, {ExecutionGraphID::of(0, 1), JobVertexID::of(0, 1), 0, 0}};
  for (auto _ : state) {
    const size_t before = allocated();
    const auto manager = std::make_shared<ResultPartitionManager>();
    const auto partition = ResultPartition::create({.id = id, .owningTask = "Source (1/1)#0", .subpartitions = channels});
    manager->registerResultPartition(partition);
    const size_t written = allocated();
    SingleInputGate gate("Sink (1/1)#0", 0);
    std::vector<std::unique_ptr<InputChannel>> inputs;
    for (int32_t i = 0; i < channels; ++i)
      inputs.push_back(std::make_unique<LocalInputChannel>(
          InputChannelDescriptor{.info = {0, i}, .partition = id, .subpartition = static_cast<uint32_t>(i)}, manager));
    gate.setInputChannels(std::move(inputs));
    (void)gate.requestPartitions();
    const size_t connected = allocated();
    std::vector<RecordDeserializer> deserializers;
    for (int32_t i = 0; i < channels; ++i) deserializers.emplace_back("channel " + std::to_string(i) + " of gate 0 of Sink (1/1)#0");
    const size_t all = allocated();
    const auto perChannel = [&](size_t from, size_t to) { return static_cast<double>(to - from) / channels; };
    state.counters["bytes"] = perChannel(before, all);
    state.counters["writer"] = perChannel(before, written);
    state.counters["gate"] = perChannel(written, connected);
    state.counters["deserializer"] = perChannel(connected, all);
  }
}
BENCHMARK(memoryOfAnEmptyChannel)->Arg(16)->Arg(1024)->Arg(4096)->Iterations(1);

}  // namespace
}  // namespace weir::bench
