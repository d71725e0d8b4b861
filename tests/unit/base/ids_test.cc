#include "weir/base/ids.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Ids, PrintAs32HexDigitsInWireOrder) {
  EXPECT_EQ(JobID::of(0x0011223344556677, 0x8899aabbccddeeff).toString(), "00112233445566778899aabbccddeeff");
}

TEST(Ids, ParseWhatTheyPrint) {
  Random random(7);
  const auto id = JobVertexID::random(random);
  EXPECT_EQ(JobVertexID::parse(id.toString()).value(), id);
}

TEST(Ids, RefuseWrongDigitsAndLengthsInOneSentence) {
  EXPECT_EQ(JobID::parse("xyz").error().message, "'xyz' is not an id: 32 hex digits are expected");
  EXPECT_TRUE(JobID::parse(std::string(31, '0') + "g").has_error());
}

TEST(Ids, AnAttemptPrintsGraphVertexSubtaskAndAttempt) {
  const ExecutionAttemptID id{ExecutionGraphID::of(0, 1), JobVertexID::of(0, 2), 3, 4};
  EXPECT_EQ(id.toString(), "00000000000000000000000000000001_00000000000000000000000000000002_3_4");
}

}  // namespace
}  // namespace weir
