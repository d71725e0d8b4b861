#include <gtest/gtest.h>

#include "semantics/job_cases.h"
#include "support/job_runner.h"
#include "support/seeds.h"

// Whole jobs over real files, on each executor. The result is that of a real Flink, line by line.
namespace weir::semantics {
namespace {

struct JobCases : ::testing::TestWithParam<JobCase> {};

TEST_P(JobCases, GiveWhatFlinkGaveOnThreads) { EXPECT_EQ(difference(GetParam(), runJob(GetParam(), JobRunner::threads())), ""); }

TEST_P(JobCases, GiveWhatFlinkGaveInThePool) { EXPECT_EQ(difference(GetParam(), runJob(GetParam(), JobRunner::pool())), ""); }

TEST_P(JobCases, GiveWhatFlinkGaveInTheSimulation) {
  for (const uint64_t seed : testing::seeds(1, 50)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(difference(GetParam(), runJob(GetParam(), JobRunner::simulated(seed))), "");
  }
}

std::string nameOf(const ::testing::TestParamInfo<JobCase>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(, JobCases, ::testing::ValuesIn(jobCases()), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(JobCases);

}  // namespace
}  // namespace weir::semantics
