#include "weir/base/units.h"

#include <gtest/gtest.h>

#include "support/golden_tsv.h"

namespace weir {
namespace {

using testing::goldenMessages;
using testing::GoldenRow;
using testing::goldenRows;

class DurationRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(DurationRow, ReadsAndPrintsAsFlinkDoes) {
  const GoldenRow& row = GetParam();
  const auto duration = Duration::parse(row.column(0));
  if (row.column(1) == "error") {
    ASSERT_TRUE(duration.has_error()) << row.column(0);
    EXPECT_EQ(duration.error().message, goldenMessages(row.column(2)).front());
    EXPECT_EQ(duration.error().code, ErrorCode::kInvalidArgument);
    return;
  }
  ASSERT_TRUE(duration.has_value()) << row.column(0) << ": " << duration.error().message;
  EXPECT_EQ(duration->totalNanosText(), row.column(2));
  EXPECT_EQ(duration->toString(), row.column(3));
  EXPECT_EQ(duration->fitsMillis() ? std::to_string(duration->toMillis().count()) + "ms" : "ArithmeticException", row.column(4));
}

INSTANTIATE_TEST_SUITE_P(Golden, DurationRow, ::testing::ValuesIn(goldenRows("config/durations.tsv")),
                         [](const auto& row) { return "Line" + std::to_string(row.param.line); });

class MemorySizeRow : public ::testing::TestWithParam<GoldenRow> {};

TEST_P(MemorySizeRow, ReadsAndPrintsAsFlinkDoes) {
  const GoldenRow& row = GetParam();
  const auto size = MemorySize::parse(row.column(0));
  if (row.column(1) == "error") {
    ASSERT_TRUE(size.has_error()) << row.column(0);
    EXPECT_EQ(size.error().message, goldenMessages(row.column(2)).front());
    return;
  }
  ASSERT_TRUE(size.has_value()) << row.column(0) << ": " << size.error().message;
  EXPECT_EQ(std::to_string(size->bytes), row.column(2));
  EXPECT_EQ(size->toString(), row.column(3));
  EXPECT_EQ(size->toHumanReadableString(), row.column(4));
}

INSTANTIATE_TEST_SUITE_P(Golden, MemorySizeRow, ::testing::ValuesIn(goldenRows("config/memory-sizes.tsv")),
                         [](const auto& row) { return "Line" + std::to_string(row.param.line); });

TEST(Durations, PrintInIsoFormAsJavaDoes) {
  EXPECT_EQ(Duration(Millis(10)).toIsoString(), "PT0.01S");
  EXPECT_EQ(Duration(Millis(0)).toIsoString(), "PT0S");
  EXPECT_EQ(Duration(std::chrono::minutes(90)).toIsoString(), "PT1H30M");
  EXPECT_EQ(Duration(std::chrono::hours(26)).toIsoString(), "PT26H");
  EXPECT_EQ(Duration(Nanos(1'500'000'001)).toIsoString(), "PT1.500000001S");
}

TEST(Durations, SaturateWhereChronoCannotHoldThem) {
  const Duration long_ = Duration::parse("9223372036854775807 s").value();
  EXPECT_EQ(long_.toMillis(), Millis::max());
  EXPECT_EQ(long_.toNanos(), Nanos::max());
  EXPECT_EQ(Duration::parse("3 s").value().toNanos(), std::chrono::seconds(3));
}

TEST(Durations, ReadIsoFormsWithSignsAndFractions) {
  EXPECT_EQ(Duration::parse("PT0.5S").value(), Duration(Millis(500)));
  EXPECT_EQ(Duration::parse("+PT1M-10S").value(), Duration(std::chrono::seconds(50)));
  EXPECT_EQ(Duration::parse("-PT-1S").value(), Duration(std::chrono::seconds(1)));
  for (const char* text : {"P", "PT", "P1DT", "PT1S1", "P1W", "PT1.1234567891S", "PT99999999999999999999S"}) {
    EXPECT_TRUE(Duration::parse(text).has_error()) << text;
  }
}

}  // namespace
}  // namespace weir
