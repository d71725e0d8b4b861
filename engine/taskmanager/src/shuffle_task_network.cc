#include "weir/taskmanager/shuffle_task_network.h"

#include "network_metrics.h"
#include "weir/exchange/local_input_channel.h"

namespace weir {
namespace {

[[noreturn]] void throwIo(const Error& error) { throw Throwable("java.io.IOException", error.message); }

}  // namespace

ShuffleTaskNetwork::~ShuffleTaskNetwork() { dropPools(); }

void ShuffleTaskNetwork::dropPools() {
  for (const auto& pool : pools_)
    if (pool) pool->lazyDestroy();
  pools_.clear();
  for (RemoteChannels& remote : remote_) {
    if (remote.exclusive) remote.exclusive->lazyDestroy();
    remote.exclusive = nullptr;
  }
}

Result<void> ShuffleTaskNetwork::makePool(const LocalBufferPoolOptions& options) {
  WEIR_ASSIGN(auto pool, buffers_->createBufferPool(options));
  pools_.push_back(std::move(pool));
  return {};
}

void ShuffleTaskNetwork::reserve(const TaskEnvironment& environment) {
  reserved_ = [&]() -> Result<void> {
    for (const auto& partition : environment.partitions)
      WEIR_TRY(makePool(LocalBufferPoolOptions::forResultPartition(partition->subpartitionCount(), options_.buffers)));
    for (size_t i = 0; i < environment.gates.size(); ++i) {
      WEIR_TRY(makePool(LocalBufferPoolOptions::forInputGate(options_.buffers)));
      WEIR_TRY(makeExclusivePool(remote_[i]));
    }
    return {};
  }();
}

Result<void> ShuffleTaskNetwork::makeExclusivePool(RemoteChannels& remote) {
  const int32_t exclusive = static_cast<int32_t>(remote.channels.size()) * options_.buffers.buffersPerChannel;
  if (exclusive == 0) return {};
  // A pool that requires exactly these: so they are set aside like everything else that the task requires.
  WEIR_ASSIGN(remote.exclusive, buffers_->createBufferPool({.required = exclusive, .max = exclusive}));
  return {};
}

void ShuffleTaskNetwork::setUp(TaskEnvironment& environment, ExecutionContext& context) {
  if (reserved_.has_error()) throwIo(reserved_.error());
  auto pool = pools_.begin();
  for (const auto& partition : environment.partitions) {
    partition->setup(context, std::move(*pool++));
    board_->add(partition);
  }
  pools_.erase(pools_.begin(), pool);
}

void ShuffleTaskNetwork::setUpRemote(RemoteChannels& remote, const std::shared_ptr<LocalBufferPool>& floating, ExecutionContext& context) {
  if (remote.exclusive)
    if (const auto secured = remote.exclusive->awaitSecured(context); secured.has_error()) throwIo(secured.error());
  for (RemoteInputChannel* channel : remote.channels) channel->setup(remote.exclusive, options_.buffers.buffersPerChannel, floating);
}

void ShuffleTaskNetwork::awaitBuffers(TaskEnvironment& environment, ExecutionContext& context) {
  auto pool = pools_.begin();
  std::vector<std::shared_ptr<LocalBufferPool>> pools;
  for (const auto& gate : environment.gates) {
    const std::shared_ptr<LocalBufferPool>& floating = pools.emplace_back(std::move(*pool++));
    if (const auto result = gate->setup(context, floating); result.has_error()) throwIo(result.error());
    setUpRemote(remote_[static_cast<size_t>(gate->gateIndex())], floating, context);
  }
  for (const auto& partition : environment.partitions)
    if (const auto secured = partition->pool().awaitSecured(context); secured.has_error()) throwIo(secured.error());
  registerMetrics(environment, pools);
}

void ShuffleTaskNetwork::registerMetrics(TaskEnvironment& environment,
                                         const std::vector<std::shared_ptr<LocalBufferPool>>& floating) const {
  std::vector<GateMetricSource> gates;
  for (const auto& gate : environment.gates) {
    const auto index = static_cast<size_t>(gate->gateIndex());
    const auto& remote = remote_[index].channels;
    gates.push_back({gate.get(), floating[index], {remote.begin(), remote.end()}, options_.debloat.enabled});
  }
  registerInputMetrics(*environment.metrics, std::move(gates), options_.detailedMetrics);
  registerOutputMetrics(*environment.metrics, environment.partitions, options_.detailedMetrics);
}

void ShuffleTaskNetwork::requestPartitions(InputGate& gate, ExecutionContext& context) {
  std::vector<ResultPartitionID> partitions;
  partitions.reserve(gate.numberOfChannels());
  for (int32_t i = 0; i < gate.numberOfChannels(); ++i)
    if (gate.channel(i).isLocal()) partitions.push_back(gate.channel(i).descriptor().partition);
  board_->await(context, partitions, Deadline::work(context.clock().monotonic() + options_.partitionTimeout));
  // Nearly always one round: a partition that was there may be gone again, and one that did not come is asked for until time is up.
  while (const auto pause = gate.requestPartitions()) {
    board_->await(context, partitions, Deadline::work(context.clock().monotonic() + *pause));
  }
}

void ShuffleTaskNetwork::release(TaskEnvironment& environment, std::shared_ptr<const Throwable> cause) {
  environment.metrics->close();
  for (const auto& partition : environment.partitions) {
    // A finished partition stays until it is read to its end.
    if (cause) {
      board_->manager()->releasePartition(partition->descriptor().id, cause);
      partition->release(cause);
    }
    partition->close();
  }
  for (const auto& gate : environment.gates) gate->close();
  dropPools();
}

std::vector<std::shared_ptr<ResultPartition>> ShuffleTaskNetwork::partitionsOf(const TaskDeployment& deployment,
                                                                             const std::string& taskName) const {
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (const ResultPartitionDeployment& output : deployment.outputs) {
    ResultPartitionDescriptor descriptor;
    descriptor.id = {output.partition, deployment.attempt};
    descriptor.owningTask = taskName;
    descriptor.partitionIndex = static_cast<int32_t>(partitions.size());
    descriptor.subpartitions = output.subpartitions;
    descriptor.forwardsEmptyBuffers = options_.buffers.buffersPerChannel == 0;
    partitions.push_back(ResultPartition::create(std::move(descriptor)));
    if (!options_.debloat.enabled) continue;
    for (int32_t i = 0; i < output.subpartitions; ++i)
      partitions.back()->subpartition(i).setDesiredBufferSize(options_.debloat.startingSize);
  }
  return partitions;
}

std::vector<std::unique_ptr<SingleInputGate>> ShuffleTaskNetwork::gatesOf(const TaskDeployment& deployment,
                                                                        const std::string& taskName,
                                                                        const std::shared_ptr<ChannelStateWriter>& writer) {
  std::vector<std::unique_ptr<SingleInputGate>> gates;
  Random ids(seed_, "input channels of " + deployment.attempt.toString());
  remote_.assign(deployment.inputs.size(), {});
  for (const InputGateDeployment& input : deployment.inputs) {
    const auto index = static_cast<int32_t>(gates.size());
    auto gate = std::make_unique<SingleInputGate>(taskName, index);
    std::vector<std::unique_ptr<InputChannel>> channels;
    channels.reserve(input.channels->size());
    for (const ResultPartitionID& partition : *input.channels) {
      InputChannelDescriptor descriptor;
      descriptor.info = {index, static_cast<int32_t>(channels.size())};
      descriptor.partition = partition;
      descriptor.subpartition = static_cast<uint32_t>(input.subpartition);
      descriptor.initialBackoff = options_.requestBackoffInitial;
      descriptor.maxBackoff = options_.requestBackoffMax;
      const std::string& producer = input.taskManagers ? (*input.taskManagers)[channels.size()] : connections_->self();
      channels.push_back(makeChannel(std::move(descriptor), producer, ids, writer));
    }
    gate->setInputChannels(std::move(channels));
    if (options_.debloat.enabled) gate->enableDebloating(options_.debloat, clock_);
    gates.push_back(std::move(gate));
  }
  return gates;
}

std::unique_ptr<InputChannel> ShuffleTaskNetwork::makeChannel(InputChannelDescriptor descriptor, const std::string& producer, Random& ids,
                                                            const std::shared_ptr<ChannelStateWriter>& writer) {
  if (producer == connections_->self()) return std::make_unique<LocalInputChannel>(std::move(descriptor), board_->manager(), writer.get());
  const auto gate = static_cast<size_t>(descriptor.info.gate);
  auto channel = std::make_unique<RemoteInputChannel>(
      std::move(descriptor), RemoteInputChannel::Remote{producer, InputChannelID::random(ids), options_.partitionRequestTimeout},
      connections_, writer);
  remote_[gate].channels.push_back(channel.get());
  return channel;
}

}  // namespace weir
