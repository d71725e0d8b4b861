#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/job_runner.h"
#include "weir/exchange/key_groups.h"
#include "weir/operators/sinks.h"
#include "weir/transport/memory_transport.h"

// What a running job tells of its network, by Flink's names.
namespace weir {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Key;
using ::testing::Not;

using Readings = std::map<std::string, double>;

/// A -> B -> C (slow) -> D, each in a slot of its own. Virtual time.
struct Chain : testing::Test {
  JobRunner runner{JobRunner::simulated(5)};
  StreamExecutionEnvironment env;
  int taskManagers = 4;
  Nanos costOfC = Millis(1);

  void SetUp() override { runner.cluster.segmentSize = 512; }

  /// Metrics of each task by its name, once the job has run for `time`.
  std::map<std::string, Readings> readAfter(Nanos time) {
    env.configure("minicluster.number-of-taskmanagers", std::to_string(taskManagers))
        .configure("taskmanager.numberOfTaskSlots", std::to_string(4 / taskManagers));
    env.fromGenerator(1'000'000, [](int64_t i) { return i; })
        .name("A")
        .slotSharingGroup("a")
        .map([](int64_t x) { return x; })
        .name("B")
        .slotSharingGroup("b")
        .map([](int64_t x) { return x; })
        .name("C")
        .slotSharingGroup("c")
        .cost(costOfC)
        .addSink([](int64_t) {})
        .name("D")
        .slotSharingGroup("d");
    std::map<std::string, Readings> all;
    const JobResult result = runner.run(env, [&](ExecutionContext& context, MiniCluster& cluster, JobMaster& master) {
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + time));
      for (const auto& task : cluster.runningTasks(context)) {
        held = task;
        for (const auto& metric : task->environment().metrics->read())
          all[task->environment().vertexName][metric.name] = asDouble(metric.value);
      }
      for (const auto& metric : cluster.taskManagers().front()->metrics().read()) taskManager[metric.name] = asDouble(metric.value);
      master.cancel();
    });
    EXPECT_EQ(result.status, JobStatus::kCanceled) << (result.failure ? result.failure->trace() : "");
    return all;
  }

  Readings taskManager;
  std::shared_ptr<Task> held;  ///< one that has ended by now
};

/// The table by which an operator of Flink reads the usage of pools: the cause is who takes as much as it gets and hands all of it on.
std::string bottleneck(const std::map<std::string, Readings>& tasks) {
  for (const auto& [name, metrics] : tasks)
    if (metrics.at("buffers.inPoolUsage") > 0.8 && metrics.at("buffers.outPoolUsage") < 0.2) return name;
  return "nobody";
}

TEST_F(Chain, PoolUsageReading) {
  auto tasks = readAfter(std::chrono::seconds(2));
  ASSERT_EQ(tasks.size(), 4u);
  EXPECT_GE(tasks["Source: A"]["buffers.outPoolUsage"], 1) << "back-pressured";
  EXPECT_GE(tasks["B"]["buffers.outPoolUsage"], 1);
  EXPECT_GT(tasks["C"]["buffers.inPoolUsage"], 0.8) << "all but what is on its way";
  EXPECT_LT(tasks["C"]["buffers.outPoolUsage"], 0.2);
  EXPECT_LT(tasks["Sink: D"]["buffers.inPoolUsage"], 0.2);
  EXPECT_EQ(bottleneck(tasks), "C");
}

TEST_F(Chain, TheUsageOfAllInputBuffersIsThatOfExclusiveAndFloatingOnes) {
  auto c = readAfter(std::chrono::seconds(2))["C"];
  const double exclusive = c["Shuffle.Netty.Input.Buffers.inputExclusiveBuffersUsage"];
  const double floating = c["Shuffle.Netty.Input.Buffers.inputFloatingBuffersUsage"];
  EXPECT_GT(floating, 0.8);
  EXPECT_NEAR(c["Shuffle.Netty.Input.Buffers.inPoolUsage"], (2 * exclusive + 8 * floating) / 10, 1e-9);
  EXPECT_EQ(c["Shuffle.Netty.Input.Buffers.inPoolUsage"], c["buffers.inPoolUsage"]) << "the older name";
  EXPECT_GE(c["Shuffle.Netty.Input.Buffers.inputQueueLength"], 7);
  EXPECT_GE(c["Shuffle.Netty.Input.Buffers.inputQueueSize"], 7 * 500);
}

TEST_F(Chain, BuffersThatWaitForWhatIsOnItsWayAreNotInUse) {
  // A way of 100 ms: all buffers are announced as credit long before they are filled.
  runner.cluster.transport = std::make_shared<MemoryTransport>(
      runner.executor().clock(), MemoryTransportOptions{.shortestDelay = Millis(100), .longestDelay = Millis(100)});
  costOfC = std::chrono::microseconds(10);
  auto c = readAfter(Millis(5050))["C"];
  EXPECT_LT(c["buffers.inputFloatingBuffersUsage"], 0.5);
  EXPECT_LT(c["buffers.inputExclusiveBuffersUsage"], 1);
}

TEST_F(Chain, WhatComesOverConnectionsIsCountedAsRemote) {
  auto c = readAfter(std::chrono::seconds(20))["C"];
  EXPECT_GT(c["numBuffersInRemote"], 100);
  EXPECT_GT(c["numBytesInRemote"], 100 * 500);
  EXPECT_EQ(c["numBuffersInLocal"], 0);
  EXPECT_EQ(c["numBytesIn"], c["numBytesInRemote"]);
  EXPECT_EQ(c["Shuffle.Netty.Input.numBuffersInRemote"], c["numBuffersInRemote"]);
  EXPECT_GT(c["numBuffersInRemotePerSecond"], 1);
  EXPECT_EQ(c["numBuffersInLocalPerSecond"], 0);
  EXPECT_GT(c["numBytesOut"], 0);
  EXPECT_GT(c["numBytesOutPerSecond"], 0);
}

TEST_F(Chain, WhatComesFromTheSameTaskManagerIsCountedAsLocal) {
  taskManagers = 1;
  auto c = readAfter(std::chrono::seconds(20))["C"];
  EXPECT_GT(c["numBuffersInLocal"], 100);
  EXPECT_GT(c["numBuffersInLocalPerSecond"], 1);
  EXPECT_EQ(c["numBuffersInRemote"], 0);
  EXPECT_EQ(c["numBytesIn"], c["numBytesInLocal"]);
  EXPECT_EQ(c["buffers.inputExclusiveBuffersUsage"], 0) << "it has none";
  EXPECT_EQ(c["Shuffle.Netty.Input.Buffers.inputQueueSize"], 0) << "they lie with their producer";
  EXPECT_GT(c["buffers.inputQueueLength"], 0);
}

TEST_F(Chain, ASourceHasNoInputAndASinkNoOutput) {
  auto tasks = readAfter(std::chrono::seconds(2));
  for (const char* name : {"buffers.inputQueueLength", "buffers.inPoolUsage", "numBytesIn"})
    EXPECT_EQ(tasks["Source: A"].at(name), 0) << name;
  for (const char* name : {"buffers.outputQueueLength", "buffers.outPoolUsage", "numBytesOut"})
    EXPECT_EQ(tasks["Sink: D"].at(name), 0) << name;
}

TEST_F(Chain, QueuesOfEachGateAndPartitionAreToldWhereTheyAreAskedFor) {
  EXPECT_THAT(readAfter(std::chrono::seconds(2))["C"], Not(Contains(Key("Shuffle.Netty.Input.0.totalQueueLen"))));
}
TEST_F(Chain, DetailedMetricsTellTheQueuesOfEachGateAndPartition) {
  env.configure("taskmanager.network.detailed-metrics", "true");
  auto tasks = readAfter(std::chrono::seconds(2));
  for (const char* which : {"total", "min", "max", "avg"}) {
    EXPECT_EQ(tasks["C"].at(std::string("Shuffle.Netty.Input.0.") + which + "QueueLen"), tasks["C"]["buffers.inputQueueLength"])
        << "there is one channel";
    EXPECT_EQ(tasks["B"].at(std::string("Network.Output.0.") + which + "QueueLen"), tasks["B"]["buffers.outputQueueLength"]);
  }
}

TEST_F(Chain, BufferSizesAreToldWhereTheyAreDebloated) {
  EXPECT_THAT(readAfter(std::chrono::seconds(2))["C"], Not(Contains(Key("debloatedBufferSize"))));
}
TEST_F(Chain, ADebloatedTaskTellsItsBufferSizeAndHowLongItsInputLasts) {
  runner.cluster.segmentSize = 4096;
  env.configure("taskmanager.network.memory.buffer-debloat.enabled", "true");
  auto c = readAfter(std::chrono::seconds(20))["C"];
  EXPECT_GE(c.at("debloatedBufferSize"), 256);
  EXPECT_LT(c.at("debloatedBufferSize"), 4096) << "a record costs 1 ms, and a second's worth is wanted";
  EXPECT_GT(c.at("estimatedTimeToConsumeBuffersMs"), 100);
}

TEST_F(Chain, ATaskThatHasEndedTellsNothing) {
  (void)readAfter(std::chrono::seconds(1));
  EXPECT_TRUE(held->environment().metrics->read().empty());
}

TEST_F(Chain, ATaskManagerTellsOfItsSegments) {
  runner.cluster.networkSegments = 100;
  (void)readAfter(std::chrono::seconds(2));
  EXPECT_EQ(taskManager.at("Status.Shuffle.Netty.TotalMemorySegments"), 100);
  EXPECT_EQ(taskManager.at("Status.Shuffle.Netty.TotalMemory"), 100 * 512);
  EXPECT_GT(taskManager.at("Status.Shuffle.Netty.UsedMemorySegments"), 0);
  EXPECT_EQ(taskManager.at("Status.Shuffle.Netty.UsedMemorySegments") + taskManager.at("Status.Shuffle.Netty.AvailableMemorySegments"),
            100);
  EXPECT_EQ(taskManager.at("Status.Network.AvailableMemorySegments"), taskManager.at("Status.Shuffle.Netty.AvailableMemorySegments"));
}

/// TaskManagers of four slots each; 16 subtasks of a keyed job fill four of them, and one is left over. Nine of ten records have a key of
/// the subtasks 4 to 7.
struct OneMachine : testing::Test {
  static constexpr int32_t kParallelism = 16;

  static bool isHot(int32_t subtask) { return subtask >= 4 && subtask < 8; }
  static std::vector<int64_t> hotKeys() {
    std::vector<int64_t> keys;
    const int32_t most = computeDefaultMaxParallelism(kParallelism);
    for (int64_t key = 0; keys.size() < 40; ++key)
      if (isHot(assignKeyToParallelOperator(key, kParallelism, most))) keys.push_back(key);
    return keys;
  }

  struct Seen {
    std::map<std::string, double> bytesIn;  ///< of the aggregation, by TaskManager
    std::string host;                       ///< of the hot subtasks
    std::vector<std::string> full;          ///< where a task is whose input buffers are all in use
  };
  static Seen look(ExecutionContext& context, MiniCluster& cluster) {
    Seen seen;
    for (const auto& tm : cluster.taskManagers()) {
      const auto reply = tm->requestTasks();
      context.wait(WaitReason::kInputOrMail, {&reply->ready()});
      for (const auto& task : reply->take()) {
        const TaskEnvironment& environment = task->environment();
        if (environment.vertexName.find("sum") == std::string::npos) continue;
        seen.bytesIn[tm->id()] += asDouble(*environment.metrics->read("numBytesIn"));
        if (isHot(environment.subtask())) seen.host = tm->id();
        if (asDouble(*environment.metrics->read("buffers.inputExclusiveBuffersUsage")) > 0.5) seen.full.push_back(tm->id());
      }
    }
    return seen;
  }
  static void expectTheLoadAtItsHost(Seen seen) {
    ASSERT_FALSE(seen.host.empty());
    std::vector<double> all;
    for (const auto& [id, bytes] : seen.bytesIn) all.push_back(bytes);
    std::sort(all.begin(), all.end());
    EXPECT_GT(seen.bytesIn[seen.host], 3 * all[all.size() / 2]);
    EXPECT_FALSE(seen.full.empty());
    EXPECT_THAT(seen.full, ::testing::Each(seen.host)) << "who is late is there";
  }
};

TEST_F(OneMachine, OneMachineGetsTheLoad) {
  JobRunner runner(JobRunner::simulated(3));
  const auto transport = std::make_shared<MemoryTransport>(runner.executor().clock());
  runner.cluster.transport = transport;
  runner.cluster.segmentSize = 512;
  StreamExecutionEnvironment env;
  env.setParallelism(kParallelism)
      .configure("minicluster.number-of-taskmanagers", "5")
      .configure("taskmanager.numberOfTaskSlots", "4")
      .configure("restart-strategy.type", "fixed-delay")
      .configure("restart-strategy.fixed-delay.delay", "0 ms");
  const auto hot = hotKeys();
  env.fromGenerator(
         100'000'000,
         [hot](int64_t i) {
           return std::pair<int64_t, int64_t>(i % 10 == 0 ? i : hot[static_cast<size_t>(i) % hot.size()], 1);
         },
         1'000)
      .keyBy([](const std::pair<int64_t, int64_t>& p) { return p.first; })
      .reduce([](const auto& a, const auto& b) { return std::pair(a.first, a.second + b.second); })
      .name("sum")
      .cost(Millis(4))
      .addSink([](const std::pair<int64_t, int64_t>&) {});
  Seen before, after;
  const JobResult result = runner.run(env, [&](ExecutionContext& context, MiniCluster& cluster, JobMaster& master) {
    const auto pause = [&](Nanos time) {
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + time));
    };
    pause(std::chrono::seconds(20));
    before = look(context, cluster);
    transport->cut(before.host);
    runner.executor().kill(before.host);
    master.taskManagerLost(before.host, "killed by the test");
    pause(std::chrono::seconds(20));
    after = look(context, cluster);
    master.cancel();
  });
  EXPECT_EQ(result.status, JobStatus::kCanceled) << (result.failure ? result.failure->trace() : "");
  expectTheLoadAtItsHost(before);
  expectTheLoadAtItsHost(after);
  EXPECT_NE(before.host, after.host) << "it moves with the tasks: it is not the machine";
}

}  // namespace
}  // namespace weir
