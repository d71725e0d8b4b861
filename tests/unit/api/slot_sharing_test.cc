#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/api/stream_execution_environment.h"
#include "weir/operators/sinks.h"

// Which slot sharing group an operator is in, and what that means for chains. As Flink.
namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::pair<std::string, std::string>> groupsOf(const StreamExecutionEnvironment& env) {
  std::vector<std::pair<std::string, std::string>> groups;
  const auto graph = env.getJobGraph("job").value();
  for (const JobVertex& vertex : graph->vertices()) groups.emplace_back(vertex.name, vertex.slotSharingGroup);
  return groups;
}

TEST(SlotSharingGroup, WithoutOneEverythingIsInTheDefaultGroup) {
  StreamExecutionEnvironment env;
  env.fromSequence(1, 2).name("a").addSink([](int64_t) {}).name("b");
  EXPECT_THAT(groupsOf(env), ElementsAre(Pair("Source: a -> Sink: b", "default")));
}

TEST(SlotSharingGroup, AnOperatorInheritsThatOfItsInputAndIsChainedToIt) {
  StreamExecutionEnvironment env;
  env.fromSequence(1, 2).name("a").map([](int64_t x) { return x; }).name("b").slotSharingGroup("g").addSink([](int64_t) {}).name("c");
  EXPECT_THAT(groupsOf(env), ElementsAre(Pair("Source: a", "default"), Pair("b -> Sink: c", "g")));
}

TEST(SlotSharingGroup, InputsOfTwoGroupsMakeItTheDefaultOne) {
  StreamExecutionEnvironment env;
  auto left = env.fromSequence(1, 2).name("a").slotSharingGroup("g");
  auto right = env.fromSequence(1, 2).name("b").slotSharingGroup("h");
  left.unionWith(right).map([](int64_t x) { return x; }).name("c").addSink([](int64_t) {}).name("d");
  EXPECT_THAT(groupsOf(env), ElementsAre(Pair("Source: a", "g"), Pair("Source: b", "h"), Pair("c -> Sink: d", "default")));
}

}  // namespace
}  // namespace weir
