#include <gtest/gtest.h>

#include "scenario/scenario.h"

// Latency markers.
namespace weir {
namespace {

/// What the operators of vertex "work" know after half a second, by operator.
std::map<std::string, std::vector<LatencyStats::Reading>> measured(const std::string& interval, const std::string& granularity) {
  std::map<std::string, std::vector<LatencyStats::Reading>> all;
  Scenario s;
  s.env.configure("metrics.latency.interval", interval)
      .configure("metrics.latency.granularity", granularity)
      .configure("metrics.latency.history-size", "8");
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 1000)
      .setParallelism(2)
      .rebalance()
      .map([](const Row& row) { return row; })
      .name("work")
      .addSink([](const Row&) {})
      .name("sink");
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    s.sleep(500 * kMillisecond);
    for (const auto& task : s.tasks("work"))
      for (const auto& metrics : task->environment().operatorMetrics->all()) all[metrics->name] = metrics->latency.read();
  });
  return all;
}

TEST(LatencyMarkers, ReachEveryOperatorBehindTheSources) {
  const auto all = measured("10 ms", "operator");
  ASSERT_EQ(all.size(), 2u);
  for (const auto& [name, readings] : all) {
    ASSERT_EQ(readings.size(), 1u) << name;
    EXPECT_GT(readings[0].count, 60) << "two subtasks, half a second";
    EXPECT_LT(readings[0].count, 130);
    ASSERT_EQ(readings[0].last.size(), 8u) << "so many are kept";
    for (const int64_t latency : readings[0].last) {
      EXPECT_GE(latency, 0);
      EXPECT_LE(latency, 100 + 10) << "at most the buffer timeout";
    }
  }
}

TEST(LatencyMarkers, AreToldApartBySourceSubtaskOrNotAtAll) {
  EXPECT_EQ(measured("10 ms", "subtask").begin()->second.size(), 2u);
  const auto single = measured("10 ms", "single").begin()->second;
  ASSERT_EQ(single.size(), 1u);
  EXPECT_EQ(single[0].source, OperatorID{});
}

TEST(LatencyMarkers, AreOffByDefault) {
  for (const auto& [name, readings] : measured("0 ms", "operator")) EXPECT_TRUE(readings.empty()) << name;
}

}  // namespace
}  // namespace weir
