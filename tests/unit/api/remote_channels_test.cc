#include <gtest/gtest.h>

#include <map>

#include "support/job_runner.h"
#include "support/test_certificates.h"
#include "weir/operators/transactional_collect_sink.h"
#include "weir/transport/memory_transport.h"
#include "weir/transport/proxied_transport.h"
#include "weir/transport/socket_transport.h"

namespace weir {
namespace {

using Pair = std::pair<int64_t, int64_t>;
using Store = TransactionalCollectResult<Pair>;

constexpr int64_t kRecords = 5000;

/// The latest sum of each key is its largest.
std::map<int64_t, int64_t> sumsOf(const Store& store) {
  std::map<int64_t, int64_t> sums;
  for (const auto& [key, sum] : store.values()) sums[key] = std::max(sums[key], sum);
  return sums;
}

std::map<int64_t, int64_t> expected() {
  std::map<int64_t, int64_t> sums;
  for (int64_t x = 1; x <= kRecords; ++x) sums[x % 10] += x;
  return sums;
}

/// A keyed job whose tasks run in one TaskManager or in several: who reads from another one does so over a connection.
class OverTaskManagers : public ::testing::TestWithParam<const char*> {
 public:
  static StreamExecutionEnvironment program(int taskManagers, const std::shared_ptr<Store>& store,
                                            double perSecond = StreamExecutionEnvironment::kUnlimited) {
    StreamExecutionEnvironment env;
    env.setParallelism(4)
        .configure("minicluster.number-of-taskmanagers", std::to_string(taskManagers))
        .configure("execution.checkpointing.interval", "20 ms")
        .configure("restart-strategy.type", "fixed-delay")
        .configure("restart-strategy.fixed-delay.attempts", "1000")
        .configure("restart-strategy.fixed-delay.delay", "0 ms");
    env.fromGenerator(kRecords, [](int64_t i) { return Pair((i + 1) % 10, i + 1); }, perSecond)
        .keyBy([](const Pair& p) { return p.first; })
        .reduce([](const Pair& a, const Pair& b) { return Pair(a.first, a.second + b.second); })
        .sinkTo("collect", Batching::kBatches, TransactionalCollectSink<Pair>(store));
    return env;
  }

 protected:
  std::unique_ptr<Executor> executor() const {
    const std::string name = GetParam();
    return name == "threads" ? JobRunner::threads() : name == "pool" ? JobRunner::pool() : JobRunner::simulated(11);
  }
};
INSTANTIATE_TEST_SUITE_P(All, OverTaskManagers, ::testing::Values("threads", "pool", "simulated"),
                         [](const auto& info) { return info.param; });

TEST_P(OverTaskManagers, AJobGivesTheSameAsInOne) {
  for (const int taskManagers : {1, 2, 3}) {
    JobRunner runner(executor());
    const auto store = std::make_shared<Store>();
    const JobResult result = runner.run(program(taskManagers, store));
    ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
    EXPECT_EQ(store->values().size(), static_cast<size_t>(kRecords)) << "each record once";
    EXPECT_EQ(sumsOf(*store), expected()) << taskManagers << " TaskManagers";
    const bool overSockets = runner.log().text().find("tm1 listens for data connections on 127.0.0.1:") != std::string::npos;
    EXPECT_EQ(overSockets, taskManagers > 1 && std::string(GetParam()) == "threads");
    EXPECT_EQ(runner.lostSegments, 0);
  }
}

TEST_P(OverTaskManagers, AJobRecoversFromALostConnection) {
  JobRunner runner(executor());
  const auto store = std::make_shared<Store>();
  const auto transport = std::make_shared<MemoryTransport>(runner.executor().clock());
  runner.cluster.transport = transport;
  const JobResult result = runner.run(program(2, store, 10'000), [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
    while (transport->openConnections() == 0 && !master.done().isSet())
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + Millis(1)));
    context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + Millis(50)));
    transport->cut("tm2");
  });
  ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
  EXPECT_GE(result.restarts, 1);
  EXPECT_EQ(sumsOf(*store), expected());
  EXPECT_EQ(store->values().size(), static_cast<size_t>(kRecords)) << "each record once";
  EXPECT_EQ(runner.lostSegments, 0);
  EXPECT_NE(runner.log().text().find("Connection unexpectedly closed by remote task manager"), std::string::npos);
}

// The process of a TaskManager is gone with its connections; its slots are taken over by the others.
TEST(LostTaskManager, TheOthersGoOnWithoutIt) {
  for (uint64_t seed = 1; seed <= 20 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    JobRunner runner(JobRunner::simulated(seed));
    const auto store = std::make_shared<Store>();
    const auto transport = std::make_shared<MemoryTransport>(runner.executor().clock(), MemoryTransportOptions::simulated(seed));
    runner.cluster.transport = transport;
    StreamExecutionEnvironment program = OverTaskManagers::program(3, store, 10'000);
    program.configure("taskmanager.numberOfTaskSlots", "2");
    const JobResult result = runner.run(program, [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + Millis(100 + 7 * seed)));
      transport->cut("tm2");
      runner.executor().kill("tm2");
      master.taskManagerLost("tm2", "killed by the test");
    });
    ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
    EXPECT_GE(result.restarts, 1);
    EXPECT_EQ(store->values().size(), static_cast<size_t>(kRecords)) << "each record once";
    EXPECT_EQ(sumsOf(*store), expected());
    EXPECT_EQ(runner.lostSegments, 0);
  }
}

TEST(OverTls, AJobGivesTheSameAsInTheClear) {
  JobRunner runner(JobRunner::threads());
  const std::string pem = testing::Identity::make("cluster").pem();
  ASSERT_TRUE(runner.files().createDirectories("/conf").has_value());
  auto file = runner.files().create("/conf/cluster.pem", FileSystem::Create::kNew).value();
  ASSERT_TRUE(file->append(std::as_bytes(std::span(pem))).has_value());
  ASSERT_TRUE(file->close().has_value());
  const auto store = std::make_shared<Store>();
  StreamExecutionEnvironment program = OverTaskManagers::program(2, store);
  program.configure("security.ssl.internal.enabled", "true");
  for (const std::string which : {"keystore", "truststore"}) {
    program.configure("security.ssl.internal." + which, "/conf/cluster.pem").configure("security.ssl.internal." + which + "-type", "PEM");
  }
  const JobResult result = runner.run(program);
  ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
  EXPECT_EQ(sumsOf(*store), expected());
  EXPECT_EQ(result.restarts, 0);
  EXPECT_EQ(runner.lostSegments, 0);
}

TEST(OverTls, AJobWhoseCertificateIsMissingDoesNotStart) {
  JobRunner runner(JobRunner::threads());
  StreamExecutionEnvironment program = OverTaskManagers::program(2, std::make_shared<Store>());
  program.configure("security.ssl.internal.enabled", "true");
  const JobResult result = runner.run(program);
  ASSERT_EQ(result.status, JobStatus::kFailed);
  EXPECT_NE(result.failure->trace().find("security.ssl.internal.enabled is true, and security.ssl.internal.keystore is not set"),
            std::string::npos)
      << result.failure->trace();
}

// Over real sockets, each link through a proxy.
struct OverFaultyLinks : ::testing::Test {
  JobRunner runner{JobRunner::threads()};
  std::shared_ptr<Store> store = std::make_shared<Store>();
  std::shared_ptr<ProxiedTransport> links = std::make_shared<ProxiedTransport>(
      runner.executor(), std::make_shared<SocketTransport>(runner.executor(), runner.log()));

  /// `fault` is called once both TaskManagers read from each other.
  JobResult run(const std::function<void(ExecutionContext&, LinkProxy& there, LinkProxy& back)>& fault) {
    runner.cluster.transport = links;
    const JobResult result =
        runner.run(OverTaskManagers::program(2, store, 10'000), [&](ExecutionContext& context, MiniCluster&, JobMaster& master) {
          LinkProxy& there = **links->link("tm2", "tm1");
          LinkProxy& back = **links->link("tm1", "tm2");
          while ((there.connections() == 0 || back.connections() == 0) && !master.done().isSet()) pause(context, Millis(1));
          fault(context, there, back);
        });
    EXPECT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
    EXPECT_EQ(sumsOf(*store), expected());
    EXPECT_EQ(store->values().size(), static_cast<size_t>(kRecords)) << "each record once";
    EXPECT_EQ(runner.lostSegments, 0);
    return result;
  }
  static void pause(ExecutionContext& context, Nanos time) {
    context.wait(WaitReason::kInputOrMail, {}, Deadline::work(context.clock().monotonic() + time));
  }
};

TEST_F(OverFaultyLinks, AJobRecoversFromACutLink) {
  const JobResult result = run([](ExecutionContext& context, LinkProxy& there, LinkProxy&) {
    pause(context, Millis(50));
    there.cut();
  });
  EXPECT_GE(result.restarts, 1);
  EXPECT_NE(runner.log().text().find("Lost connection to task manager 'tm1'."), std::string::npos);
}

TEST_F(OverFaultyLinks, ASlowLinkSlowsAJobDownAndFailsNobody) {
  const JobResult result = run([](ExecutionContext&, LinkProxy& there, LinkProxy& back) {
    there.setDelay(Millis(5));
    back.setDelay(Millis(20));
    back.setBandwidth(200'000);
  });
  EXPECT_EQ(result.restarts, 0);
}

TEST_F(OverFaultyLinks, AJobWaitsForALinkThatIsSilentForAWhile) {
  const JobResult result = run([](ExecutionContext& context, LinkProxy& there, LinkProxy&) {
    pause(context, Millis(30));
    there.goSilent();
    pause(context, Millis(300));
    there.goOn();
  });
  EXPECT_EQ(result.restarts, 0);
}

}  // namespace
}  // namespace weir
