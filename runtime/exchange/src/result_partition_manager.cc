#include "weir/exchange/result_partition_manager.h"

namespace weir {

void ResultPartitionManager::registerResultPartition(const std::shared_ptr<ResultPartition>& partition) {
  partition->setConsumedListener(weak_from_this());
  Lock lock(mutex_);
  WEIR_CHECK(!shutdown_, "a partition is registered after the shutdown");
  const bool isNew = partitions_.emplace(partition->descriptor().id, partition).second;
  WEIR_CHECK(isNew, "result partition {} is registered twice", partition->descriptor().id.partition.toString());
}

std::shared_ptr<ResultPartition> ResultPartitionManager::find(const ResultPartitionID& id) const {
  Lock lock(mutex_);
  const auto at = partitions_.find(id);
  return at == partitions_.end() ? nullptr : at->second;
}

PipelinedSubpartitionView ResultPartitionManager::createSubpartitionView(const ResultPartitionID& id, uint32_t subpartition,
                                                                         ReaderSlot reader) {
  const std::shared_ptr<ResultPartition> partition = find(id);
  return partition && !partition->isReleased() ? partition->createView(subpartition, std::move(reader)) : PipelinedSubpartitionView();
}

void ResultPartitionManager::releasePartition(const ResultPartitionID& id, std::shared_ptr<const Throwable> cause) {
  std::shared_ptr<ResultPartition> partition;
  {
    Lock lock(mutex_);
    const auto at = partitions_.find(id);
    if (at == partitions_.end()) return;
    partition = std::move(at->second);
    partitions_.erase(at);
  }
  partition->release(std::move(cause));
}

size_t ResultPartitionManager::size() const {
  Lock lock(mutex_);
  return partitions_.size();
}

void ResultPartitionManager::shutdown() {
  std::map<ResultPartitionID, std::shared_ptr<ResultPartition>> partitions;
  {
    Lock lock(mutex_);
    shutdown_ = true;
    partitions.swap(partitions_);
  }
  for (const auto& [id, partition] : partitions) partition->release();
}

}  // namespace weir
