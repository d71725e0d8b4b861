#pragma once

#include <functional>
#include <map>
#include <memory>

#include "weir/base/mutex.h"
#include "weir/exchange/result_partition.h"

namespace weir {

/// The partitions that tasks of one TaskManager produce, for their readers to find. Any thread.
///
/// Flink: ResultPartitionManager. A partition stays registered until it is consumed or released.
class ResultPartitionManager final : public PartitionConsumedListener, public std::enable_shared_from_this<ResultPartitionManager> {
 public:
  /// Requires: its id is not registered.
  void registerResultPartition(const std::shared_ptr<ResultPartition>& partition);
  /// Null if it is not registered (yet, or any more).
  std::shared_ptr<ResultPartition> find(const ResultPartitionID& id) const;
  /// An empty view if the partition is not registered.
  PipelinedSubpartitionView createSubpartitionView(const ResultPartitionID& id, uint32_t subpartition, ReaderSlot reader);
  void releasePartition(const ResultPartitionID& id, std::shared_ptr<const Throwable> cause = nullptr);
  void onConsumedPartition(const ResultPartitionID& id) override { releasePartition(id); }
  size_t size() const;

  /// Who waits for a partition that is not there yet. Flink: PartitionRequestListener.
  using Listener = std::function<void()>;
  /// The partition; or null, and then `listener` is called once it is registered: by whoever registers it, with no lock held. `number` is
  /// the listener's, for forget().
  std::shared_ptr<ResultPartition> findOrListen(const ResultPartitionID& id, Listener listener, uint64_t& number);
  /// May still be called once, if it is just being told.
  void forget(const ResultPartitionID& id, uint64_t number);
  /// Partitions that somebody waits for.
  size_t awaited() const;
  /// Releases everything; later registrations are refused as a bug.
  void shutdown();

 private:
  mutable Mutex mutex_;
  std::map<ResultPartitionID, std::shared_ptr<ResultPartition>> partitions_;
  std::map<ResultPartitionID, std::map<uint64_t, Listener>> listeners_;  ///< in the order in which they came
  uint64_t lastListener_ = 0;
  bool shutdown_ = false;
};

}  // namespace weir
