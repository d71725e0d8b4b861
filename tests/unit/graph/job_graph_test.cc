#include "weir/graph/job_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/graph/stable_hash.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobVertex vertex(const std::string& name, int32_t parallelism, bool isSource = false) {
  JobVertex v;
  v.name = name;
  v.parallelism = parallelism;
  v.isSource = isSource;
  const OperatorID id = operatorIdOfUid(name);
  v.id = vertexIdOf(id);
  v.operators = {{id, name, name}};
  return v;
}

JobGraph chainOf(int32_t parallelism) {
  JobGraph graph("chain");
  const int32_t source = graph.addVertex(vertex("source", parallelism, true));
  const int32_t map = graph.addVertex(vertex("map", parallelism));
  const int32_t sink = graph.addVertex(vertex("sink", parallelism));
  graph.connect(source, map, DistributionPattern::kAllToAll, "HASH");
  graph.connect(map, sink, DistributionPattern::kPointwise, "FORWARD");
  return graph;
}

std::string validationOf(const JobGraph& graph) {
  const auto result = graph.validate();
  return result.has_error() ? result.error().message : "";
}

TEST(StableHash, PositionIdsEqualThoseOfFlink) {
  // The first vertex of every Flink job without uids: a source alone, and a source with one chained output.
  EXPECT_EQ(operatorIdOfPosition(0, 0, {}).toString(), "bc764cd8ddf7a0cff126f51c16239658");
  EXPECT_EQ(operatorIdOfPosition(0, 1, {}).toString(), "cbc357ccb763df2852fee8c4fc7d55f2");
}

TEST(StableHash, UidIdsEqualThoseOfFlink) {
  EXPECT_EQ(operatorIdOfUid("numbers").toString(), "ca88eee0095684d687a1b6495617f957");
  EXPECT_EQ(operatorIdOfUid("enrich").toString(), "9c32e3838cee893dbb2fc90ccad79598");
}

TEST(StableHash, UidIdsDifferAndRepeat) {
  EXPECT_EQ(operatorIdOfUid("count"), operatorIdOfUid("count"));
  EXPECT_NE(operatorIdOfUid("count"), operatorIdOfUid("Count"));
}

TEST(StableHash, TextsInARowStayApart) {
  EXPECT_NE(StableHasher().putText("ab").putText("c").digest(), StableHasher().putText("a").putText("bc").digest());
}

TEST(StableHash, EveryLengthUpToThreeBlocksGivesAnotherDigest) {
  std::vector<std::array<uint8_t, 16>> seen;
  for (int n = 0; n < 48; ++n) {
    const auto digest = StableHasher().putBytes(std::string(n, '\0')).digest();
    EXPECT_THAT(seen, ::testing::Not(::testing::Contains(digest))) << n;
    seen.push_back(digest);
  }
}

TEST(JobGraph, AGraphInOrderIsValid) { EXPECT_EQ(validationOf(chainOf(4)), ""); }

TEST(JobGraph, ConnectNumbersGatesAndOutputs) {
  JobGraph graph;
  const int32_t a = graph.addVertex(vertex("a", 1, true));
  const int32_t b = graph.addVertex(vertex("b", 1, true));
  const int32_t join = graph.addVertex(vertex("join", 2));
  graph.connect(a, join, DistributionPattern::kAllToAll, "HASH");
  const int32_t second = graph.connect(b, join, DistributionPattern::kAllToAll, "HASH");
  EXPECT_THAT(graph.vertex(join).inputs, ElementsAre(0, 1));
  EXPECT_EQ(graph.dataSets()[second].gate, 1);
  EXPECT_EQ(graph.dataSets()[second].output, 0);
  EXPECT_NE(graph.dataSets()[0].id, graph.dataSets()[1].id);
}

TEST(JobGraph, TopologicalOrderPutsSourcesFirstAndEveryVertexBehindItsInputs) {
  JobGraph graph;
  const int32_t sink = graph.addVertex(vertex("sink", 1));
  const int32_t map = graph.addVertex(vertex("map", 1));
  const int32_t a = graph.addVertex(vertex("a", 1, true));
  const int32_t b = graph.addVertex(vertex("b", 1, true));
  graph.connect(map, sink, DistributionPattern::kPointwise, "FORWARD");
  graph.connect(a, map, DistributionPattern::kPointwise, "FORWARD");
  graph.connect(b, sink, DistributionPattern::kAllToAll, "REBALANCE");
  EXPECT_THAT(graph.topological(), ElementsAre(a, b, map, sink));
}

TEST(JobGraph, EqualGraphsHaveEqualHashes) { EXPECT_EQ(chainOf(4).hash(), chainOf(4).hash()); }

TEST(JobGraph, TheHashSeesEveryPartOfTheGraph) {
  const uint64_t base = chainOf(4).hash();
  EXPECT_NE(chainOf(5).hash(), base);
  JobGraph maxChanged = chainOf(4);
  maxChanged.vertex(1).maxParallelism = 64;
  EXPECT_NE(maxChanged.hash(), base);
  JobGraph groupChanged = chainOf(4);
  groupChanged.vertex(1).slotSharingGroup = "other";
  EXPECT_NE(groupChanged.hash(), base);
  JobGraph edgeAdded = chainOf(4);
  edgeAdded.connect(0, 2, DistributionPattern::kAllToAll, "HASH");
  EXPECT_NE(edgeAdded.hash(), base);
}

TEST(JobGraph, ParallelismAboveTheMaximumIsRefusedWithBothNumbers) {
  JobGraph graph = chainOf(4);
  graph.vertex(1).maxParallelism = 3;
  EXPECT_EQ(validationOf(graph), "vertex 'map': parallelism 4 is above its maximum parallelism 3; lower the one or raise the other");
}

TEST(JobGraph, ParallelismMustBePositiveAndTheMaximumInRange) {
  JobGraph graph = chainOf(4);
  graph.vertex(2).parallelism = 0;
  EXPECT_THAT(validationOf(graph), HasSubstr("parallelism 0 is not positive"));
  graph = chainOf(4);
  graph.vertex(2).maxParallelism = kMaxKeyGroups + 1;
  EXPECT_THAT(validationOf(graph), HasSubstr("outside 1..32768"));
}

TEST(JobGraph, DuplicateUidsAreRefusedWithBothNames) {
  JobGraph graph = chainOf(1);
  graph.vertex(1).operators.push_back({operatorIdOfUid("sink"), "second", "sink"});
  EXPECT_EQ(validationOf(graph), "uid 'sink' is used by the operators 'second' and 'sink'; give each its own");
}

TEST(JobGraph, DuplicateVertexIdsAreRefused) {
  JobGraph graph("twice");
  graph.addVertex(vertex("a", 1, true));
  graph.addVertex(vertex("a", 1, true));
  EXPECT_THAT(validationOf(graph), HasSubstr("have the same id"));
}

TEST(JobGraph, CyclesEmptyGraphsAndLooseEndsAreRefused) {
  EXPECT_THAT(validationOf(JobGraph("empty")), HasSubstr("job 'empty' has no operators"));
  JobGraph cycle = chainOf(1);
  cycle.connect(2, 1, DistributionPattern::kAllToAll, "REBALANCE");
  EXPECT_THAT(validationOf(cycle), HasSubstr("cycle"));
  JobGraph loose = chainOf(1);
  loose.addVertex(vertex("loose", 1));
  EXPECT_THAT(validationOf(loose), HasSubstr("'loose' is no source but has no input"));
}

TEST(JobGraph, FindsVerticesByIdAndCountsTasks) {
  const JobGraph graph = chainOf(4);
  EXPECT_EQ(graph.indexOf(vertexIdOf(operatorIdOfUid("map"))), 1);
  EXPECT_EQ(graph.indexOf(JobVertexID{}), -1);
  EXPECT_EQ(graph.totalTasks(), 12);
}

}  // namespace
}  // namespace weir
