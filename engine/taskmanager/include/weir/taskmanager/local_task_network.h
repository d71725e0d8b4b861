#pragma once

#include <memory>

#include "weir/rpc/messages.h"
#include "weir/task/task.h"
#include "weir/taskmanager/partition_board.h"

namespace weir {

/// Network settings of a TaskManager that its channels need.
struct LocalNetworkOptions {
  NetworkBufferSettings buffers;          ///< taskmanager.network.memory.*
  Millis requestBackoffInitial{100};      ///< taskmanager.network.request-backoff.initial
  Millis requestBackoffMax{10'000};       ///< taskmanager.network.request-backoff.max
  Millis partitionTimeout{20'000};        ///< how long a missing partition is waited for before it is asked for with pauses
};

/// Connects one task to others of the same process: pools from the TaskManager's network memory, partitions on the board, channels that
/// read them in place.
///
/// Flink: NettyShuffleEnvironment, as far as one task sees it. Threads: the task's actor; reserve before it begins.
class LocalTaskNetwork final : public TaskNetwork {
 public:
  LocalTaskNetwork(std::shared_ptr<PartitionBoard> board, std::shared_ptr<NetworkBufferPool> buffers, LocalNetworkOptions options)
      : board_(std::move(board)), buffers_(std::move(buffers)), options_(options) {}

  ~LocalTaskNetwork() override;

  /// Makes the pools, when the task is deployed: before another one that is deployed later can use up what they require. setUp tells
  /// where that failed.
  void reserve(const TaskEnvironment& environment);
  void setUp(TaskEnvironment& environment, ExecutionContext& context) override;
  void awaitBuffers(TaskEnvironment& environment, ExecutionContext& context) override;
  void requestPartitions(InputGate& gate, ExecutionContext& context) override;
  void release(TaskEnvironment& environment, std::shared_ptr<const Throwable> cause) override;

  /// The partitions and gates that a deployment asks for, not set up yet.
  static std::vector<std::shared_ptr<ResultPartition>> partitionsOf(const TaskDeployment& deployment, const std::string& taskName);
  std::vector<std::unique_ptr<SingleInputGate>> gatesOf(const TaskDeployment& deployment, const std::string& taskName,
                                                        ChannelStateWriter* inFlight) const;

 private:
  const std::shared_ptr<PartitionBoard> board_;
  const std::shared_ptr<NetworkBufferPool> buffers_;
  const LocalNetworkOptions options_;
  std::vector<std::shared_ptr<LocalBufferPool>> pools_;  ///< of the partitions, then of the gates; null once set up
  Result<void> reserved_;

  void dropPools();
  Result<void> makePool(const LocalBufferPoolOptions& options);
};

}  // namespace weir
