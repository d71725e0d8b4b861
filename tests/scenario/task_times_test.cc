#include <gtest/gtest.h>

#include "scenario/scenario.h"

namespace weir {
namespace {

Nanos sumOf(const TaskTimes::Reading& r) { return r.busy() + r.idle + r.softBackPressured + r.hardBackPressured; }

double seconds(Nanos time) { return std::chrono::duration<double>(time).count(); }

TEST(TaskTimes, BusyIdleAndBackPressuredAddUpToTheClock) {
  Scenario s;
  s.env.disableOperatorChaining();
  // 100 rows a second of 5 ms each: the map is busy for half of the time, and nobody is held back.
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>()), "source", 100)
      .map([](const Row& row) { return row; })
      .name("half")
      .cost(5 * kMillisecond)
      .addSink([](const Row&) {})
      .name("sink");
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    std::map<std::string, std::pair<Nanos, TaskTimes::Reading>> before;
    for (const auto& task : s.tasks("")) before[task->name()] = {s.now(), task->times()};
    s.sleep(10 * kSecond);
    for (const auto& task : s.tasks("")) {
      const Nanos now = s.now();
      const auto& [then, old] = before.at(task->name());
      const TaskTimes::Reading times = task->times();
      EXPECT_EQ(sumOf(times), times.total) << task->name();
      EXPECT_NEAR(seconds(times.total - old.total), seconds(now - then), 1e-4) << task->name();
      const double busy = seconds(times.busy() - old.busy());
      if (task->name().starts_with("half"))
        EXPECT_NEAR(busy, 5, 0.05);
      else
        EXPECT_LT(busy, 0.1) << task->name();
      EXPECT_EQ(times.hardBackPressured + times.softBackPressured, Nanos::zero()) << task->name();
    }
  });
}

TEST(TaskTimes, WhoFeedsASlowTaskIsBackPressuredAndWhoReadsFromItIsIdle) {
  Scenario s;
  s.env.disableOperatorChaining();
  s.env.fromSource(SwitchedReader(std::make_shared<SourceSwitches>(), SwitchedReader::kEndless, 100), "source", 10'000)
      .map([](const Row& row) { return row; })
      .name("slow")
      .cost(10 * kMillisecond)
      .addSink([](const Row&) {})
      .name("sink");
  s.run([&] {
    s.sleep(60 * kSecond);  // the buffers in between are full
    std::map<std::string, TaskTimes::Reading> before;
    for (const auto& task : s.tasks("")) before[task->environment().vertexName] = task->times();
    s.sleep(60 * kSecond);
    for (const auto& task : s.tasks("")) {
      const std::string name = task->environment().vertexName;
      const TaskTimes::Reading times = task->times(), old = before.at(name);
      const double busy = seconds(times.busy() - old.busy()), idle = seconds(times.idle - old.idle);
      const double held = seconds(times.softBackPressured + times.hardBackPressured - old.softBackPressured - old.hardBackPressured);
      EXPECT_NEAR(busy + idle + held, 60, 1e-3) << name;
      const double most = name == "slow" ? busy : name == "Source: source" ? held : idle;
      EXPECT_GT(most, 58) << name;
    }
  });
}

TEST(TaskTimes, AWaitThatIsStillGoingOnCounts) {
  Scenario s;
  s.env.disableOperatorChaining();
  auto switches = std::make_shared<SourceSwitches>();
  s.env.setBufferTimeout(-1);
  s.env.fromSource(SwitchedReader(switches), "source", 1).addSink([](const Row&) {}).name("sink");
  s.run([&] {
    ASSERT_TRUE(s.waitForFirstCheckpoint());
    const TaskTimes::Reading old = s.tasks("Sink: sink").front()->times();
    s.sleep(60 * kSecond);  // not a buffer comes: one wait all the time
    const TaskTimes::Reading times = s.tasks("Sink: sink").front()->times();
    EXPECT_NEAR(seconds(times.idle - old.idle), 60, 0.01);
    EXPECT_LT(seconds(times.busy() - old.busy()), 0.01);
  });
}

class TaskTimesOn : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Executor> executor() const {
    const std::string name = GetParam();
    return name == "threads" ? JobRunner::threads() : name == "pool" ? JobRunner::pool() : JobRunner::simulated(1);
  }
};
INSTANTIATE_TEST_SUITE_P(EveryExecutor, TaskTimesOn, testing::Values("threads", "pool", "simulated"),
                         [](const auto& info) { return std::string(info.param); });

// On real threads somebody may look between the moment in which a wait begins or ends and the moment in which it is written down, so that
// an account may fall back by as much. Under simulation it may not.
TEST_P(TaskTimesOn, NoReadingIsNegativeAndTheirSumIsTheTotal) {
  JobRunner runner(executor());
  StreamExecutionEnvironment env;
  env.disableOperatorChaining();
  env.fromGenerator(3000, [](int64_t i) { return i; }, 10'000)
      .map([](int64_t x) { return x; })
      .cost(std::chrono::microseconds(50))
      .addSink([](int64_t) {});
  const JobResult result = runner.run(env, [&](ExecutionContext& context, MiniCluster& cluster, JobMaster& master) {
    std::map<std::string, TaskTimes::Reading> last;
    const bool exact = std::string(GetParam()) == "simulated";
    int readings = 0;
    while (!master.done().isSet() && readings < 200) {
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + Millis(1)));
      for (const auto& task : cluster.runningTasks(context)) {
        const TaskTimes::Reading now = task->times();
        TaskTimes::Reading& old = last[task->name()];
        ASSERT_EQ(sumOf(now), now.total);
        for (const auto& [value, before] : {std::pair(now.busy(), old.busy()), std::pair(now.idle, old.idle),
                                            std::pair(now.softBackPressured, old.softBackPressured),
                                            std::pair(now.hardBackPressured, old.hardBackPressured), std::pair(now.total, old.total)})
          ASSERT_GE(value, exact ? before : Nanos::zero()) << task->name();
        old = now;
        ++readings;
      }
    }
    EXPECT_GT(readings, 0);
  });
  EXPECT_EQ(result.status, JobStatus::kFinished);
}

}  // namespace
}  // namespace weir
