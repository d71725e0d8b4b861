#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "scenario/scenario.h"

namespace weir {

/// A sum per key and 100 ms of event time, kept by hand: the window's timer emits it. What timers are for, without the window operator; or
/// with it.
struct Event {
  int64_t key = 0, time = 0, amount = 0;
  WEIR_FIELDS(key, time, amount)
  auto operator<=>(const Event&) const = default;
};

/// Record i of a split happened at 5 i, give or take 40 ms. Splits are read in turn; a paused reader looks every 10 ms.
class EventReader {
 public:
  using Element = Event;
  static constexpr int32_t kSplits = 3;
  static constexpr int64_t kKeys = 7;

  explicit EventReader(int64_t perSplit, std::shared_ptr<SourceSwitches> switches = std::make_shared<SourceSwitches>())
      : perSplit_(perSplit), switches_(std::move(switches)) {}
  static Event at(int32_t split, int64_t position) {
    const int64_t draw = static_cast<int64_t>(Random(static_cast<uint64_t>(position * kSplits + split + 1)).below(41));
    return {position % kKeys, position * 5 + draw, split + 1};
  }
  int32_t numberOfSplits(int32_t) const { return kSplits; }
  void open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
    execution_ = &context.execution;
    splits_ = &splits;
  }
  size_t poll(std::span<StreamRecord<Event>> into, bool& end) {
    if (switches_->paused) {
      execution_->spend(10 * kMillisecond, CostMode::kSleep);
      return 0;
    }
    end = true;
    for (size_t tried = 0; tried < splits_->size(); ++tried) {
      SourceSplit& split = (*splits_)[next_++ % splits_->size()];
      if (split.position == perSplit_) continue;
      end = false;
      into[0] = StreamRecord<Event>(at(split.id, split.position++));
      return 1;
    }
    return 0;
  }

 private:
  int64_t perSplit_;
  std::shared_ptr<SourceSwitches> switches_;
  ExecutionContext* execution_ = nullptr;
  std::vector<SourceSplit>* splits_ = nullptr;
  size_t next_ = 0;
};

/// The calls of user code in a job, over all subtasks and attempts; one of them may throw. Simulated: one thread.
struct Steps {
  int64_t passed = 0;
  int64_t failAt = 0;  ///< 0: none
  void pass() {
    if (++passed == failAt) throw Throwable("java.lang.RuntimeException", "thrown at step " + std::to_string(failAt));
  }
};

/// Emits (key, end of the window, sum). A record behind the watermark fails the test: none may be late here.
class SumPerWindow {
 public:
  static constexpr int64_t kSize = 100;
  explicit SumPerWindow(std::shared_ptr<Steps> steps) : steps_(std::move(steps)) {}
  void open(KeyedRuntimeContext<int64_t>& context) {
    sums_ = context.state(MapStateDescriptor<int64_t, int64_t>{.name = "sums"});
  }
  void processElement(const Event& event, KeyedProcessContext<int64_t>& context, Collector<Event>&) {
    const int64_t end = event.time / kSize * kSize + kSize;
    EXPECT_GT(end - 1, context.timerService().currentWatermark()) << "late";
    sums_.slot(end) += event.amount;
    steps_->pass();
    context.timerService().registerEventTimeTimer(end - 1);
  }
  void onTimer(int64_t timestamp, OnTimerContext<int64_t>& context, Collector<Event>& out) {
    steps_->pass();
    const int64_t* sum = sums_.get(timestamp + 1);
    ASSERT_NE(sum, nullptr) << "a timer without its sum";
    out.collect({context.currentKey(), timestamp + 1, *sum});
    sums_.remove(timestamp + 1);
  }

 private:
  std::shared_ptr<Steps> steps_;
  MapState<int64_t, int64_t> sums_;
};

/// source -> timestamps and watermarks -> keyBy -> sums -> an exactly-once store, under simulation.
struct WindowedJob : Scenario {
  using Store = TransactionalCollectResult<Event>;
  std::vector<std::shared_ptr<Store>> stores;
  std::shared_ptr<SourceSwitches> switches = std::make_shared<SourceSwitches>();
  std::shared_ptr<Steps> steps = std::make_shared<Steps>();
  int64_t perSplit;
  double rate;  ///< records a second, of all subtasks
  Nanos cost{};
  bool windowOperator = false;  ///< sums by the window operator instead of by hand

  WindowedJob(int64_t recordsPerSplit, double recordsPerSecond, uint64_t seed = 1)
      : Scenario(seed), perSplit(recordsPerSplit), rate(recordsPerSecond) {}

  void program(int32_t sources, int32_t sums) {
    newProgram();
    auto store = stores.emplace_back(std::make_shared<Store>());
    env.configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "1000")
        .configure("restart-strategy.fixed-delay.delay", "1 ms")
        .configure("execution.checkpointing.tolerable-failed-checkpoints", "1000000")
        .configure("execution.checkpointing.num-retained", "2")
        .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
        .configure("pipeline.auto-watermark-interval", "5 ms")
        .setMaxParallelism(128);
    auto stream =
        env.fromSource(EventReader(perSplit, switches), "source", rate, Batching::kOneByOne).uid("source").setParallelism(sources);
    auto timed =
        stream.assignTimestampsAndWatermarks(WatermarkStrategy::forBoundedOutOfOrderness(Millis(40)).withTimestampAssigner(&Event::time))
            .uid("watermarks")
            .setParallelism(sources);
    timed = timed.map([steps = steps](const Event& event) {
                   steps->pass();
                   return event;
                 })
                .uid("steps")
                .setParallelism(sources);
    auto summed = windowOperator ? windows(timed.keyBy(&Event::key)) : timed.keyBy(&Event::key).process<Event>(SumPerWindow{steps});
    summed.uid("sums").name("sums").setParallelism(sums);
    if (cost > Nanos::zero()) summed.cost(cost);
    summed.sinkTo("store", Batching::kBatches, TransactionalCollectSink<Event>(store).ignoreEarlierRuns())
        .uid("store")
        .setParallelism(sums);
  }
  DataStream<Event> windows(const KeyedStream<Event, int64_t Event::*>& keyed) const {
    return keyed.window(TumblingEventTimeWindows::of(Millis(SumPerWindow::kSize)))
        .reduce<Event>(
                       [steps = steps](Event& all, const Event& one) {
                         all.amount += one.amount;
                         steps->pass();
                       },
                       [steps = steps](const int64_t& key, auto& context, std::span<const Event> sum, Collector<Event>& out) {
                         steps->pass();
                         out.collect({key, context.window().end, sum[0].amount});
                       });
  }
  void restoreFrom(const std::string& folder, int32_t sources, int32_t sums) {
    program(sources, sums);
    env.configure("execution.state-recovery.path", folder)
        .configure("execution.checkpointing.dir", "/restored-" + std::to_string(stores.size()));
  }

  std::map<Event, int> expected() const {
    std::map<std::pair<int64_t, int64_t>, int64_t> sums;
    for (int32_t split = 0; split < EventReader::kSplits; ++split)
      for (int64_t i = 0; i < perSplit; ++i) {
        const Event event = EventReader::at(split, i);
        sums[{event.key, event.time / SumPerWindow::kSize * SumPerWindow::kSize + SumPerWindow::kSize}] += event.amount;
      }
    std::map<Event, int> results;
    for (const auto& [window, sum] : sums) results[{window.first, window.second, sum}] = 1;
    return results;
  }
  /// Each window of each key once, with all of its records, from all runs together.
  void expectEveryWindowOnce() const {
    std::map<Event, int> results;
    for (const auto& store : stores)
      for (const Event& event : store->values()) ++results[event];
    EXPECT_EQ(results.size(), expected().size());
    EXPECT_TRUE(results == expected());
  }
};

// What holds of timers by hand and of the window operator alike. -------------------------------------------------------------------------

/// A call of user code throws: each of them in turn, a job for each.
inline void surviveAFailureAtEveryStep(bool windowOperator) {
  const auto run = [&](int64_t failAt) {
    WindowedJob job(40, 1000);
    job.windowOperator = windowOperator;
    job.steps->failAt = failAt;
    job.program(2, 2);
    job.env.configure("execution.checkpointing.interval", "10 ms");
    EXPECT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    EXPECT_EQ(job.result.restarts, failAt > 0 ? 1 : 0);
    job.expectEveryWindowOnce();
    return job.steps->passed;
  };
  const int64_t steps = run(0);
  ASSERT_GT(steps, 200);
  for (int64_t step = 1; step <= steps && !::testing::Test::HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    run(step);
  }
}

/// The job takes 120 ms; a task is killed from outside, with checkpoints every 10 ms.
inline void surviveAKillAtAnyTime(bool windowOperator) {
  int failed = 0;
  for (int millis = 0; millis < 120; millis += 3) {
    WindowedJob job(40, 1000, static_cast<uint64_t>(millis) + 1);
    job.windowOperator = windowOperator;
    job.program(2, 2);
    job.env.configure("execution.checkpointing.interval", "10 ms");
    job.run(
        [&] {
          job.sleep(millis * kMillisecond);
          failed += job.kill(millis % 2 ? "sums" : "source", millis / 2 % 2);
        },
        false);
    ASSERT_EQ(job.result.status, JobStatus::kFinished) << millis << " ms: " << job.failure();
    job.expectEveryWindowOnce();
  }
  EXPECT_GT(failed, 15) << "most of them hit";
}

inline void goOnAtAnyOtherParallelism(bool windowOperator) {
  for (const auto& [before, after] : {std::pair{2, 3}, {3, 1}, {1, 4}}) {
    WindowedJob job(200, 1000);
    job.windowOperator = windowOperator;
    job.program(2, before);
    std::string folder;
    job.run([&] {
      ASSERT_TRUE(job.waitForFirstCheckpoint());
      job.sleep(200 * kMillisecond);
      const int64_t id = job.triggerCheckpoint();
      ASSERT_TRUE(job.waitForLog("Completed checkpoint " + std::to_string(id) + " "));
      folder = job.folderOf(id);
    });
    job.restoreFrom(folder, 3, after);
    ASSERT_EQ(job.run().status, JobStatus::kFinished) << job.failure();
    job.expectEveryWindowOnce();
  }
}

}  // namespace weir
