#include <gtest/gtest.h>

#include "semantics/interpreter.h"
#include "semantics/step_jobs.h"
#include "support/job_runner.h"
#include "support/seeds.h"

// Every case of tests/golden/semantics (or of the folder WEIR_CASES_DIR), through the engine's operators. The result is that of a real
// Flink.
namespace weir::semantics {
namespace {

struct StepCases : ::testing::TestWithParam<StepCase> {};

TEST_P(StepCases, GivesWhatFlinkGave) { EXPECT_EQ(difference(GetParam(), interpret(GetParam())), "") << GetParam().name; }

/// Those that can be jobs, with tasks, exchanges and the watermarks' way through them.
struct StepCasesAsJobs : ::testing::TestWithParam<StepCase> {};

TEST_P(StepCasesAsJobs, GiveWhatFlinkGaveOnThreads) { EXPECT_EQ(differenceAsJob(GetParam(), JobRunner::threads()), ""); }

TEST_P(StepCasesAsJobs, GiveWhatFlinkGaveInThePool) { EXPECT_EQ(differenceAsJob(GetParam(), JobRunner::pool()), ""); }

TEST_P(StepCasesAsJobs, GiveWhatFlinkGaveInTheSimulation) {
  for (const uint64_t seed : testing::seeds(50, 50)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_EQ(differenceAsJob(GetParam(), JobRunner::simulated(seed)), "");
  }
}

std::vector<StepCase> jobsAmong(std::vector<StepCase> cases) {
  std::erase_if(cases, [](const StepCase& golden) { return !canBeJob(golden); });
  return cases;
}

std::string nameOf(const ::testing::TestParamInfo<StepCase>& info) {
  std::string name = info.param.file + "_" + info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(, StepCases, ::testing::ValuesIn(stepCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(, StepCasesAsJobs, ::testing::ValuesIn(jobsAmong(stepCases())), nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StepCases);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StepCasesAsJobs);

}  // namespace
}  // namespace weir::semantics
