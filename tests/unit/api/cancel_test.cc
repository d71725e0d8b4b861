#include <gtest/gtest.h>

#include "support/job_runner.h"

// Tasks that never wait hear of their cancellation too: nobody interrupts them.
namespace weir {
namespace {

class CancelOn : public testing::TestWithParam<const char*> {
 protected:
  JobRunner runner() const {
    const std::string name = GetParam();
    return JobRunner(name == "threads" ? JobRunner::threads() : name == "pool" ? JobRunner::pool() : JobRunner::simulated(1));
  }
  static DataStream<int64_t> endless(StreamExecutionEnvironment& env) {
    return env.fromGenerator(int64_t{1} << 60, [](int64_t index) { return index; });
  }
};
INSTANTIATE_TEST_SUITE_P(All, CancelOn, testing::Values("threads", "pool", "simulated"), [](const auto& info) { return info.param; });

TEST_P(CancelOn, AnEndlessChainIsCancelled) {
  StreamExecutionEnvironment env;
  endless(env).addSink([](int64_t) {});
  const JobResult result = runner().run(env, [](ExecutionContext& context, MiniCluster&, JobMaster& master) {
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + Millis(20)));
    master.cancel();
  });
  EXPECT_EQ(result.status, JobStatus::kCanceled);
}

TEST_P(CancelOn, ASourceEndsWithTheConsumersThatLeftItsPartition) {
  StreamExecutionEnvironment env;
  env.configure("restart-strategy.type", "none");
  endless(env).setParallelism(2).rebalance().addSink([](int64_t index) {
    if (index == 1000) throw Throwable("java.lang.RuntimeException", "boom");
  });
  const JobResult result = runner().run(env);
  EXPECT_EQ(result.status, JobStatus::kFailed);
  ASSERT_TRUE(result.failure);
  EXPECT_NE(result.failure->trace().find("boom"), std::string::npos);
}

}  // namespace
}  // namespace weir
