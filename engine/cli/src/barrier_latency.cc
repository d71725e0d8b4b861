#include "weir/cli/barrier_latency.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

#include "limits/wake_up.hpp"
#include "weir/exchange/local_input_channel.h"
#include "weir/exchange/result_partition_manager.h"
#include "weir/exchange/single_input_gate.h"

namespace weir {
namespace {

constexpr int kLeastRounds = 5;
/// More says nothing new, and a spinning writer holds a core all the while.
constexpr int kMostRounds = 20'000;

class BarrierExchange {
 public:
  BarrierExchange(Executor& executor, const BarrierCase& which) : executor_(executor), case_(which) {
    partition_ = ResultPartition::create({.id = id_, .owningTask = "writer", .subpartitions = which.channels});
    manager_->registerResultPartition(partition_);
    std::vector<std::unique_ptr<InputChannel>> inputs;
    for (int32_t i = 0; i < which.channels; ++i)
      inputs.push_back(std::make_unique<LocalInputChannel>(
          InputChannelDescriptor{.info = {0, i}, .partition = id_, .subpartition = static_cast<uint32_t>(i)}, manager_));
    gate_.setInputChannels(std::move(inputs));
    (void)gate_.requestPartitions();
  }

  LatencyHistogram run(Nanos budget) {
    LatencyHistogram times;
    executor_.run("writer", [&](ExecutionContext& context) {
      const auto reader = executor_.spawn({.name = "reader"}, [&](ExecutionContext& own) { read(own); });
      pin(0);
      const Nanos end = context.clock().monotonic() + budget;
      int64_t n = 0;
      do {
        if (case_.backPressure) queueBuffers();
        times.record(sendAndAwait(++n));
        awaitDrained(n);
      } while ((n < kLeastRounds || context.clock().monotonic() < end) && n < kMostRounds);
      open_.store(n + 1, std::memory_order_release);
      opened_.set();
      partition_->finish();
      context.wait(WaitReason::kInputOrMail, {&reader->done()});
    });
    return times;
  }

 private:
  void queueBuffers() {
    const std::vector<uint8_t> bytes(64);
    for (int32_t b = 0; b < BarrierCase::kQueuedBuffers; ++b)
      for (int32_t i = 0; i < case_.channels; ++i)
        partition_->emitRecoveredBuffer(Buffer::copyOf(bytes, DataType::DATA_BUFFER), static_cast<uint32_t>(i));
  }
  int64_t sendAndAwait(int64_t n) {
    CheckpointOptions options;
    if (case_.unaligned) options.alignment = AlignmentType::kUnaligned;
    open_.store(n, std::memory_order_release);
    opened_.set();
    const uint64_t start = now_ns();
    partition_->broadcastEvent(CheckpointBarrier{n, 0, options}, case_.unaligned);
    while (answered_.load(std::memory_order_acquire) != n) _mm_pause();
    return static_cast<int64_t>(now_ns() - start);
  }
  void awaitDrained(int64_t n) const {
    while (drained_.load(std::memory_order_acquire) != n) _mm_pause();
  }

  void read(ExecutionContext& context) {
    pin(1);
    int32_t barriers = 0, buffers = 0;
    const int32_t expected = case_.backPressure ? case_.channels * BarrierCase::kQueuedBuffers : 0;
    for (int64_t n = 1; !gate_.isFinished();) {
      if (case_.backPressure) awaitRound(context, n);
      const auto polled = gate_.pollNext();
      if (!polled) {
        rest(context, gate_.available());
      } else if (polled->isBuffer()) {
        ++buffers;
        work(context);
      } else if (polled->buffer.dataType() != DataType::END_OF_PARTITION && ++barriers == case_.channels) {
        if (!case_.unaligned)
          for (int32_t i = 0; i < case_.channels; ++i) gate_.channel(i).resumeConsumption();
        answered_.store(n, std::memory_order_release);
      }
      if (barriers >= case_.channels && buffers == expected) {
        barriers = buffers = 0;
        drained_.store(n++, std::memory_order_release);
      }
    }
  }
  /// Buffers wait until the barrier is on its way, as those of a slow task do.
  void awaitRound(ExecutionContext& context, int64_t n) {
    while (true) {
      opened_.reset();
      if (open_.load(std::memory_order_seq_cst) >= n) return;
      rest(context, opened_);
    }
  }
  void rest(ExecutionContext& context, Signal& until) const {
    if (case_.spinning)
      _mm_pause();
    else
      context.wait(WaitReason::kInputOrMail, {&until});
  }
  void work(ExecutionContext& context) const {
    const Nanos until = context.clock().monotonic() + BarrierCase::kBufferCost;
    if (!case_.spinning) context.wait(WaitReason::kRecordCost, {}, Deadline::work(until));
    while (context.clock().monotonic() < until) _mm_pause();
  }

  Executor& executor_;
  const BarrierCase case_;
  const ResultPartitionID id_{{IntermediateDataSetID::of(0, 1), 0}, {ExecutionGraphID::of(0, 1), JobVertexID::of(0, 1), 0, 0}};
  const std::shared_ptr<ResultPartitionManager> manager_ = std::make_shared<ResultPartitionManager>();
  std::shared_ptr<ResultPartition> partition_;
  SingleInputGate gate_{"reader", 0};
  alignas(64) std::atomic<int64_t> open_{0};      ///< the round that the reader may take
  alignas(64) std::atomic<int64_t> answered_{0};  ///< the last one of which it had every barrier
  alignas(64) std::atomic<int64_t> drained_{0};   ///< the last one of which it had everything
  Signal opened_{"round of a benchmark"};
};

}  // namespace

LatencyHistogram measureBarrier(Executor& executor, const BarrierCase& which, Nanos budget) {
  return BarrierExchange(executor, which).run(budget);
}

LatencyHistogram measureRings(int32_t channels, Nanos budget) {
  LatencyHistogram times;
  const uint64_t end = now_ns() + static_cast<uint64_t>(budget.count());
  do {
    for (const uint64_t nanos : barrier_ns(static_cast<size_t>(channels), false, 200)) times.record(static_cast<int64_t>(nanos));
  } while (now_ns() < end);
  return times;
}

std::optional<std::string> unrest() {
  // Where somebody else uses a core, the hand-off between two spinning threads stops now and then, or always takes longer.
  constexpr int kRuns = 7;
  constexpr double kFarApartNanos = 1'000, kSpread = 1.6;
  constexpr int64_t kStopNanos = 200'000, kStopsAllowed = 2;
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) return "this machine has one core: a writer and a reader need two";
  std::vector<double> medians;
  int64_t stops = 0;
  for (int i = 0; i < kRuns; ++i) {
    std::vector<uint64_t> times = barrier_ns(1, false, 20'000);
    stops += std::count_if(times.begin(), times.end(), [](uint64_t t) { return t > static_cast<uint64_t>(kStopNanos); });
    medians.push_back(pct(times, 50));
  }
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  if (stops > kStopsAllowed)
    return fmt::format("a hand-off between two threads was interrupted {} times in a moment: something else uses the cores", stops);
  if (*most > kFarApartNanos) return fmt::format("a hand-off between two threads takes {:.0f} ns", *most);
  if (*most > kSpread * *least)
    return fmt::format("a hand-off between two threads takes {:.0f} ns now and {:.0f} ns a moment later", *least, *most);
  return std::nullopt;
}

}  // namespace weir
