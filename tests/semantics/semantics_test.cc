#include <gtest/gtest.h>

#include "semantics/interpreter.h"

// Every case of tests/golden/semantics (or of the folder WEIR_CASES_DIR), through the engine's operators. The result is that of a real
// Flink.
namespace weir::semantics {
namespace {

struct StepCases : ::testing::TestWithParam<StepCase> {};

TEST_P(StepCases, GivesWhatFlinkGave) { EXPECT_EQ(difference(GetParam(), interpret(GetParam())), "") << GetParam().name; }

std::string nameOf(const ::testing::TestParamInfo<StepCase>& info) {
  std::string name = info.param.file + "_" + info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(, StepCases, ::testing::ValuesIn(stepCases()), nameOf);

}  // namespace
}  // namespace weir::semantics
