#pragma once

#include <memory>

#include "weir/rpc/messages.h"
#include "weir/task/task.h"
#include "weir/taskmanager/partition_board.h"
#include "weir/transport/remote_input_channel.h"

namespace weir {

/// Network settings of a TaskManager that its channels need.
struct TaskNetworkOptions {
  NetworkBufferSettings buffers;          ///< taskmanager.network.memory.*
  Millis requestBackoffInitial{100};      ///< taskmanager.network.request-backoff.initial
  Millis requestBackoffMax{10'000};       ///< taskmanager.network.request-backoff.max
  Millis partitionTimeout{20'000};        ///< how long a missing partition is waited for before it is asked for with pauses
  BufferDebloatSettings debloat;          ///< taskmanager.network.memory.buffer-debloat.*
  Millis partitionRequestTimeout{10'000};  ///< taskmanager.network.partition-request-timeout: the same at another TaskManager
  bool detailedMetrics = false;            ///< taskmanager.network.detailed-metrics: the queues of each gate and partition
};

/// Connects one task to others: pools from the TaskManager's network memory, partitions on the board, and channels that read them: in place
/// where the producer runs in the same TaskManager, over a connection where it does not.
///
/// Flink: NettyShuffleEnvironment, as far as one task sees it. Threads: the task's actor; reserve before it begins.
class ShuffleTaskNetwork final : public TaskNetwork {
 public:
  /// `seed`: of the ids of remote channels.
  ShuffleTaskNetwork(std::shared_ptr<PartitionBoard> board, std::shared_ptr<ConnectionManager> connections,
                   std::shared_ptr<NetworkBufferPool> buffers, TaskNetworkOptions options, const Clock& clock, uint64_t seed)
      : board_(std::move(board)), connections_(std::move(connections)), buffers_(std::move(buffers)), options_(options), clock_(clock),
        seed_(seed) {}

  ~ShuffleTaskNetwork() override;

  /// Makes the pools, when the task is deployed: before another one that is deployed later can use up what they require. setUp tells
  /// where that failed.
  void reserve(const TaskEnvironment& environment);
  void setUp(TaskEnvironment& environment, ExecutionContext& context) override;
  void awaitBuffers(TaskEnvironment& environment, ExecutionContext& context) override;
  void requestPartitions(InputGate& gate, ExecutionContext& context) override;
  void release(TaskEnvironment& environment, std::shared_ptr<const Throwable> cause) override;

  /// The partitions and gates that a deployment asks for, not set up yet.
  std::vector<std::shared_ptr<ResultPartition>> partitionsOf(const TaskDeployment& deployment, const std::string& taskName) const;
  std::vector<std::unique_ptr<SingleInputGate>> gatesOf(const TaskDeployment& deployment, const std::string& taskName,
                                                        const std::shared_ptr<ChannelStateWriter>& writer = nullptr);

 private:
  /// What a gate needs besides its floating buffers.
  struct RemoteChannels {
    std::vector<RemoteInputChannel*> channels;
    std::shared_ptr<LocalBufferPool> exclusive;  ///< what they take their exclusive buffers from; null: none
  };

  std::unique_ptr<InputChannel> makeChannel(InputChannelDescriptor descriptor, const std::string& producer, Random& ids,
                                            const std::shared_ptr<ChannelStateWriter>& writer);
  void registerMetrics(TaskEnvironment& environment, const std::vector<std::shared_ptr<LocalBufferPool>>& floating) const;
  void setUpRemote(RemoteChannels& remote, const std::shared_ptr<LocalBufferPool>& floating, ExecutionContext& context);

  const std::shared_ptr<PartitionBoard> board_;
  const std::shared_ptr<ConnectionManager> connections_;
  const std::shared_ptr<NetworkBufferPool> buffers_;
  const TaskNetworkOptions options_;
  const Clock& clock_;
  const uint64_t seed_;
  std::vector<RemoteChannels> remote_;                   ///< by gate
  std::vector<std::shared_ptr<LocalBufferPool>> pools_;  ///< of the partitions, then of the gates; null once set up
  Result<void> reserved_;

  void dropPools();
  Result<void> makePool(const LocalBufferPoolOptions& options);
  Result<void> makeExclusivePool(RemoteChannels& remote);
};

}  // namespace weir
