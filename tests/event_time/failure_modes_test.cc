#include <gtest/gtest.h>

#include "event_time/windowed_job.h"

// Reported failures of event time, by name.
namespace weir {
namespace {

/// What a subtask saw, when.
struct Seen {
  int64_t at = 0;         ///< epoch milliseconds
  int64_t watermark = 0;  ///< of the operator
  Event event;
};

/// Tags records with the watermark at their time, and fires a window of 10 s.
class Tagging {
 public:
  explicit Tagging(std::shared_ptr<std::vector<Seen>> fired, std::shared_ptr<std::vector<Seen>> records)
      : fired_(std::move(fired)), records_(std::move(records)) {}
  void processElement(const Event& event, KeyedProcessContext<int64_t>& context, Collector<Event>&) {
    auto& timers = context.timerService();
    records_->push_back({timers.currentProcessingTime(), timers.currentWatermark(), event});
    timers.registerEventTimeTimer(event.time / 10'000 * 10'000 + 9'999);
  }
  void onTimer(int64_t timestamp, OnTimerContext<int64_t>& context, Collector<Event>&) {
    auto& timers = context.timerService();
    fired_->push_back({timers.currentProcessingTime(), timers.currentWatermark(), {context.currentKey(), timestamp, 0}});
  }

 private:
  std::shared_ptr<std::vector<Seen>> fired_, records_;
};

/// Events at the pace of the clock, a second apart; split `silent` and those after it have none, and end a
/// little later.
class PacedReader {
 public:
  using Element = Event;
  PacedReader(int32_t splits, int32_t silent, int64_t count) : splits_(splits), silent_(silent), count_(count) {}
  int32_t numberOfSplits(int32_t) const { return splits_; }
  void open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
    execution_ = &context.execution;
    mine_ = &splits;
  }
  size_t poll(std::span<StreamRecord<Event>> into, bool& end) {
    SourceSplit& split = mine_->front();
    execution_->spend(kSecond, CostMode::kSleep);
    end = ++polls_ >= count_ + (split.id >= silent_ ? 10 : 0);
    if (split.id >= silent_) return 0;
    into[0] = StreamRecord<Event>(Event{1, 1000 * split.position++, 1});
    return 1;
  }

 private:
  int32_t splits_, silent_;
  int64_t count_, polls_ = 0;
  ExecutionContext* execution_ = nullptr;
  std::vector<SourceSplit>* mine_ = nullptr;
};

struct PacedJob : Scenario {
  std::shared_ptr<std::vector<Seen>> fired = std::make_shared<std::vector<Seen>>(), records = std::make_shared<std::vector<Seen>>();

  template <class Strategy>
  DataStream<Event> timed(PacedReader reader, int32_t parallelism, Strategy strategy) {
    return env.fromSource(reader, "paced", StreamExecutionEnvironment::kUnlimited, Batching::kOneByOne)
        .setParallelism(parallelism)
        .assignTimestampsAndWatermarks(strategy.withTimestampAssigner(&Event::time))
        .setParallelism(parallelism);
  }
  void windows(const DataStream<Event>& stream) {
    stream.keyBy(&Event::key).process<Event>(Tagging(fired, records)).name("windows").addSink([](const Event&) {});
  }
  /// Windows that fired before the input ended.
  size_t firedInTime() const {
    return static_cast<size_t>(std::count_if(fired->begin(), fired->end(), [](const Seen& s) { return s.watermark != kMaxWatermark; }));
  }
};

// idle-partition-holds-watermark
TEST(EventTimeFailureMode, IdlePartitionHoldsWatermark) {
  PacedJob stuck;
  stuck.windows(stuck.timed(PacedReader(3, 1, 100), 3, WatermarkStrategy::forMonotonousTimestamps()));
  ASSERT_EQ(stuck.run().status, JobStatus::kFinished) << stuck.failure();
  EXPECT_EQ(stuck.firedInTime(), 0u);
  EXPECT_EQ(stuck.records->back().watermark, kNoTimestamp) << "two of three partitions never had a record";

  PacedJob idle;
  idle.windows(idle.timed(PacedReader(3, 1, 100), 3, WatermarkStrategy::forMonotonousTimestamps().withIdleness(Millis(5000))));
  ASSERT_EQ(idle.run().status, JobStatus::kFinished) << idle.failure();
  EXPECT_GE(idle.firedInTime(), 8u);
}

// self-union-one-writer
TEST(EventTimeFailureMode, SelfUnionOneWriter) {
  PacedJob job;
  const auto stream = job.timed(PacedReader(1, 1, 50), 1, WatermarkStrategy::forMonotonousTimestamps());
  job.windows(stream.unionWith(stream));
  ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
  EXPECT_EQ(job.records->size(), 100u) << "each record twice";
  EXPECT_GE(job.firedInTime(), 4u) << "and event time goes on";
}

// watermark-after-in-flight
TEST(EventTimeFailureMode, WatermarkAfterInFlight) {
  for (const bool unaligned : {false, true}) {
    PacedJob job;
    job.env.configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "1")
        .configure("restart-strategy.fixed-delay.delay", "1 ms")
        .configure("pipeline.auto-watermark-interval", "10 ms")
        .configure("execution.checkpointing.unaligned.enabled", unaligned ? "true" : "false");
    job.runner.cluster.segmentSize = 256;
    job.env.fromSource(EventReader(400), "source", StreamExecutionEnvironment::kUnlimited, Batching::kOneByOne)
        .assignTimestampsAndWatermarks(WatermarkStrategy::forBoundedOutOfOrderness(Millis(40)).withTimestampAssigner(&Event::time))
        .keyBy(&Event::key)
        .process<Event>(Tagging(job.fired, job.records))
        .name("windows")
        .cost(kMillisecond)
        .addSink([](const Event&) {});
    size_t before = 0;
    job.run(
        [&] {
          ASSERT_TRUE(job.waitForFirstCheckpoint());
          job.sleep(300 * kMillisecond);
          const int64_t id = job.triggerCheckpoint();
          ASSERT_TRUE(job.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
          EXPECT_GT(job.records->back().watermark, 0);
          before = job.records->size();
          ASSERT_TRUE(job.kill("windows", 0));
        },
        false);
    ASSERT_EQ(job.result.status, JobStatus::kFinished) << job.failure();
    // Watermarks are made anew, not restored: what comes first has none, and recovered data comes first.
    ASSERT_GT(job.records->size(), before + 1);
    size_t first = before;
    while (first < job.records->size() && (*job.records)[first].watermark != kNoTimestamp) ++first;
    ASSERT_LT(first, job.records->size()) << "unaligned: " << unaligned;
    EXPECT_GT(job.records->back().watermark, 0) << "and then event time goes on";
  }
}

/// Sets one timer for all.
struct AllAtOnce {
  static constexpr int64_t kTime = 10'000;
  void processElement(const Event& event, KeyedProcessContext<int64_t>& context, Collector<std::string>&) {
    if (event.time < kTime) context.timerService().registerEventTimeTimer(kTime);
  }
  void onTimer(int64_t, OnTimerContext<int64_t>& context, Collector<std::string>& out) {
    std::string text = std::to_string(context.currentKey());
    text.resize(1024, ' ');
    out.collect(std::move(text));
  }
};
struct EventOfIndex {
  int64_t keys;
  Event operator()(int64_t index) const { return index < keys ? Event{index, 1, 0} : Event{0, AllAtOnce::kTime + 1 + index, 0}; }
};
struct MassFiring {
  int64_t startDelayMillis = -1;
  std::map<std::string, int> firings;
};
/// 10,000 timers of one moment into a sink that takes 5,000 records a second. A checkpoint comes in the middle.
MassFiring massFiring(bool interruptible) {
  constexpr int64_t kKeys = 10'000;
  Scenario s;
  s.env.configure("execution.checkpointing.unaligned.enabled", "true")
      .configure("execution.checkpointing.unaligned.interruptible-timers.enabled", interruptible ? "true" : "false")
      .configure("pipeline.auto-watermark-interval", "10 ms");
  auto outcome = std::make_shared<MassFiring>();
  s.env.fromGenerator(kKeys + 100'000, EventOfIndex{kKeys}, 20'000)
      .assignTimestampsAndWatermarks(WatermarkStrategy::forMonotonousTimestamps().withTimestampAssigner(&Event::time))
      .keyBy(&Event::key)
      .process<std::string>(AllAtOnce{})
      .name("timers")
      .rebalance()
      .addSink([outcome](const std::string& text) { ++outcome->firings[text.substr(0, text.find(' '))]; })
      .name("slow")
      .cost(std::chrono::microseconds(200));
  s.run(
      [&] {
        EXPECT_TRUE(s.waitForFirstCheckpoint());
        EXPECT_TRUE(s.waitUntil([&] { return !outcome->firings.empty(); }));
        s.sleep(100 * kMillisecond);
        const int64_t id = s.triggerCheckpoint();
        EXPECT_TRUE(s.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
        const auto subtasks = s.subtasksOf(id, "timers");
        if (!subtasks.empty()) outcome->startDelayMillis = subtasks[0].startDelayMs;
      },
      false);
  EXPECT_EQ(s.result.status, JobStatus::kFinished) << s.failure();
  EXPECT_EQ(outcome->firings.size(), static_cast<size_t>(kKeys));
  for (const auto& [key, times] : outcome->firings) EXPECT_EQ(times, 1) << key;
  return *outcome;
}

// mass-timer-firing-blocks
TEST(EventTimeFailureMode, MassTimerFiringBlocks) {
  EXPECT_GT(massFiring(false).startDelayMillis, 1500) << "what is left of two seconds";
  const int64_t delay = massFiring(true).startDelayMillis;
  EXPECT_GE(delay, 0);
  EXPECT_LT(delay, 100);
}

}  // namespace
}  // namespace weir
