#include "weir/exchange/result_partition_manager.h"

namespace weir {

void ResultPartitionManager::registerResultPartition(const std::shared_ptr<ResultPartition>& partition) {
  partition->setConsumedListener(weak_from_this());
  std::map<uint64_t, Listener> told;
  {
    Lock lock(mutex_);
    WEIR_CHECK(!shutdown_, "a partition is registered after the shutdown");
    const bool isNew = partitions_.emplace(partition->descriptor().id, partition).second;
    WEIR_CHECK(isNew, "result partition {} is registered twice", partition->descriptor().id.partition.toString());
    if (auto waiting = listeners_.extract(partition->descriptor().id)) told = std::move(waiting.mapped());
  }
  for (const auto& [number, listener] : told) listener();
}

std::shared_ptr<ResultPartition> ResultPartitionManager::findOrListen(const ResultPartitionID& id, Listener listener, uint64_t& number) {
  Lock lock(mutex_);
  if (const auto at = partitions_.find(id); at != partitions_.end()) return at->second;
  number = ++lastListener_;
  listeners_[id].emplace(number, std::move(listener));
  return nullptr;
}

void ResultPartitionManager::forget(const ResultPartitionID& id, uint64_t number) {
  Listener dropped;  // destroyed outside the lock: it may own anything
  Lock lock(mutex_);
  const auto at = listeners_.find(id);
  if (at == listeners_.end()) return;
  if (auto listener = at->second.extract(number)) dropped = std::move(listener.mapped());
  if (at->second.empty()) listeners_.erase(at);
  lock.unlock();
}

size_t ResultPartitionManager::awaited() const {
  Lock lock(mutex_);
  return listeners_.size();
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
  std::map<ResultPartitionID, std::map<uint64_t, Listener>> listeners;
  {
    Lock lock(mutex_);
    shutdown_ = true;
    partitions.swap(partitions_);
    listeners.swap(listeners_);
  }
  for (const auto& [id, partition] : partitions) partition->release();
}

}  // namespace weir
