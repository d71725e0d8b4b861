#include "weir/taskmanager/partition_board.h"

#include <vector>

namespace weir {

/// Takes a waiter back out, however its wait ends.
class PartitionBoard::Registration {
 public:
  Registration(PartitionBoard& board, uint64_t number, std::span<const ResultPartitionID> partitions)
      : board_(board), number_(number), partitions_(partitions) {}
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    if (!arrived) board_.forget(number_, partitions_);
  }
  bool arrived = false;

 private:
  PartitionBoard& board_;
  uint64_t number_;
  std::span<const ResultPartitionID> partitions_;
};

void PartitionBoard::add(const std::shared_ptr<ResultPartition>& partition) {
  // Registered before the waiters are looked at: await looks in the other order.
  manager_->registerResultPartition(partition);
  std::vector<std::shared_ptr<Waiter>> complete;
  {
    Lock lock(mutex_);
    const auto found = waiting_.find(partition->descriptor().id);
    if (found == waiting_.end()) return;
    for (auto& [number, waiter] : found->second) {
      if (--waiter->missing == 0) complete.push_back(std::move(waiter));
    }
    waiting_.erase(found);
  }
  for (const auto& waiter : complete) waiter->arrived.set();
}

bool PartitionBoard::await(ExecutionContext& context, std::span<const ResultPartitionID> partitions, Deadline deadline) {
  auto waiter = std::make_shared<Waiter>();
  uint64_t number;
  {
    Lock lock(mutex_);
    number = ++lastWaiter_;
    for (const ResultPartitionID& id : partitions) {
      if (manager_->find(id)) continue;
      if (waiting_[id].emplace(number, waiter).second) ++waiter->missing;
    }
    if (waiter->missing == 0) return true;
  }
  Registration registration(*this, number, partitions);
  while (!waiter->arrived.isSet()) {
    if (context.wait(WaitReason::kSetupBuffers, {&waiter->arrived}, deadline) == WaitOutcome::kDeadline && !waiter->arrived.isSet())
      return false;
  }
  registration.arrived = true;
  return true;
}

void PartitionBoard::forget(uint64_t number, std::span<const ResultPartitionID> partitions) {
  Lock lock(mutex_);
  for (const ResultPartitionID& id : partitions) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) continue;
    found->second.erase(number);
    if (found->second.empty()) waiting_.erase(found);
  }
}

size_t PartitionBoard::awaited() const {
  Lock lock(mutex_);
  return waiting_.size();
}

}  // namespace weir
