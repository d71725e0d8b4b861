#include "weir/graph/execution_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/graph/stable_hash.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using S = ExecutionState;

struct Lines final : LogSink {
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view logger, std::string_view message) override {
    EXPECT_EQ(logger, "org.apache.flink.runtime.executiongraph.ExecutionGraph");
    lines.emplace_back(message);
  }
  std::vector<std::string> lines;
};

struct FixedClock final : Clock {
  int64_t epochMillis() const override { return now; }
  Nanos monotonic() const override { return Millis(now); }
  int64_t now = 1000;
};

JobVertex vertex(const std::string& name, int32_t parallelism, bool isSource = false) {
  JobVertex v;
  v.name = name;
  v.parallelism = parallelism;
  v.maxParallelism = 1024;
  v.isSource = isSource;
  v.id = vertexIdOf(operatorIdOfUid(name));
  v.operators = {{operatorIdOfUid(name), name, name}};
  return v;
}

/// source -> map, as wide as asked, connected by `pattern`.
std::shared_ptr<JobGraph> pairOf(int32_t sources, int32_t maps, DistributionPattern pattern) {
  auto graph = std::make_shared<JobGraph>("pair");
  const int32_t source = graph->addVertex(vertex("source", sources, true));
  const int32_t map = graph->addVertex(vertex("map", maps));
  graph->connect(source, map, pattern, "HASH");
  return graph;
}

struct ExecutionGraphTest : ::testing::Test {
  ExecutionGraph make(std::shared_ptr<JobGraph> graph) {
    return ExecutionGraph(std::move(graph), JobID::of(0, 7), ExecutionGraphID::of(0, 9), log, clock, 2);
  }
  static void drive(ExecutionGraph& g, int32_t task, std::initializer_list<S> states) {
    for (const S s : states) EXPECT_TRUE(g.transition(task, s)) << toString(s);
  }
  Lines log;
  FixedClock clock;
};

TEST_F(ExecutionGraphTest, WritesFlinksLinesFromScheduledToRunning) {
  auto g = make(pairOf(1, 2, DistributionPattern::kAllToAll));
  const std::string attempt = g.task(2).current.id.toString();
  EXPECT_EQ(log.lines.back(), "Created execution graph 00000000000000000000000000000009 for job 00000000000000000000000000000007.");
  log.lines.clear();
  drive(g, 2, {S::kScheduled});
  g.assignSlot(2, AllocationID::of(0, 5), "tm1 @ localhost (dataPort=43433)");
  drive(g, 2, {S::kDeploying, S::kInitializing, S::kRunning});
  const std::string vertexId = vertexIdOf(operatorIdOfUid("map")).toString();
  EXPECT_THAT(log.lines, ElementsAre("map (2/2) (" + attempt + ") switched from CREATED to SCHEDULED.",
                                     "map (2/2) (" + attempt + ") switched from SCHEDULED to DEPLOYING.",
                                     "Deploying map (2/2) (attempt #0) with attempt id " + attempt + " and vertex id " + vertexId +
                                         "_1 to tm1 @ localhost (dataPort=43433) with allocation id 00000000000000000000000000000005",
                                     "map (2/2) (" + attempt + ") switched from DEPLOYING to INITIALIZING.",
                                     "map (2/2) (" + attempt + ") switched from INITIALIZING to RUNNING."));
}

TEST_F(ExecutionGraphTest, AFailureNamesThePlaceAndItsTrace) {
  auto g = make(pairOf(1, 1, DistributionPattern::kAllToAll));
  const auto cause = std::make_shared<Throwable>("java.io.IOException", "disk on fire");
  const auto failure = std::make_shared<Throwable>("java.lang.IllegalStateException", "boom", cause);
  drive(g, 0, {S::kScheduled});
  EXPECT_TRUE(g.transition(0, S::kFailed, failure));
  EXPECT_THAT(log.lines.back(), HasSubstr("switched from SCHEDULED to FAILED on [unassigned resource].\n"
                                          "java.lang.IllegalStateException: boom\nCaused by: java.io.IOException: disk on fire"));
  EXPECT_EQ(g.task(0).current.failure, failure);
  drive(g, 1, {S::kScheduled});
  g.assignSlot(1, {}, "tm2 @ localhost (dataPort=1)");
  EXPECT_TRUE(g.transition(1, S::kFailed));
  EXPECT_THAT(log.lines.back(), ::testing::EndsWith("switched from SCHEDULED to FAILED on tm2 @ localhost (dataPort=1)."));
}

TEST_F(ExecutionGraphTest, RefusesEveryStepThatFlinkDoesNotKnow) {
  const S all[] = {S::kCreated,  S::kScheduled, S::kDeploying, S::kInitializing, S::kRunning,
                   S::kFinished, S::kCanceling, S::kCanceled,  S::kFailed};
  const std::vector<std::pair<std::vector<S>, std::vector<S>>> allowed = {
      {{}, {S::kScheduled, S::kCanceling, S::kFailed}},
      {{S::kScheduled}, {S::kDeploying, S::kCanceling, S::kFailed}},
      {{S::kScheduled, S::kDeploying}, {S::kInitializing, S::kFinished, S::kCanceling, S::kFailed}},
      {{S::kScheduled, S::kDeploying, S::kInitializing}, {S::kRunning, S::kFinished, S::kCanceling, S::kFailed}},
      {{S::kScheduled, S::kDeploying, S::kInitializing, S::kRunning}, {S::kFinished, S::kCanceling, S::kFailed}},
      {{S::kCanceling}, {S::kCanceled}},
      {{S::kCanceling, S::kCanceled}, {}},
      {{S::kFailed}, {}},
  };
  for (const auto& [path, next] : allowed) {
    for (const S to : all) {
      auto g = make(pairOf(1, 1, DistributionPattern::kAllToAll));
      for (const S s : path) ASSERT_TRUE(g.transition(0, s));
      const S from = g.task(0).current.state;
      const size_t lines = log.lines.size();
      const bool expected = std::find(next.begin(), next.end(), to) != next.end();
      EXPECT_EQ(g.transition(0, to), expected) << toString(from) << " to " << toString(to);
      EXPECT_EQ(g.task(0).current.state, expected ? to : from);
      EXPECT_EQ(log.lines.size() > lines, expected);
    }
  }
}

TEST_F(ExecutionGraphTest, JobLinesAreFlinks) {
  auto g = make(pairOf(1, 1, DistributionPattern::kAllToAll));
  log.lines.clear();
  g.switchJob(JobStatus::kRunning);
  g.switchJob(JobStatus::kFailing, std::make_shared<Throwable>("org.apache.flink.runtime.JobException", "no"));
  EXPECT_THAT(log.lines, ElementsAre("Job pair (00000000000000000000000000000007) switched from state CREATED to RUNNING.",
                                     "Job pair (00000000000000000000000000000007) switched from state RUNNING to FAILING.\n"
                                     "org.apache.flink.runtime.JobException: no"));
  EXPECT_EQ(g.statusTimestampMs(JobStatus::kFailing), clock.now);
}

TEST_F(ExecutionGraphTest, TasksAreNumberedFromSourcesToSinks) {
  auto graph = std::make_shared<JobGraph>("reversed");
  const int32_t sink = graph->addVertex(vertex("sink", 1));
  const int32_t source = graph->addVertex(vertex("source", 2, true));
  graph->connect(source, sink, DistributionPattern::kAllToAll, "GLOBAL");
  auto g = make(graph);
  EXPECT_EQ(g.task(0).name, "source (1/2)");
  EXPECT_EQ(g.task(1).name, "source (2/2)");
  EXPECT_EQ(g.task(2).name, "sink (1/1)");
  EXPECT_EQ(g.taskOf(sink, 0), 2);
}

TEST_F(ExecutionGraphTest, AnAllToAllEdgeMakesOneRegion) {
  auto g = make(pairOf(3, 2, DistributionPattern::kAllToAll));
  EXPECT_EQ(g.regionCount(), 1);
  EXPECT_THAT(g.region(0), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(ExecutionGraphTest, PointwiseEdgesKeepRegionsApart) {
  auto g = make(pairOf(2, 4, DistributionPattern::kPointwise));
  EXPECT_EQ(g.regionCount(), 2);
  EXPECT_THAT(g.region(g.task(0).region), ElementsAre(0, 2, 3));
  EXPECT_THAT(g.region(g.task(1).region), ElementsAre(1, 4, 5));
}

TEST_F(ExecutionGraphTest, UnconnectedVerticesAreRegionsOfTheirOwn) {
  auto graph = pairOf(2, 2, DistributionPattern::kAllToAll);
  graph->addVertex(vertex("alone", 2, true));
  auto g = make(graph);
  EXPECT_EQ(g.regionCount(), 3);
}

TEST_F(ExecutionGraphTest, DeploymentsNameEveryChannelOnce) {
  auto g = make(pairOf(2, 3, DistributionPattern::kAllToAll));
  const TaskDeployment source = g.deploymentOf(1);
  ASSERT_THAT(source.outputs, SizeIs(1));
  EXPECT_EQ(source.outputs[0].partition.partition, 1);
  EXPECT_EQ(source.outputs[0].subpartitions, 3);
  const TaskDeployment map = g.deploymentOf(4);
  ASSERT_THAT(map.inputs, SizeIs(1));
  EXPECT_EQ(map.inputs[0].subpartition, 2);
  ASSERT_THAT(*map.inputs[0].channels, SizeIs(2));
  EXPECT_EQ((*map.inputs[0].channels)[1], (ResultPartitionID{source.outputs[0].partition, source.attempt}));
  EXPECT_EQ(map.graphHash, g.graph().hash());
  EXPECT_EQ(map.vertexName, "map");
}

TEST_F(ExecutionGraphTest, ConsumersOfAnAllToAllEdgeShareTheirChannelsUntilAProducerRestarts) {
  auto g = make(pairOf(512, 4, DistributionPattern::kAllToAll));
  const auto first = g.deploymentOf(512).inputs[0].channels;
  EXPECT_EQ(g.deploymentOf(515).inputs[0].channels, first);
  ASSERT_TRUE(g.transition(3, S::kFailed));
  g.startNextAttempt(3);
  const auto second = g.deploymentOf(512).inputs[0].channels;
  EXPECT_EQ((*first)[3].producer.attempt, 0);
  EXPECT_EQ((*second)[3].producer.attempt, 1);
}

TEST_F(ExecutionGraphTest, AttemptsCountUpAndStaleOnesAreNotFound) {
  auto g = make(pairOf(1, 1, DistributionPattern::kAllToAll));
  const ExecutionAttemptID old = g.task(0).current.id;
  EXPECT_EQ(g.find(old), 0);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(g.transition(0, S::kFailed));
    g.startNextAttempt(0);
  }
  EXPECT_EQ(g.find(old), -1);
  EXPECT_EQ(g.task(0).current.id.attempt, 3);
  EXPECT_EQ(g.task(0).current.state, S::kCreated);
  EXPECT_THAT(g.task(0).prior, SizeIs(2)) << "the history is bounded";
  EXPECT_EQ(g.task(0).prior.back().id.attempt, 2);
  EXPECT_EQ(g.countIn(S::kCreated), 2);
  ExecutionAttemptID foreign = g.task(0).current.id;
  foreign.graph = {};
  EXPECT_EQ(g.find(foreign), -1);
  ExecutionAttemptID outside = g.task(0).current.id;
  outside.subtask = 1;
  EXPECT_EQ(g.find(outside), -1);
}

}  // namespace
}  // namespace weir
