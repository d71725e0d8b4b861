#include "weir/taskmanager/local_task_network.h"

#include "weir/exchange/local_input_channel.h"

namespace weir {
namespace {

[[noreturn]] void throwIo(const Error& error) { throw Throwable("java.io.IOException", error.message); }

}  // namespace

LocalTaskNetwork::~LocalTaskNetwork() { dropPools(); }

void LocalTaskNetwork::dropPools() {
  for (const auto& pool : pools_)
    if (pool) pool->lazyDestroy();
  pools_.clear();
}

Result<void> LocalTaskNetwork::makePool(const LocalBufferPoolOptions& options) {
  WEIR_ASSIGN(auto pool, buffers_->createBufferPool(options));
  pools_.push_back(std::move(pool));
  return {};
}

void LocalTaskNetwork::reserve(const TaskEnvironment& environment) {
  reserved_ = [&]() -> Result<void> {
    for (const auto& partition : environment.partitions)
      WEIR_TRY(makePool(LocalBufferPoolOptions::forResultPartition(partition->subpartitionCount(), options_.buffers)));
    for (size_t i = 0; i < environment.gates.size(); ++i) WEIR_TRY(makePool(LocalBufferPoolOptions::forInputGate(options_.buffers)));
    return {};
  }();
}

void LocalTaskNetwork::setUp(TaskEnvironment& environment, ExecutionContext& context) {
  if (reserved_.has_error()) throwIo(reserved_.error());
  auto pool = pools_.begin();
  for (const auto& partition : environment.partitions) {
    partition->setup(context, std::move(*pool++));
    board_->add(partition);
  }
  for (const auto& gate : environment.gates) {
    if (const auto result = gate->setup(context, std::move(*pool++)); result.has_error()) throwIo(result.error());
  }
}

void LocalTaskNetwork::awaitBuffers(TaskEnvironment& environment, ExecutionContext& context) {
  for (const auto& partition : environment.partitions)
    if (const auto secured = partition->pool().awaitSecured(context); secured.has_error()) throwIo(secured.error());
}

void LocalTaskNetwork::requestPartitions(InputGate& gate, ExecutionContext& context) {
  std::vector<ResultPartitionID> partitions;
  partitions.reserve(gate.numberOfChannels());
  for (int32_t i = 0; i < gate.numberOfChannels(); ++i) partitions.push_back(gate.channel(i).descriptor().partition);
  board_->await(context, partitions, Deadline::work(context.clock().monotonic() + options_.partitionTimeout));
  // Nearly always one round: a partition that was there may be gone again, and one that did not come is asked for until time is up.
  while (const auto pause = gate.requestPartitions()) {
    board_->await(context, partitions, Deadline::work(context.clock().monotonic() + *pause));
  }
}

void LocalTaskNetwork::release(TaskEnvironment& environment, std::shared_ptr<const Throwable> cause) {
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

std::vector<std::shared_ptr<ResultPartition>> LocalTaskNetwork::partitionsOf(const TaskDeployment& deployment,
                                                                             const std::string& taskName) {
  std::vector<std::shared_ptr<ResultPartition>> partitions;
  for (const ResultPartitionDeployment& output : deployment.outputs) {
    ResultPartitionDescriptor descriptor;
    descriptor.id = {output.partition, deployment.attempt};
    descriptor.owningTask = taskName;
    descriptor.partitionIndex = static_cast<int32_t>(partitions.size());
    descriptor.subpartitions = output.subpartitions;
    partitions.push_back(ResultPartition::create(std::move(descriptor)));
  }
  return partitions;
}

std::vector<std::unique_ptr<SingleInputGate>> LocalTaskNetwork::gatesOf(const TaskDeployment& deployment,
                                                                        const std::string& taskName,
                                                                        ChannelStateWriter* inFlight) const {
  std::vector<std::unique_ptr<SingleInputGate>> gates;
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
      channels.push_back(std::make_unique<LocalInputChannel>(std::move(descriptor), board_->manager(), inFlight));
    }
    gate->setInputChannels(std::move(channels));
    gates.push_back(std::move(gate));
  }
  return gates;
}

}  // namespace weir
