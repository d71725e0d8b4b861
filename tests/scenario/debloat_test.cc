#include <gtest/gtest.h>

#include <cmath>

#include "scenario/scenario.h"

namespace weir {
namespace {

double seconds(Nanos time) { return std::chrono::duration<double>(time).count(); }

/// Rows of 1 KiB, twenty for one, into a sink that takes 50 ms for each.
void burstsIntoASlowSink(Scenario& s, const std::string& segmentSize, int overdraft) {
  s.env.configure("taskmanager.network.memory.buffer-debloat.enabled", "true")
      .configure("taskmanager.network.memory.buffer-debloat.target", "100 ms")
      .configure("taskmanager.memory.segment-size", segmentSize)
      .configure("taskmanager.network.memory.max-overdraft-buffers-per-gate", std::to_string(overdraft));
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), SwitchedReader::kEndless, 1000), "source")
      .flatMap<Row>([](const Row& row, Collector<Row>& out) {
        for (int i = 0; i < 20; ++i) out.collect(row);
      })
      .name("burst")
      .rebalance()
      .addSink([](const Row&) {})
      .name("sink")
      .cost(50 * kMillisecond);
}

struct Observed {
  double hardShare = 0;        ///< of the time, in which the flatMap waits in the middle of a burst
  int64_t longestStartDelayMs = 0;  ///< of checkpoints at its task
  int32_t size = 0;            ///< of buffers in front of the sink
};

Observed observe(const std::string& segmentSize, int overdraft) {
  Scenario s;
  burstsIntoASlowSink(s, segmentSize, overdraft);
  Observed observed;
  s.run([&] {
    s.sleep(30 * kSecond);
    const auto before = s.tasks("burst").front()->times();
    for (int i = 0; i < 8; ++i) {
      const int64_t id = s.triggerCheckpoint();
      s.sleep(6'130 * kMillisecond);
      const auto subtasks = s.subtasksOf(id, "burst");
      if (subtasks.empty()) continue;
      observed.longestStartDelayMs = std::max(observed.longestStartDelayMs, subtasks.front().startDelayMs);
    }
    const auto after = s.tasks("burst").front()->times();
    observed.hardShare = seconds(after.hardBackPressured - before.hardBackPressured) / seconds(after.total - before.total);
    observed.size = s.tasks("sink").front()->environment().gates.front()->debloatedBufferSize();
  });
  return observed;
}

// Buffers shrink to the minimum, so that each holds one row: a burst needs more of them than there are. What helps: a last buffer that
// grows as far as its segment goes, or more overdraft.
TEST(FailureMode, DebloatTo256Bytes) {
  const Observed stuck = observe("4 kb", 0), moreOverdraft = observe("4 kb", 20), roomToGrow = observe("32 kb", 0);
  for (const Observed& any : {stuck, moreOverdraft, roomToGrow}) EXPECT_EQ(any.size, 256);
  EXPECT_GT(stuck.hardShare, 0.6) << "most of the time in the middle of a burst";
  EXPECT_GT(stuck.longestStartDelayMs, 300) << "a checkpoint waits for the burst";
  EXPECT_LT(moreOverdraft.hardShare, 0.05);
  EXPECT_LT(moreOverdraft.longestStartDelayMs, 100) << "not longer than the target";
  EXPECT_LT(roomToGrow.hardShare, stuck.hardShare / 2);
}

TEST(FailureMode, DebloatMixedInputs) {
  Scenario s;
  s.env.setParallelism(4).configure("taskmanager.network.memory.buffer-debloat.enabled", "true");
  const auto fast = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "fast", 10'000);
  const auto slow = s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "slow", 10);
  fast.rebalance()
      .unionWith(slow.rebalance())
      .addSink([](const Row&) {})
      .name("sink")
      .setParallelism(1)
      .cost(std::chrono::microseconds(150));
  s.run([&] {
    s.sleep(60 * kSecond);
    const auto& gates = s.tasks("sink").front()->environment().gates;
    ASSERT_EQ(gates.size(), 2u);
    const Millis target(1000), ofFast = gates[0]->estimatedTimeToConsumeBuffers(), ofSlow = gates[1]->estimatedTimeToConsumeBuffers();
    EXPECT_GT(gates[0]->debloatedBufferSize(), 1024);
    EXPECT_EQ(gates[1]->debloatedBufferSize(), 256) << "it cannot shrink any further";
    EXPECT_LE(ofFast, target * 13 / 10);
    EXPECT_GT(ofSlow, target * 2);
  });
}

/// Sources of which four at a time have something, others after each turn. Turns last about as long as the time between two
/// computations of the buffer size, but no two alike: what is measured is not how turns and computations happen to meet.
class RotatingReader {
 public:
  using Element = Row;
  explicit RotatingReader(uint64_t seed) : random_(seed) {}
  int32_t numberOfSplits(int32_t parallelism) const { return parallelism; }
  void open(SourceReaderContext context, std::vector<SourceSplit>& splits) {
    execution_ = &context.execution;
    splits_ = &splits;
  }
  size_t poll(std::span<StreamRecord<Row>> into, bool& end) {
    SourceSplit& split = splits_->front();
    end = false;
    const Nanos now = execution_->clock().monotonic();
    for (; turnEnds_ <= now; turnEnds_ += random_.between(100, 300) * kMillisecond)
      busy_ = static_cast<int32_t>(random_.below(kSources / kAtATime));
    if (split.id / kAtATime != busy_) {
      execution_->spend(20 * kMillisecond, CostMode::kSleep);
      return 0;
    }
    for (StreamRecord<Row>& record : into) record = StreamRecord<Row>(Row{split.position++, split.id, std::string(80, 'x')});
    return into.size();
  }
  static constexpr int32_t kSources = 64;

 private:
  static constexpr int32_t kAtATime = 4;
  Random random_;
  Nanos turnEnds_{};
  int32_t busy_ = 0;
  ExecutionContext* execution_ = nullptr;
  std::vector<SourceSplit>* splits_ = nullptr;
};

struct Sizes {
  double mean = 0, deviation = 0;
  int64_t rows = 0;
};

Sizes sizesWith(int32_t floating, uint64_t turns) {
  Scenario s;
  auto rows = std::make_shared<int64_t>(0);
  s.env.configure("taskmanager.network.memory.buffer-debloat.enabled", "true")
      .configure("taskmanager.network.memory.buffer-debloat.threshold-percentages", "1")  // tells every change
      .configure("taskmanager.network.memory.floating-buffers-per-gate", std::to_string(floating))
      .configure("minicluster.number-of-taskmanagers", "2");
  s.env.setParallelism(RotatingReader::kSources)
      .fromSource(RotatingReader(turns), "source")
      .rebalance()
      .addSink([rows](const Row&) { ++*rows; })
      .name("sink")
      .setParallelism(1)
      .cost(std::chrono::microseconds(200));
  std::vector<double> sizes;
  s.run([&] {
    s.sleep(20 * kSecond);
    *rows = 0;
    for (int i = 0; i < 500; ++i) {
      s.sleep(40 * kMillisecond);
      sizes.push_back(s.tasks("sink").front()->environment().gates.front()->debloatedBufferSize());
    }
  });
  Sizes result{.rows = *rows};
  for (const double size : sizes) result.mean += size / static_cast<double>(sizes.size());
  for (const double size : sizes) result.deviation += (size - result.mean) * (size - result.mean) / static_cast<double>(sizes.size());
  result.deviation = std::sqrt(result.deviation);
  return result;
}

TEST(FailureMode, DebloatHighParallelism) {
  constexpr int kRuns = 4;
  double few = 0, enough = 0;
  int64_t rowsOfFew = 0, rowsOfEnough = 0;
  for (int run = 1; run <= kRuns; ++run) {
    const Sizes with8 = sizesWith(8, run), with64 = sizesWith(64, run);
    few += with8.deviation / with8.mean / kRuns;
    enough += with64.deviation / with64.mean / kRuns;
    rowsOfFew += with8.rows;
    rowsOfEnough += with64.rows;
  }
  EXPECT_GT(few, 0.05) << "the size goes up and down with the channels that happen to be busy";
  EXPECT_LT(enough, few * 0.85);
  EXPECT_GT(static_cast<double>(rowsOfEnough), static_cast<double>(rowsOfFew) * 0.95);
}

TEST(Debloating, InFlightDataTakesAboutTheTargetToProcess) {
  Scenario s;
  s.env.configure("taskmanager.network.memory.buffer-debloat.enabled", "true")
      .configure("minicluster.number-of-taskmanagers", "2");
  // 20 000 bytes a second in front of the sink: without debloating ten full buffers would last 16 seconds.
  s.env.setParallelism(2)
      .fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), SwitchedReader::kEndless, 80), "source")
      .rebalance()
      .addSink([](const Row&) {})
      .name("sink")
      .cost(5 * kMillisecond);
  s.run([&] {
    s.sleep(120 * kSecond);
    const int64_t id = s.triggerCheckpoint();
    s.sleep(60 * kSecond);
    for (const auto& subtask : s.subtasksOf(id, "sink")) {
      EXPECT_LT(subtask.startDelayMs, 1600);
      EXPECT_GT(subtask.startDelayMs, 200);
    }
  });
}

}  // namespace
}  // namespace weir
