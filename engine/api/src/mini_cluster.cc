#include "weir/api/mini_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weir/channel/channel_state_reader.h"
#include "weir/channel/channel_state_writer_factory.h"
#include "weir/config/network_options.h"
#include "weir/config/task_manager_options.h"
#include "weir/config/weir_options.h"
#include "weir/checkpoint/default_operator_state_backend.h"
#include "weir/taskmanager/data_connections.h"
#include "weir/taskmanager/internal_tls.h"
#include "weir/transport/memory_transport.h"
#include "weir/transport/socket_transport.h"

namespace weir {
namespace {

Result<BufferDebloatSettings> debloatSettings(const Configuration& c, int64_t segmentSize) {
  BufferDebloatSettings settings;
  WEIR_ASSIGN(settings.enabled, c.get(kBufferDebloatEnabled));
  WEIR_ASSIGN(settings.period, c.getMillis(kBufferDebloatPeriod));
  WEIR_ASSIGN(settings.samples, c.get(kBufferDebloatSamples));
  WEIR_ASSIGN(settings.target, c.getMillis(kBufferDebloatTarget));
  WEIR_ASSIGN(settings.thresholdPercentages, c.get(kBufferDebloatThresholdPercentages));
  WEIR_ASSIGN(const MemorySize min, c.get(kMinMemorySegmentSize));
  WEIR_ASSIGN(const MemorySize starting, c.get(kStartingMemorySegmentSize));
  settings.maxSize = static_cast<int32_t>(segmentSize);
  settings.minSize = static_cast<int32_t>(std::min(min.bytes, segmentSize));
  settings.startingSize = static_cast<int32_t>(std::clamp<int64_t>(starting.bytes, settings.minSize, segmentSize));
  return settings;
}

Result<TaskExecutorOptions> taskExecutorOptions(const Configuration& c, int index) {
  TaskExecutorOptions options;
  options.id = "tm" + std::to_string(index);
  options.location = options.id + " @ localhost (dataPort=0)";
  options.process = options.id;
  WEIR_ASSIGN(const MemorySize segment, c.get(kMemorySegmentSize));
  WEIR_ASSIGN(const MemorySize min, c.get(kNetworkMemoryMin));
  WEIR_ASSIGN(const MemorySize max, c.get(kNetworkMemoryMax));
  options.segmentSize = static_cast<uint32_t>(segment.bytes);
  if (min.bytes > max.bytes)
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is {}, above {}: {}; raise the latter", kNetworkMemoryMin.key, min.toString(),
                                                          kNetworkMemoryMax.key, max.toString())};
  const auto segments = min.bytes / segment.bytes;
  if (segments > std::numeric_limits<int32_t>::max())
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} are too many segments of {} bytes; lower it", kNetworkMemoryMin.key, min.toString(), segment.bytes)};
  options.networkSegments = static_cast<int32_t>(segments);
  WEIR_ASSIGN(options.cancellationInterval, c.getMillis(kTaskCancellationInterval));
  WEIR_ASSIGN(options.cancellationTimeout, c.getMillis(kTaskCancellationTimeout));
  WEIR_ASSIGN(options.network.buffers.buffersPerChannel, c.get(kBuffersPerChannel));
  WEIR_ASSIGN(options.network.buffers.floatingBuffersPerGate, c.get(kFloatingBuffersPerGate));
  WEIR_ASSIGN(options.network.buffers.maxBuffersPerChannel, c.get(kMaxBuffersPerChannel));
  WEIR_ASSIGN(options.network.buffers.maxOverdraftBuffersPerGate, c.get(kMaxOverdraftBuffersPerGate));
  WEIR_ASSIGN(const int32_t backoffInitial, c.get(kRequestBackoffInitial));
  WEIR_ASSIGN(const int32_t backoffMax, c.get(kRequestBackoffMax));
  if (backoffInitial > backoffMax)
    return Error{ErrorCode::kInvalidArgument, fmt::format("{} is {}, above {}: {}; lower it", kRequestBackoffInitial.key, backoffInitial,
                                                          kRequestBackoffMax.key, backoffMax)};
  options.network.requestBackoffInitial = Millis(backoffInitial);
  options.network.requestBackoffMax = Millis(backoffMax);
  WEIR_ASSIGN(options.network.debloat, debloatSettings(c, segment.bytes));
  WEIR_ASSIGN(options.network.partitionRequestTimeout, c.getMillis(kPartitionRequestTimeout));
  WEIR_ASSIGN(options.network.detailedMetrics, c.get(kNetworkDetailedMetrics));
  return options;
}

/// Sockets between threads; a pool hands messages over in memory, and a simulation has no network.
Result<std::shared_ptr<Transport>> makeTransport(World world, const Configuration& configuration, int taskManagers, uint32_t segmentSize) {
  const Executor& executor = world.executor;
  if (executor.name() == "simulated")
    return std::make_shared<MemoryTransport>(executor.clock(), MemoryTransportOptions::simulated(executor.seed()));
  if (executor.name() == "pool" || taskManagers == 1) return std::make_shared<MemoryTransport>(executor.clock());
  WEIR_ASSIGN(SocketTransportOptions options, loopbackConnections(configuration));
  WEIR_ASSIGN(options.tls, dataTls(configuration, world.fileSystem));
  if (segmentSize > 0) options.limits.payload = segmentSize;
  return std::make_shared<SocketTransport>(world.executor, world.log, std::move(options));
}

/// Each TaskManager writes the in-flight data of its tasks itself; several of them share a file.
std::function<std::shared_ptr<ChannelStateWriter>(const TaskEnvironment&)> channelStateWriters(
    World world, const JobOptions& options, const TaskExecutor& taskManager, const JobID& job,
    std::shared_ptr<CheckpointWorkerStorage> storage) {
  if (!options.checkpointing.unalignedEnabled) return nullptr;
  ChannelStateWriterFactory::Options writing;
  writing.storage = std::move(storage);
  writing.maxSubtasksPerFile = options.maxSubtasksPerChannelStateFile;
  writing.acks = options.independentChannelStateAcks ? ChannelStateAcks::kIndependent : ChannelStateAcks::kTogether;
  writing.actor = {.name = "channel state writer " + taskManager.id() + " " + job.toString(), .process = taskManager.id()};
  const auto factory = std::make_shared<ChannelStateWriterFactory>(world.executor, world.log, std::move(writing));
  return [factory](const TaskEnvironment& task) { return factory->create(task.taskName(), task.subtask()); };
}

}  // namespace

Result<std::unique_ptr<MiniCluster>> MiniCluster::start(World world, const Configuration& configuration, int32_t slotsNeeded,
                                                        MiniClusterOptions forced) {
  std::unique_ptr<MiniCluster> cluster(new MiniCluster(world));
  cluster->options_ = forced;
  WEIR_ASSIGN(const int32_t taskManagers, configuration.get(kMiniClusterTaskManagers));
  WEIR_ASSIGN(const auto slots, configuration.getOptional(kNumberOfTaskSlots));
  cluster->slotsPerTaskManager_ = slots.value_or(std::max(1, (slotsNeeded + taskManagers - 1) / taskManagers));
  WEIR_TRY(cluster->openTrace(configuration));
  std::shared_ptr<Transport> transport = forced.transport;
  if (!transport) {
    WEIR_ASSIGN(transport, makeTransport(world, configuration, taskManagers, forced.segmentSize));
  }
  for (int i = 1; i <= taskManagers; ++i) {
    WEIR_ASSIGN(TaskExecutorOptions options, taskExecutorOptions(configuration, i));
    if (forced.segmentSize > 0) {
      options.segmentSize = forced.segmentSize;
      WEIR_ASSIGN(options.network.debloat, debloatSettings(configuration, forced.segmentSize));
    }
    if (forced.networkSegments > 0) options.networkSegments = forced.networkSegments;
    options.trace = cluster->trace_;
    WEIR_ASSIGN(auto taskManager, TaskExecutor::create(world, std::move(options), transport));
    cluster->taskManagers_.push_back(std::move(taskManager));
  }
  for (auto& taskManager : cluster->taskManagers_) WEIR_TRY(taskManager->start());
  return cluster;
}

MiniCluster::~MiniCluster() = default;

Result<void> MiniCluster::openTrace(const Configuration& configuration) {
  trace_ = options_.trace;
  WEIR_ASSIGN(const auto path, configuration.getOptional(kTracePath));
  if (trace_ || !path) return {};
  trace_ = std::make_shared<BarrierTrace>(world_.executor.clock());
  auto writer = BarrierTraceWriter::start(world_, *path, trace_);
  if (writer.has_error()) return writer.error().in(std::string(kTracePath.key));
  traceWriter_ = std::move(*writer);
  return {};
}

Result<std::shared_ptr<JobMaster>> MiniCluster::submit(std::shared_ptr<const JobGraph> graph, const Configuration& configuration) {
  WEIR_ASSIGN(JobOptions options, JobOptions::from(configuration));
  WEIR_TRY(options.check(*graph));
  const Logger graphLog(world_.log, "org.apache.flink.streaming.api.graph.StreamingJobGraphGenerator");
  for (const std::string& warning : options.warnings) graphLog.warn("{}", warning);
  Random random(world_.executor.seed(), "job " + std::to_string(jobs_.size()));
  const JobID id = JobID::random(random);
  WEIR_ASSIGN(auto storage, openCheckpointStorage(configuration, world_.fileSystem, id, world_.executor.seed()));
  WEIR_ASSIGN(auto initial, loadInitialCheckpoint(configuration, world_.fileSystem, *storage, world_.log));

  JobCheckpointingOptions checkpointing;
  checkpointing.configuration = options.checkpointing;
  checkpointing.storage = storage;
  checkpointing.initial = std::move(initial);
  if (trace_) checkpointing.trace = trace_->tracer("jobmanager", "coordinator of " + graph->name());
  JobMaster::CheckpointingFactory factory;
  if (options.checkpointing.isPeriodic() || checkpointing.initial) factory = JobCheckpointing::factory(std::move(checkpointing));

  JobMaster::Options masterOptions;
  masterOptions.scheduler = options.scheduler;
  auto master = JobMaster::create(world_, graph, id, std::move(masterOptions), std::move(factory));
  for (auto& taskManager : taskManagers_) {
    taskManager->connectJob({.job = id,
                             .graph = graph,
                             .jobMaster = master,
                             .settings = options.taskSettings,
                             .storage = storage,
                             .createOperatorState = [] { return std::make_unique<DefaultOperatorStateBackend>(); },
                             .createChannelStateWriter = channelStateWriters(world_, options, *taskManager, id, storage),
                             .openChannelState = [storage](ChannelStateKind kind, const std::vector<ChannelStateHandle>& handles) {
                               return openChannelState(*storage, kind, handles);
                             }});
    std::shared_ptr<TaskExecutorGateway> gateway = taskManager;
    if (options_.gatewayTo) gateway = options_.gatewayTo(taskManager);
    master->addTaskManager({taskManager->id(), std::move(gateway), slotsPerTaskManager_});
  }
  jobs_.push_back(master);
  master->start();
  return master;
}

std::vector<std::shared_ptr<Task>> MiniCluster::runningTasks(ExecutionContext& context) {
  std::vector<std::shared_ptr<Task>> all;
  for (auto& taskManager : taskManagers_) {
    const auto reply = taskManager->requestTasks();
    context.wait(WaitReason::kInputOrMail, {&reply->ready()});
    for (auto& task : reply->take()) all.push_back(std::move(task));
  }
  return all;
}

bool MiniCluster::failSubtask(ExecutionContext& context, const std::string& operatorName, int32_t subtask,
                              std::shared_ptr<const Throwable> cause) {
  for (auto& taskManager : taskManagers_) {
    const auto reply = taskManager->requestTasks();
    context.wait(WaitReason::kInputOrMail, {&reply->ready()});
    for (auto& task : reply->take()) {
      const auto& operators = task->factory().chain().operators;
      const bool named = std::any_of(operators.begin(), operators.end(), [&](const auto& op) { return op.name == operatorName; });
      if (!named || task->environment().subtask() != subtask) continue;
      taskManager->failTask(task->attempt(), std::move(cause));
      return true;
    }
  }
  return false;
}

void MiniCluster::stop(ExecutionContext& context) {
  for (auto& job : jobs_) {
    if (!job->done().isSet()) job->cancel();
    context.wait(WaitReason::kInputOrMail, {&job->done()});
  }
  for (auto& taskManager : taskManagers_) taskManager->stop();
  for (auto& taskManager : taskManagers_) context.wait(WaitReason::kInputOrMail, {&taskManager->done()});
  if (traceWriter_) traceWriter_->stop(context);
}

}  // namespace weir
