#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/log_sinks.h"
#include "weir/base/memory_file_system.h"
#include "weir/base/simulated_executor.h"
#include "weir/base/thread_executor.h"
#include "weir/graph/stream_graph.h"
#include "weir/checkpoint/default_operator_state_backend.h"
#include "weir/checkpoint/fs_checkpoint_storage.h"
#include "weir/jobmanager/job_checkpointing.h"
#include "weir/jobmanager/job_master.h"
#include "weir/operators/partitioning.h"
#include "weir/operators/source.h"
#include "weir/operators/stateless.h"
#include "weir/taskmanager/task_executor.h"
#include "weir/transport/memory_transport.h"

// A small job of real operators on real TaskManagers under a JobMaster.
namespace weir::tmtest {

/// What the sinks of a job saw, and what its maps do.
struct Shared {
  Mutex mutex;
  std::map<int64_t, int> seen;  ///< record -> how often
  int64_t total() {
    Lock lock(mutex);
    int64_t n = 0;
    for (const auto& [record, times] : seen) n += times;
    return n;
  }
  size_t distinct() {
    Lock lock(mutex);
    return seen.size();
  }
  /// Called by every map with each record: may throw or wait.
  std::function<void(RuntimeContext&, int64_t)> onRecord;
};

struct HookedMap {
  std::shared_ptr<Shared> shared;
  std::shared_ptr<RuntimeContext> runtime;
  void open(RuntimeContext& context) { runtime = std::make_shared<RuntimeContext>(context); }
  int64_t operator()(int64_t record) const {
    if (shared->onRecord) shared->onRecord(*runtime, record);
    return record;
  }
};

struct JobShape {
  int64_t records = 1000;
  double perSecond = std::numeric_limits<double>::infinity();
  int32_t sources = 2, maps = 2, sinks = 2;
  PartitionerKind toMap = PartitionerKind::kRebalance, toSink = PartitionerKind::kRebalance;
  int64_t bufferTimeoutMs = 100;
};

inline std::shared_ptr<const JobGraph> sourceMapSink(const std::shared_ptr<Shared>& shared, const JobShape& shape,
                                                     const std::string& name = "surface-C") {
  const auto* type = &ElementTypeOf<int64_t>::instance();
  StreamGraph graph;
  const auto node = [&](const char* id, int32_t parallelism, std::shared_ptr<const OperatorFactory> factory) {
    StreamNode n;
    n.name = n.uid = id;
    n.parallelism = parallelism;
    n.factory = std::move(factory);
    n.chaining = ChainingStrategy::kHead;
    n.bufferTimeout = {shape.bufferTimeoutMs};
    if (std::string(id) != "source") n.inputType = type;
    return graph.addNode(std::move(n));
  };
  const auto generate = [](int64_t i) { return i; };
  using Reader = GeneratorReader<decltype(generate)>;
  const int32_t source =
      node("source", shape.sources,
           makeOperatorFactory(
               Batching::kBatches,
               [=](OperatorSetup setup) {
                 return std::make_unique<SourceOperator<Reader>>(std::move(setup), Reader(shape.records, generate), shape.perSecond);
               },
               true));
  const int32_t map =
      node("map", shape.maps, makeOperatorFactory(Batching::kOneByOne, [=](OperatorSetup setup) {
             return std::make_unique<MapOperator<int64_t, int64_t, HookedMap>>(std::move(setup), HookedMap{shared, nullptr});
           }));
  const auto collect = [shared](int64_t record) {
    Lock lock(shared->mutex);
    ++shared->seen[record];
  };
  const int32_t sink = node("sink", shape.sinks, makeOperatorFactory(Batching::kOneByOne, [=](OperatorSetup setup) {
                              return std::make_unique<SinkOperator<int64_t, decltype(collect)>>(std::move(setup), collect);
                            }));
  const auto edge = [&](int32_t from, int32_t to, PartitionerKind kind) {
    StreamEdge e;
    e.source = from;
    e.target = to;
    e.type = type;
    e.partitioner = std::make_shared<UnkeyedEdge<int64_t>>(kind);
    graph.addEdge(std::move(e));
  };
  edge(source, map, shape.toMap);
  edge(map, sink, shape.toSink);
  auto job = graph.toJobGraph(name);
  if (job.has_error()) throw std::logic_error(job.error().message);
  return std::make_shared<const JobGraph>(std::move(*job));
}

/// One JobMaster and some TaskManagers on an executor; a test runs as the main actor.
class Cluster {
 public:
  explicit Cluster(Executor& executor, LogLevel level = LogLevel::kDebug) : executor_(executor), log(executor.clock(), level) {}

  void run(const std::shared_ptr<const JobGraph>& graph, const std::function<void()>& test) {
    executor_.run("test", [&](ExecutionContext& ctx) {
      context = &ctx;
      World world{executor_, files, log};
      transport = std::make_shared<MemoryTransport>(executor_.clock());
      std::shared_ptr<FsCheckpointStorage> storage;
      JobMaster::CheckpointingFactory checkpointing;
      TaskSettings settings;
      if (checkpointEvery.count() > 0) {
        auto made = FsCheckpointStorage::create(files, job, {.directory = "/checkpoints"}, Random(3));
        ASSERT_FALSE(made.has_error());
        storage = std::move(*made);
        ASSERT_FALSE(storage->initializeBaseLocations().has_error());
        CheckpointCoordinatorConfiguration configuration = coordinator;
        configuration.interval = checkpointEvery;
        checkpointing =
            JobCheckpointing::factory({.configuration = configuration, .storage = storage, .sharedState = nullptr, .initial = {}});
        settings.checkpointingEnabled = true;
      }
      master = JobMaster::create(world, graph, job, masterOptions, std::move(checkpointing));
      for (int i = 1; i <= taskManagers; ++i) {
        TaskExecutorOptions options = tmOptions;
        options.id = "tm" + std::to_string(i);
        options.location = options.id + " @ localhost (dataPort=1)";
        auto tm = TaskExecutor::create(world, options, transport);
        ASSERT_FALSE(tm.has_error()) << tm.error().message;
        ASSERT_FALSE((*tm)->start().has_error());
        (*tm)->connectJob({.job = job, .graph = graph, .jobMaster = master, .settings = settings, .storage = storage,
                           .createOperatorState = [] { return std::make_unique<DefaultOperatorStateBackend>(); },
                           .createChannelStateWriter = createChannelStateWriter});
        master->addTaskManager({options.id, *tm, slots});
        tms.push_back(*tm);
      }
      master->start();
      test();
      master->cancel();
      await(master->done());
      for (const auto& tm : tms) tm->stop();
      for (const auto& tm : tms) await(tm->done());
      for (const auto& tm : tms) leftPartitions += tm->partitions()->manager()->size();
      for (const auto& tm : tms) leftAwaited += tm->partitions()->awaited() + tm->partitions()->manager()->awaited();
      for (const auto& tm : tms) usedSegments += tm->networkBuffers()->usedSegments();
      tms.clear();
      master = nullptr;
    });
  }

  void await(Signal& signal) {
    while (!signal.isSet()) context->wait(WaitReason::kInputOrMail, {&signal});
  }
  /// Looks again and again, as time goes by, until it is true; fails after a minute.
  bool awaitThat(const std::function<bool()>& condition) {
    const Nanos end = context->clock().monotonic() + std::chrono::seconds(60);
    while (!condition()) {
      if (context->clock().monotonic() > end) return false;
      settle(Millis(1));
    }
    return true;
  }
  void settle(Nanos time) {
    context->wait(WaitReason::kInputOrMail, std::initializer_list<Signal*>{}, Deadline::work(context->clock().monotonic() + time));
  }
  JobSnapshot books() {
    const auto reply = master->requestSnapshot();
    await(reply->ready());
    return reply->take();
  }
  bool allIn(ExecutionState state) {
    for (const auto& t : books().tasks) {
      if (t.current.state != state) return false;
    }
    return true;
  }
  const JobResult& result() {
    await(master->done());
    return master->result();
  }
  void fixedDelay(int32_t attempts, Millis delay) {
    masterOptions.scheduler.restart.type = RestartStrategyOptions::Type::kFixedDelay;
    masterOptions.scheduler.restart.fixedDelayAttempts = attempts;
    masterOptions.scheduler.restart.fixedDelay = delay;
  }

 private:
  Executor& executor_;

 public:
  MemoryFileSystem files;
  MemoryLogSink log;
  JobID job = JobID::of(0, 7);
  JobMaster::Options masterOptions = [] {
    JobMaster::Options o;
    o.scheduler.spread = SlotSpread::kSlots;
    return o;
  }();
  TaskExecutorOptions tmOptions;
  Millis checkpointEvery{0};  ///< 0: no checkpoints
  CheckpointCoordinatorConfiguration coordinator;  ///< all but the interval
  std::function<std::shared_ptr<ChannelStateWriter>(const TaskEnvironment&)> createChannelStateWriter;
  int taskManagers = 2;
  int32_t slots = 8;
  std::shared_ptr<MemoryTransport> transport;
  std::shared_ptr<JobMaster> master;
  std::vector<std::shared_ptr<TaskExecutor>> tms;
  ExecutionContext* context = nullptr;
  size_t leftPartitions = 0, leftAwaited = 0;
  int32_t usedSegments = 0;
};

}  // namespace weir::tmtest
