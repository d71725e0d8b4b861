#pragma once

#include <map>
#include <memory>
#include <span>

#include "weir/base/executor.h"
#include "weir/base/mutex.h"
#include "weir/base/signal.h"
#include "weir/exchange/result_partition_manager.h"

namespace weir {

/// The partitions that local channels can read, and who waits for one that its producer has not set up yet. A consumer is told the moment
/// the last of its partitions is there, instead of asking again after a pause.
///
/// Flink: the ResultPartitionManager's request listeners. Shared by all TaskManagers whose tasks read each other in memory.
///
/// Threads: any; await on the waiting task. Locks: its own before the manager's; signals are set with none held.
class PartitionBoard {
 public:
  PartitionBoard() : manager_(std::make_shared<ResultPartitionManager>()) {}

  const std::shared_ptr<ResultPartitionManager>& manager() const { return manager_; }
  /// Registers the partition and tells who waits for it.
  void add(const std::shared_ptr<ResultPartition>& partition);
  /// Waits until all of them are registered. False at the deadline; throws TaskCancelled. A step per partition, however many others arrive.
  bool await(ExecutionContext& context, std::span<const ResultPartitionID> partitions, Deadline deadline);
  /// Partitions that somebody waits for.
  size_t awaited() const;

 private:
  struct Waiter {
    size_t missing = 0;  ///< guarded by mutex_
    Signal arrived{"partitions"};
  };
  class Registration;
  using Waiters = std::map<uint64_t, std::shared_ptr<Waiter>>;  ///< in the order in which they came

  void forget(uint64_t number, std::span<const ResultPartitionID> partitions);

  const std::shared_ptr<ResultPartitionManager> manager_;
  mutable Mutex mutex_;
  std::map<ResultPartitionID, Waiters> waiting_;
  uint64_t lastWaiter_ = 0;
};

}  // namespace weir
