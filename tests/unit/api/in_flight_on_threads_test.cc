#include <gtest/gtest.h>

#include <map>

#include "support/temp_dir.h"
#include "weir/api/mini_cluster.h"
#include "weir/api/stream_execution_environment.h"
#include "weir/base/log_sinks.h"
#include "weir/base/real_file_system.h"
#include "weir/base/thread_executor.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/operators/transactional_collect_sink.h"

// In-flight data through real files, with a thread per task: what the simulation shows in virtual time. Whole jobs, stopped in the middle
// and gone on at another parallelism.
namespace weir {
namespace {

using Store = TransactionalCollectResult<int64_t>;
constexpr int64_t kRecords = 3000;

/// source -> hash -> work, slow -> rebalance -> collect
StreamExecutionEnvironment program(const std::string& folder, int32_t work, const std::shared_ptr<Store>& store) {
  StreamExecutionEnvironment env;
  env.configure("execution.checkpointing.interval", "20 ms")
      .configure("execution.checkpointing.dir", folder)
      .configure("execution.checkpointing.unaligned.enabled", "true")
      .configure("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION")
      .configure("execution.checkpointing.data-inline-threshold", "0");
  DataStream<int64_t> hashed = env.fromGenerator(kRecords, [](int64_t i) { return i; })
                                   .uid("source")
                                   .setParallelism(2)
                                   .keyBy([](int64_t x) { return x; })
                                   .stream();
  hashed
      .map([](int64_t x) { return x; })
      .uid("work")
      .setParallelism(work)
      .cost(std::chrono::microseconds(200))
      .rebalance()
      .sinkTo("collect", Batching::kBatches, TransactionalCollectSink<int64_t>(store))
      .uid("collect")
      .setParallelism(2);
  return env;
}

JobResult run(const StreamExecutionEnvironment& env, const std::function<void(ExecutionContext&, JobMaster&)>& meanwhile) {
  ThreadExecutor executor;
  RealFileSystem files;
  NullLogSink log;
  JobResult result;
  executor.run("client", [&](ExecutionContext& context) {
    const auto graph = env.getJobGraph("job").value();
    MiniClusterOptions options;
    options.segmentSize = 1024;
    options.networkSegments = 1024;
    const auto cluster = MiniCluster::start({executor, files, log}, env.configuration(), slotsNeeded(*graph), std::move(options)).value();
    const auto master = cluster->submit(graph, env.configuration()).value();
    meanwhile(context, *master);
    context.wait(WaitReason::kInputOrMail, {&master->done()});
    result = master->result();
    cluster->stop(context);
  });
  return result;
}

/// Cancels once three more checkpoints are completed. The newest one's folder; empty where the job was faster.
std::string cancelInTheMiddle(const StreamExecutionEnvironment& env) {
  std::string folder;
  const JobResult result = run(env, [&](ExecutionContext& context, JobMaster& master) {
    while (!master.done().isSet()) {
      context.wait(WaitReason::kInputOrMail, {&master.done()}, Deadline::work(context.clock().monotonic() + Millis(5)));
      const auto reply = master.requestSnapshot();
      context.wait(WaitReason::kInputOrMail, {&reply->ready()});
      const JobSnapshot snapshot = reply->take();
      if (!snapshot.checkpoints || snapshot.checkpoints->counts.completed < 3) continue;
      master.cancel();
      context.wait(WaitReason::kInputOrMail, {&master.done()});
      const auto last = master.requestSnapshot();
      context.wait(WaitReason::kInputOrMail, {&last->ready()});
      folder = localPath(last->take().checkpoints->latestCompleted->externalPath).value();
    }
  });
  EXPECT_TRUE(result.status == JobStatus::kCanceled || result.status == JobStatus::kFinished)
      << (result.failure ? result.failure->trace() : "");
  return result.status == JobStatus::kCanceled ? folder : "";
}

TEST(InFlightOnThreads, ComesBackFromRealFilesAtAnotherParallelism) {
  const testing::TempDir folder;
  const auto store = std::make_shared<Store>();
  auto env = program(folder / "0", 2, store);
  int rescales = 0;
  for (const int32_t work : {3, 1, 2}) {
    const std::string checkpoint = cancelInTheMiddle(env);
    if (checkpoint.empty()) break;
    ++rescales;
    env = program(folder / std::to_string(rescales), work, store);
    env.configure("execution.state-recovery.path", checkpoint);
  }
  EXPECT_GE(rescales, 1);
  if (rescales == 3) {
    const JobResult result = run(env, [](ExecutionContext&, JobMaster&) {});
    ASSERT_EQ(result.status, JobStatus::kFinished) << (result.failure ? result.failure->trace() : "");
  }
  std::map<int64_t, int> times;
  for (const int64_t value : store->values()) ++times[value];
  EXPECT_EQ(times.size(), static_cast<size_t>(kRecords)) << "none is lost";
  for (const auto& [value, count] : times) ASSERT_EQ(count, 1) << value;
}

}  // namespace
}  // namespace weir
