#include <gtest/gtest.h>

#include "support/job_runner.h"
#include "support/log_text.h"
#include "weir/api/job_options.h"

namespace weir {
namespace {

JobOptions optionsOf(const std::vector<std::pair<std::string, std::string>>& settings) {
  StreamExecutionEnvironment env;
  for (const auto& [key, value] : settings) env.configure(key, value);
  auto options = JobOptions::from(env.configuration());
  EXPECT_TRUE(options.has_value()) << options.error().message;
  return *options;
}

TEST(UnalignedOptions, AreReadFromTheirKeys) {
  const JobOptions options = optionsOf({{"execution.checkpointing.interval", "1 s"},
                                        {"execution.checkpointing.unaligned.enabled", "true"},
                                        {"execution.checkpointing.aligned-checkpoint-timeout", "30 s"},
                                        {"execution.checkpointing.unaligned.max-subtasks-per-channel-state-file", "3"}});
  EXPECT_TRUE(options.checkpointing.unalignedEnabled);
  EXPECT_EQ(options.checkpointing.alignedCheckpointTimeout, Millis(30'000));
  EXPECT_EQ(options.maxSubtasksPerChannelStateFile, 3);
  EXPECT_TRUE(options.warnings.empty());
}

// uc-with-at-least-once: the wish is dropped, and said so; the job runs.
TEST(UnalignedOptions, UcWithAtLeastOnce) {
  const JobOptions atLeastOnce = optionsOf({{"execution.checkpointing.interval", "1 s"},
                                            {"execution.checkpointing.mode", "AT_LEAST_ONCE"},
                                            {"execution.checkpointing.unaligned.enabled", "true"}});
  EXPECT_FALSE(atLeastOnce.checkpointing.unalignedEnabled);
  EXPECT_EQ(atLeastOnce.warnings, std::vector<std::string>{"Unaligned checkpoints can only be used with checkpointing mode EXACTLY_ONCE"});

  const JobOptions off = optionsOf({{"execution.checkpointing.unaligned.enabled", "true"}});
  EXPECT_FALSE(off.checkpointing.unalignedEnabled);
  ASSERT_EQ(off.warnings.size(), 1u);
  EXPECT_NE(off.warnings[0].find("set execution.checkpointing.interval"), std::string::npos);
}

TEST(UnalignedOptions, TwoAtOnceAreRefusedWithTheSentenceOfFlink) {
  StreamExecutionEnvironment env;
  env.configure("execution.checkpointing.interval", "1 s");
  env.configure("execution.checkpointing.unaligned.enabled", "true");
  env.configure("execution.checkpointing.max-concurrent-checkpoints", "2");
  const auto options = JobOptions::from(env.configuration());
  ASSERT_TRUE(options.has_error());
  EXPECT_EQ(options.error().message, "maxConcurrentCheckpoints can't be > 1 if UnalignedCheckpoints enabled");
}

/// Counts 2000 numbers on two subtasks, with checkpoints every 10 ms.
StreamExecutionEnvironment program(bool custom) {
  StreamExecutionEnvironment env;
  env.setParallelism(2);
  env.configure("execution.checkpointing.interval", "10 ms");
  env.configure("execution.checkpointing.unaligned.enabled", "true");
  env.configure("execution.checkpointing.dir", "/checkpoints");
  env.configure("taskmanager.memory.segment-size", "4 kb");
  const auto slow = [](int64_t x) { return x; };
  auto numbers = env.fromSequence(1, 2000);
  if (custom)
    numbers.partitionCustom([](int64_t key, int32_t n) { return static_cast<int32_t>(key % n); }, [](int64_t x) { return x; })
        .map(slow)
        .print();
  else
    numbers.rebalance().map(slow).print();
  return env;
}

TEST(UnalignedOptions, ACustomPartitionerIsRefusedUnlessForced) {
  JobRunner runner(JobRunner::simulated(1));
  StreamExecutionEnvironment env = program(true);
  testing::internal::CaptureStdout();
  const JobResult refused = runner.run(env);
  EXPECT_EQ(refused.status, JobStatus::kFailed);
  EXPECT_NE(refused.failure->message().find("Unaligned checkpoints are currently not supported for custom partitioners"),
            std::string::npos);
  env.configure("execution.checkpointing.unaligned.forced", "true");
  JobRunner another(JobRunner::simulated(1));
  EXPECT_EQ(another.run(env).status, JobStatus::kFinished);
  testing::internal::GetCapturedStdout();
}

TEST(UnalignedOptions, AWarningStandsInTheLog) {
  JobRunner runner(JobRunner::simulated(1));
  StreamExecutionEnvironment env = program(false);
  env.configure("execution.checkpointing.mode", "AT_LEAST_ONCE");
  testing::internal::CaptureStdout();
  EXPECT_EQ(runner.run(env).status, JobStatus::kFinished);
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(runner.log().contains("Unaligned checkpoints can only be used with checkpointing mode EXACTLY_ONCE"));
}

}  // namespace
}  // namespace weir
