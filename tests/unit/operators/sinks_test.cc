#include "weir/operators/sinks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/operator_harness.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using Word = std::tuple<std::string, int32_t>;

class PrintSinkTest : public ::testing::Test {
 protected:
  std::string print(testing::HarnessOptions options, const std::string& identifier = "") {
    std::ostringstream out;
    testing::OperatorHarness<Word> sink(machine_, PrintSink<Word>(std::make_shared<PrintStream>(out), identifier), options);
    sink.start();
    sink.process({{"a", 1}, {"b", 2}});
    return out.str();
  }
  testing::OperatorMachine machine_;
};

TEST_F(PrintSinkTest, PrintsALinePerRecord) { EXPECT_EQ(print({}), "(a,1)\n(b,2)\n"); }

TEST_F(PrintSinkTest, SeveralSubtasksPutTheirNumberInFront) {
  EXPECT_EQ(print({.subtask = 2, .parallelism = 4}), "3> (a,1)\n3> (b,2)\n");
}

TEST_F(PrintSinkTest, AnIdentifierStandsInFrontOfTheNumber) {
  EXPECT_EQ(print({}, "words"), "words> (a,1)\nwords> (b,2)\n");
  EXPECT_EQ(print({.subtask = 2, .parallelism = 4}, "words"), "words:3> (a,1)\nwords:3> (b,2)\n");
}

TEST_F(PrintSinkTest, WritesABatchAtOnceSoThatSubtasksDoNotMixLines) {
  struct CountingBuffer final : std::stringbuf {
    std::streamsize xsputn(const char* text, std::streamsize size) override { return ++writes, std::stringbuf::xsputn(text, size); }
    int writes = 0;
  } buffer;
  std::ostream out(&buffer);
  testing::OperatorHarness<Word> sink(machine_, PrintSink<Word>(std::make_shared<PrintStream>(out)));
  sink.start();
  sink.process({{"a", 1}, {"b", 2}, {"c", 3}});
  EXPECT_EQ(buffer.writes, 1);
}

TEST(CollectSinkTest, AllSubtasksCollectIntoOneResult) {
  testing::OperatorMachine machine;
  auto result = std::make_shared<CollectResult<int32_t>>();
  for (int32_t subtask : {0, 1}) {
    testing::OperatorHarness<int32_t> sink(machine, CollectSink<int32_t>(result), {.subtask = subtask, .parallelism = 2});
    sink.start();
    sink.process({subtask, 10 + subtask});
  }
  EXPECT_THAT(result->values(), ElementsAre(0, 10, 1, 11));
  EXPECT_EQ(result->size(), 4u);
}

}  // namespace
}  // namespace weir
