// Records between two TaskManagers over a loopback socket, against what two threads reach over a bare one, taken in turn.
#include "support/keyed_sum_job.h"
#include "support/network_limit.h"
#include "support/remote_exchange.h"
#include "weir/taskmanager/output_flusher.h"

namespace weir::bench {
namespace {

constexpr int kPairs = kForNumbers ? 5 : 1;

/// Where the limits are not built there is nothing to compare with.
void add(Pairs& pairs, double weir, const std::optional<double>& limit) { pairs.add(weir, limit.value_or(weir)); }

// ---- records of 1 KiB -------------------------------------------------------------------------------------------------------------------

constexpr size_t kRecordBytes = 1024;

/// GB/s of records of 1 KiB, their lengths included; round robin.
double kilobyteRecords(int32_t channels) {
  constexpr int64_t kRecords = kForNumbers ? 2'000'000 : 20'000;
  std::vector<uint8_t> content(kRecordBytes - kLengthBytes, 7);
  uint64_t sum = 0;
  const auto rate = RemoteExchange::run(
      channels,
      [&](RecordWriter& writer) {
        uint32_t channel = 0;
        for (int64_t i = 0; i < kRecords; ++i) {
          std::memcpy(content.data(), &i, sizeof i);
          writer.emit(channel, content.size(), [&](uint8_t* at) {
            std::memcpy(at, content.data(), content.size());
            return at + content.size();
          });
          if (++channel == writer.channels()) channel = 0;
        }
      },
      [&](std::span<const uint8_t> record) {
        uint64_t number;
        std::memcpy(&number, record.data(), sizeof number);
        sum += number;
      });
  if (rate.records != kRecords || sum != kRecords * (kRecords - 1) / 2) Jobs::exitWith("records are lost");
  return static_cast<double>(kRecords * kRecordBytes) / rate.seconds / 1e9;
}

void remoteRecords(benchmark::State& state) {
  Pairs pairs;
  for (auto _ : state) {
    const auto limit = loopbackGigabytes();
    const double weir = kilobyteRecords(static_cast<int32_t>(state.range(0)));
    add(pairs, weir, limit);
    state.SetIterationTime(1 / weir);
  }
  pairs.report(state, "GB_s", "limit_GB_s");
}
BENCHMARK(remoteRecords)->ArgName("channels")->Arg(1)->Arg(16)->Iterations(kPairs)->UseManualTime();

void manyChannelsAgainst16(benchmark::State& state) {
  Pairs pairs;
  for (auto _ : state) {
    const double few = kilobyteRecords(16);
    const double many = kilobyteRecords(static_cast<int32_t>(state.range(0)));
    pairs.add(many, few);
    state.SetIterationTime(1 / many);
  }
  pairs.report(state, "GB_s", "of_16_GB_s");
}
BENCHMARK(manyChannelsAgainst16)->ArgName("channels")->Arg(1024)->Iterations(kPairs)->UseManualTime();

// ---- longs ------------------------------------------------------------------------------------------------------------------------------

/// M records/s of 8-byte longs, round robin, as Flink's networkThroughput: a flusher hands on what lies in open buffers.
double longs(int32_t channels, Millis flushInterval, int64_t records) {
  uint64_t sum = 0;
  const auto flusher = std::make_shared<OutputFlusher>();
  const auto rate = RemoteExchange::run(
      channels,
      [&](RecordWriter& writer) {
        uint32_t channel = 0;
        for (int64_t i = 0; i < records; ++i) {
          writer.emit(channel, sizeof i, [&](uint8_t* at) {
            storeBigEndian(at, i);
            return at + sizeof i;
          });
          if (++channel == writer.channels()) channel = 0;
        }
        flusher->stop();
      },
      [&](std::span<const uint8_t> record) { sum += static_cast<uint64_t>(loadBigEndian<int64_t>(record.data())); },
      [&](Executor& executor, const std::shared_ptr<ResultPartition>& partition) {
        flusher->start(executor, {.name = "flusher"});
        flusher->add(partition->descriptor().id.producer, {partition}, flushInterval);
      });
  const auto n = static_cast<uint64_t>(records);
  if (rate.records != records || sum != n * (n - 1) / 2) Jobs::exitWith("records are lost");
  return rate.millions();
}

void longsOverTcp(benchmark::State& state) {
  constexpr int64_t kRecords = kForNumbers ? 20'000'000 : 100'000;
  const auto channels = static_cast<int32_t>(state.range(0));
  Pairs pairs;
  for (auto _ : state) {
    const auto limit = longsOverLoopback(channels, kRecords);
    const double weir = longs(channels, Millis(100), kRecords);
    add(pairs, weir, limit);
    state.SetIterationTime(1 / weir);
  }
  pairs.report(state, "Mrec_s", "limit_Mrec_s");
}
BENCHMARK(longsOverTcp)->ArgName("channels")->Arg(100)->Iterations(kPairs)->UseManualTime();

void flushEveryMillisecond(benchmark::State& state) {
  constexpr int64_t kRecords = kForNumbers ? 40'000'000 : 100'000;
  const auto channels = static_cast<int32_t>(state.range(0));
  Pairs pairs;
  for (auto _ : state) {
    const double rarely = longs(channels, Millis(100), kRecords);
    const double often = longs(channels, Millis(1), kRecords);
    pairs.add(often, rarely);
    state.SetIterationTime(1 / often);
  }
  pairs.report(state, "Mrec_s", "every_100ms_Mrec_s");
}
BENCHMARK(flushEveryMillisecond)->ArgName("channels")->Arg(1000)->Iterations(kPairs)->UseManualTime();

// ---- keyed sum --------------------------------------------------------------------------------------------------------------------------

void keyedSumOverTcp(benchmark::State& state) {
  constexpr int64_t kRounds = kForNumbers ? 24 : 1;
  const auto apart = [](StreamExecutionEnvironment& env) {
    env.configure("minicluster.number-of-taskmanagers", "2").configure("taskmanager.numberOfTaskSlots", "1");
  };
  Jobs jobs;
  const auto input = std::make_shared<const KeyedInput>();
  Pairs pairs;
  for (auto _ : state) {
    const auto limit = keyedSumOverLoopback(8'000'000);
    const double weir = runKeyedSum(jobs, input, Shape::kTwoTaskManagers, kRounds, "1 s", apart);
    add(pairs, weir, limit);
    state.SetIterationTime(1 / weir);
  }
  pairs.report(state, "Mrec_s", "limit_Mrec_s");
  state.SetLabel("executor: " + jobs.executor());
}
BENCHMARK(keyedSumOverTcp)->Iterations(kPairs)->UseManualTime();

// ---- latency ----------------------------------------------------------------------------------------------------------------------------

/// 64 bytes from a task to one on another node and back, halved: each flushes behind its record. Median in ns.
class RecordPingPong {
 public:
  explicit RecordPingPong(bool spinning) : spinning_(spinning), executor_({.spin = spinning ? std::chrono::seconds(1) : Nanos::zero()}) {}

  double run(int rounds) {
    std::vector<uint64_t> nanos;
    executor_.run("ping", [&](ExecutionContext& context) {
      pin(0);
      SocketTransportOptions options;
      options.limits.payload = kSegmentBytes;
      const auto transport = std::make_shared<SocketTransport>(executor_, log_, options);
      Node node(executor_, transport, "ping", 64);
      Signal listens("listens"), pingDone("ping has read everything"), pongDone("pong has read everything");
      const auto pong = executor_.spawn({.name = "pong"}, [&](ExecutionContext& own) {
        pin(1);
        Node other(executor_, transport, "pong", 64);
        listens.set();
        Task task(own, other, 1, "ping", 0);
        for (int i = 0; i < rounds; ++i) task.receive(spinning_), task.send();
        task.end(pongDone, pingDone);
      });
      context.wait(WaitReason::kInputOrMail, {&listens});
      Task task(context, node, 0, "pong", 1);
      for (int i = 0; i < rounds; ++i) {
        const uint64_t from = now_ns();
        task.send();
        task.receive(spinning_);
        if (i >= rounds / 10) nanos.push_back((now_ns() - from) / 2);
      }
      task.end(pingDone, pongDone);
      context.wait(WaitReason::kInputOrMail, {&pong->done()});
    });
    return quantile(nanos, 0.5);
  }

 private:
  class Task {
   public:
    Task(ExecutionContext& context, Node& node, int32_t own, const std::string& peer, int32_t other)
        : context_(context), node_(node), partition_(node.partition(context, own, 1)), writer_(partition_, true),
          gate_(node.gate(context, peer, other, 1)) {}
    void send() {
      writer_.emit(0, sizeof record_, [&](uint8_t* at) {
        std::memcpy(at, record_, sizeof record_);
        return at + sizeof record_;
      });
    }
    void receive(bool spinning) {
      for (;;) {
        if (auto polled = gate_->pollNext()) {
          deserializer_.setNextBuffer(polled->buffer.bytes());
          std::span<const uint8_t> record;
          int records = 0;
          while (deserializer_.next(record) == RecordDeserializer::Next::kRecord) ++records;
          if (records == 1) return;
          if (records > 1) Jobs::exitWith("more came back than was sent");
        } else if (spinning) {
          _mm_pause();
        } else {
          context_.wait(WaitReason::kInputOrMail, {&gate_->available()});
        }
      }
    }
    /// Each side reads the end of the other before one of them closes.
    void end(Signal& own, Signal& other) {
      partition_->finish();
      while (!gate_->isFinished())
        if (!gate_->pollNext() && !gate_->isFinished()) context_.wait(WaitReason::kInputOrMail, {&gate_->available()});
      own.set();
      context_.wait(WaitReason::kInputOrMail, {&other});
      gate_ = nullptr;
      node_.give(*partition_);
      node_.stop(context_);
    }

   private:
    ExecutionContext& context_;
    Node& node_;
    const std::shared_ptr<ResultPartition> partition_;
    RecordWriter writer_;
    std::unique_ptr<SingleInputGate> gate_;
    RecordDeserializer deserializer_{"channel"};
    const uint8_t record_[60] = {};
  };

  const bool spinning_;
  ThreadExecutor executor_;
  NullLogSink log_;
};

void recordLatency(benchmark::State& state) {
  const bool spinning = state.range(0) != 0;
  Pairs pairs;
  for (auto _ : state) {
    const auto limit = pingPongNanos(spinning);
    const double weir = RecordPingPong(spinning).run(kForNumbers ? 10'000 : 200);
    add(pairs, weir, limit);
    state.SetIterationTime(weir / 1e9);
  }
  pairs.report(state, "ns", "ping_pong_ns");
}
BENCHMARK(recordLatency)->ArgName("spinning")->Arg(0)->Arg(1)->Iterations(kPairs)->UseManualTime();

}  // namespace
}  // namespace weir::bench
