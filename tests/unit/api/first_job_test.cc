#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "support/job_runner.h"

namespace weir {
namespace {

struct Count {
  std::string key;
  int64_t value = 0;
  WEIR_FIELDS(key, value)
};

/// What a job emitted last per key, from all subtasks.
struct LastPerKey {
  std::mutex mutex;
  std::map<std::string, int64_t> values;
};

class EveryExecutor : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Executor> executor() const {
    const std::string name = GetParam();
    return name == "threads" ? JobRunner::threads() : name == "pool" ? JobRunner::pool() : JobRunner::simulated(1);
  }
};
INSTANTIATE_TEST_SUITE_P(All, EveryExecutor, testing::Values("threads", "pool", "simulated"), [](const auto& info) { return info.param; });

StreamExecutionEnvironment sumsModulo(int64_t modulus, int64_t count, const std::shared_ptr<LastPerKey>& results) {
  StreamExecutionEnvironment env;
  env.setParallelism(2);
  env.fromSequence(1, count)
      .map([modulus](int64_t x) { return Count{std::to_string(x % modulus), x}; })
      .keyBy(&Count::key)
      .sum(&Count::value)
      .addSink([results](const Count& c) {
        std::lock_guard lock(results->mutex);
        results->values[c.key] = c.value;
      });
  return env;
}

TEST_P(EveryExecutor, RunsAKeyedSumToItsEnd) {
  JobRunner runner(executor());
  auto results = std::make_shared<LastPerKey>();
  auto env = sumsModulo(7, 1000, results);
  const JobResult result = runner.run(env);
  ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "") << runner.log().text();
  std::map<std::string, int64_t> expected;
  for (int64_t x = 1; x <= 1000; ++x) expected[std::to_string(x % 7)] += x;
  EXPECT_EQ(results->values, expected);
}

TEST_P(EveryExecutor, TakesCheckpointsMeanwhileAndEndsWithAFinalOne) {
  JobRunner runner(executor());
  auto results = std::make_shared<LastPerKey>();
  auto env = sumsModulo(7, 20'000, results);
  env.configure("execution.checkpointing.interval", "10 ms").configure("execution.checkpointing.dir", "/checkpoints");
  const JobResult result = runner.run(env);
  ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "") << runner.log().text();
  EXPECT_GE(runner.log().count("Completed checkpoint"), 1u) << runner.log().text();
}

TEST_P(EveryExecutor, AFailedSubtaskIsRestartedAndTheSumsAreExact) {
  JobRunner runner(executor());
  auto results = std::make_shared<LastPerKey>();
  StreamExecutionEnvironment env;
  env.setParallelism(2);
  env.configure("execution.checkpointing.interval", "20 ms")
      .configure("restart-strategy.type", "fixed-delay")
      .configure("restart-strategy.fixed-delay.delay", "1 ms");
  env.fromGenerator(2000, [](int64_t i) { return Count{std::to_string(i % 7), i}; }, 20'000)
      .keyBy(&Count::key)
      .sum(&Count::value)
      .name("sums")
      .addSink([results](const Count& c) {
        std::lock_guard lock(results->mutex);
        results->values[c.key] = c.value;
      });
  const JobResult result = runner.run(env, [&](ExecutionContext& context, MiniCluster& cluster, JobMaster&) {
    while (!runner.log().contains("Completed checkpoint"))
      context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + Millis(1)));
    EXPECT_TRUE(cluster.failSubtask(context, "sums", 1, std::make_shared<Throwable>("java.lang.Exception", "killed")));
  });
  ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "") << runner.log().text();
  EXPECT_EQ(result.restarts, 1);
  std::map<std::string, int64_t> expected;
  for (int64_t i = 0; i < 2000; ++i) expected[std::to_string(i % 7)] += i;
  EXPECT_EQ(results->values, expected) << runner.log().text();
}

TEST_P(EveryExecutor, AStreamReinterpretedAsKeyedIsReducedInTheChainOfItsSource) {
  JobRunner runner(executor());
  auto results = std::make_shared<LastPerKey>();
  StreamExecutionEnvironment env;
  env.setParallelism(1);
  auto counts = env.fromGenerator(1000, [](int64_t i) { return Count{std::to_string(i % 7), i}; });
  reinterpretAsKeyedStream(counts, &Count::key).sum(&Count::value).addSink([results](const Count& c) {
    std::lock_guard lock(results->mutex);
    results->values[c.key] = c.value;
  });
  ASSERT_EQ((*env.getJobGraph("job"))->vertices().size(), 1u);
  const JobResult result = runner.run(env);
  ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "") << runner.log().text();
  std::map<std::string, int64_t> expected;
  for (int64_t i = 0; i < 1000; ++i) expected[std::to_string(i % 7)] += i;
  EXPECT_EQ(results->values, expected);
}

TEST_P(EveryExecutor, AStreamWronglyReinterpretedAsKeyedFailsTheJob) {
  JobRunner runner(executor());
  StreamExecutionEnvironment env;
  env.setParallelism(2);
  auto counts = env.fromGenerator(1000, [](int64_t i) { return Count{std::to_string(i), i}; });
  reinterpretAsKeyedStream(counts, &Count::key).sum(&Count::value).addSink([](const Count&) {});
  const JobResult result = runner.run(env);
  ASSERT_EQ(result.status, JobStatus::kFailed);
  EXPECT_NE(result.failure->trace().find("is not in KeyGroupRange"), std::string::npos) << result.failure->trace();
}

}  // namespace
}  // namespace weir
