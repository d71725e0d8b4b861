// An idle aligned barrier at gate level: one writer thread broadcasts it into N subpartitions, one spinning reader takes it from N channels
// of a gate, lets them go on and answers. Against a ring per channel, in turn.
#include "limits/wake_up.hpp"
#include "support/job.h"
#include "weir/exchange/local_input_channel.h"
#include "weir/exchange/result_partition_manager.h"
#include "weir/exchange/single_input_gate.h"

namespace weir::bench {
namespace {

class BarrierExchange {
 public:
  BarrierExchange(Executor& executor, int32_t channels) : executor_(executor) {
    partition_ = ResultPartition::create({.id = id_, .owningTask = "writer", .subpartitions = channels});
    manager_->registerResultPartition(partition_);
    std::vector<std::unique_ptr<InputChannel>> inputs;
    for (int32_t i = 0; i < channels; ++i)
      inputs.push_back(std::make_unique<LocalInputChannel>(
          InputChannelDescriptor{.info = {0, i}, .partition = id_, .subpartition = static_cast<uint32_t>(i)}, manager_));
    gate_.setInputChannels(std::move(inputs));
    (void)gate_.requestPartitions();
  }

  /// Nanoseconds from the broadcast to the answer, `rounds` times.
  std::vector<uint64_t> run(int64_t rounds) {
    std::vector<uint64_t> times;
    executor_.run("writer", [&](ExecutionContext& context) {
      const auto reader = executor_.spawn({.name = "reader"}, [&](ExecutionContext&) { read(rounds); });
      pin(0);
      for (int64_t n = 1; n <= rounds; ++n) {
        const uint64_t start = now_ns();
        partition_->broadcastEvent(CheckpointBarrier{n, 0, CheckpointOptions{}});
        while (answered_.v.load(std::memory_order_acquire) != static_cast<uint32_t>(n)) _mm_pause();
        times.push_back(now_ns() - start);
      }
      context.wait(WaitReason::kInputOrMail, {&reader->done()});
    });
    return times;
  }

 private:
  void read(int64_t rounds) {
    pin(1);
    const int32_t channels = gate_.numberOfChannels();
    for (int64_t n = 1; n <= rounds; ++n) {
      for (int32_t got = 0; got < channels;) {
        if (gate_.pollNext())
          ++got;
        else
          _mm_pause();
      }
      for (int32_t i = 0; i < channels; ++i) gate_.channel(i).resumeConsumption();
      answered_.v.store(static_cast<uint32_t>(n), std::memory_order_release);
    }
  }

  Executor& executor_;
  const ResultPartitionID id_{{IntermediateDataSetID::of(0, 1), 0}, {ExecutionGraphID::of(0, 1), JobVertexID::of(0, 1), 0, 0}};
  const std::shared_ptr<ResultPartitionManager> manager_ = std::make_shared<ResultPartitionManager>();
  std::shared_ptr<ResultPartition> partition_;
  SingleInputGate gate_{"reader", 0};
  A answered_;
};

void idleBarrier(benchmark::State& state) {
  const auto channels = static_cast<int32_t>(state.range(0));
  const int rounds = std::max(20, (kForNumbers ? 1'000'000 : 1'000) / (channels + 20));
  Pairs pairs;
  for (auto _ : state) {
    ThreadExecutor executor;
    BarrierExchange exchange(executor, channels);
    const double floor = quantile(barrier_ns(static_cast<size_t>(channels), false, rounds), 0.5);
    const double weir = quantile(exchange.run(rounds), 0.5);
    pairs.add(weir, floor);
    state.SetIterationTime(weir / 1e9);
    state.counters["ns_per_channel"] = weir / channels;
  }
  pairs.report(state, "ns", "rings_ns");
}
BENCHMARK(idleBarrier)->Arg(1)->Arg(16)->Arg(128)->Arg(1024)->Iterations(5)->UseManualTime();

}  // namespace
}  // namespace weir::bench
