#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "weir/api/stream_execution_environment.h"

namespace weir {
namespace {

class ExecuteOn : public testing::TestWithParam<const char*> {
 protected:
  StreamExecutionEnvironment environment() const {
    StreamExecutionEnvironment env;
    env.configure("weir.executor", GetParam());
    return env;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ExecuteOn, testing::Values("threads", "pool", "simulated"), [](const auto& info) { return info.param; });

std::vector<std::string> sortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_P(ExecuteOn, RunsAProgramToItsEndAndPrintsItsRecords) {
  StreamExecutionEnvironment env = environment();
  env.fromSequence(1, 3).map([](int64_t x) { return x * x; }).print();
  testing::internal::CaptureStdout();
  const auto result = env.execute("squares");
  const std::string printed = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->status, JobStatus::kFinished);
  EXPECT_NE(result->job, JobID());
  EXPECT_EQ(sortedLines(printed), (std::vector<std::string>{"1", "4", "9"}));
}

TEST_P(ExecuteOn, PrintsSubtaskAndIdentifierInFrontOfEachRecord) {
  StreamExecutionEnvironment env = environment();
  env.setParallelism(2);
  env.fromSequence(1, 2).print("x");
  testing::internal::CaptureStdout();
  const auto result = env.execute();
  const std::string printed = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(sortedLines(printed), (std::vector<std::string>{"x:1> 1", "x:2> 2"}));
}

TEST_P(ExecuteOn, AFailedJobIsAnErrorWithTheTraceOfItsFailure) {
  StreamExecutionEnvironment env = environment();
  env.fromSequence(1, 3).map([](int64_t) -> int64_t { throw Throwable("java.lang.ArithmeticException", "/ by zero"); }).print();
  testing::internal::CaptureStderr();  // the failure is logged as well
  const auto result = env.execute("divides");
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(result.has_error());
  EXPECT_NE(result.error().message.find("the job 'divides' failed: "), std::string::npos) << result.error().message;
  EXPECT_NE(result.error().message.find("java.lang.ArithmeticException: / by zero"), std::string::npos) << result.error().message;
  EXPECT_NE(log.find("WARN"), std::string::npos) << log;
  EXPECT_EQ(log.find("INFO"), std::string::npos) << log;
}

TEST(Execute, RefusesAnUnknownExecutorBeforeAnythingRuns) {
  StreamExecutionEnvironment env;
  env.configure("weir.executor", "quantum");
  env.fromSequence(1, 3).print();
  const auto result = env.execute();
  ASSERT_TRUE(result.has_error());
  EXPECT_NE(result.error().message.find("weir.executor"), std::string::npos) << result.error().message;
}

TEST(Execute, ReportsAClusterThatCannotStart) {
  StreamExecutionEnvironment env;
  env.configure("taskmanager.memory.network.min", "much");
  env.fromSequence(1, 3).print();
  const auto result = env.execute();
  ASSERT_TRUE(result.has_error());
  EXPECT_NE(result.error().message.find("taskmanager.memory.network.min"), std::string::npos) << result.error().message;
}

}  // namespace
}  // namespace weir
