#include "weir/jobmanager/slot_pool.h"

#include <algorithm>

namespace weir {

void SlotPool::addTaskManager(TaskManagerSlots offer) {
  for (const TaskManager& known : taskManagers_) {
    if (known.offer.id == offer.id) return;
  }
  taskManagers_.push_back({std::move(offer), 0});
}

bool SlotPool::removeTaskManager(const std::string& id) {
  std::erase_if(assigned_, [&](const auto& entry) { return entry.second.taskManager == id; });
  return std::erase_if(taskManagers_, [&](const TaskManager& tm) { return tm.offer.id == id; }) > 0;
}

SlotPool::TaskManager* SlotPool::pick() {
  TaskManager* best = nullptr;
  for (TaskManager& tm : taskManagers_) {
    if (tm.used >= tm.offer.slots) continue;
    if (spread_ == SlotSpread::kNone) return &tm;
    // used/slots below best's, without a division.
    if (!best || static_cast<int64_t>(tm.used) * best->offer.slots < static_cast<int64_t>(best->used) * tm.offer.slots) best = &tm;
  }
  return best;
}

const Slot* SlotPool::slotFor(const std::string& group, int32_t subtask) {
  const auto [found, isNew] = assigned_.try_emplace({group, subtask});
  if (!isNew) return &found->second;
  TaskManager* tm = pick();
  if (!tm) {
    assigned_.erase(found);
    return nullptr;
  }
  ++tm->used;
  found->second = {AllocationID::random(random_), tm->offer.id, tm->offer.gateway};
  return &found->second;
}

int32_t SlotPool::registeredSlots() const {
  int32_t slots = 0;
  for (const TaskManager& tm : taskManagers_) slots += tm.offer.slots;
  return slots;
}

int32_t SlotPool::freeSlots() const {
  int32_t slots = 0;
  for (const TaskManager& tm : taskManagers_) slots += tm.offer.slots - tm.used;
  return slots;
}

int32_t slotsNeeded(const JobGraph& graph) {
  std::map<std::string, int32_t> groups;
  for (const JobVertex& v : graph.vertices()) groups[v.slotSharingGroup] = std::max(groups[v.slotSharingGroup], v.parallelism);
  int32_t slots = 0;
  for (const auto& [group, width] : groups) slots += width;
  return slots;
}

}  // namespace weir
