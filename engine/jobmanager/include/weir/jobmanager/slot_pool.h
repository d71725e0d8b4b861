#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/random.h"
#include "weir/graph/job_graph.h"
#include "weir/rpc/gateways.h"

namespace weir {

/// How slots are handed out over TaskManagers: taskmanager.load-balance.mode.
enum class SlotSpread {
  kNone,   ///< the first TaskManager that has a free one: fills one after the other
  kSlots,  ///< the TaskManager with the smallest share of used slots
};

/// A TaskManager that offers slots.
struct TaskManagerSlots {
  std::string id;  ///< `tm1`
  std::shared_ptr<TaskExecutorGateway> gateway;
  int32_t slots = 1;
};

/// A slot of a TaskManager, held by one subtask of each vertex of a slot sharing group.
struct Slot {
  AllocationID allocation;
  std::string taskManager;
  std::shared_ptr<TaskExecutorGateway> gateway;
};

/// The slots of one job. A slot stays with its group and subtask over restarts, as long as its TaskManager lives, so that a restarted task
/// finds its old place.
///
/// Flink: SlotPool, SlotSharingExecutionSlotAllocator and the slot manager's matching, in one. Threads: the JobMaster's.
class SlotPool {
 public:
  SlotPool(SlotSpread spread, Random random) : spread_(spread), random_(random) {}

  /// Known ids are ignored.
  void addTaskManager(TaskManagerSlots taskManager);
  /// Its slots are gone. False: it was not there.
  bool removeTaskManager(const std::string& id);

  /// The slot that subtask `subtask` of a vertex in `group` runs in; null where no slot is free.
  const Slot* slotFor(const std::string& group, int32_t subtask);

  int32_t taskManagers() const { return static_cast<int32_t>(taskManagers_.size()); }
  int32_t registeredSlots() const;
  int32_t freeSlots() const;

 private:
  struct TaskManager {
    TaskManagerSlots offer;
    int32_t used = 0;
  };
  TaskManager* pick();

  SlotSpread spread_;
  Random random_;
  std::vector<TaskManager> taskManagers_;
  std::map<std::pair<std::string, int32_t>, Slot> assigned_;
};

/// How many slots the whole job needs: the largest parallelism of each slot sharing group, summed.
int32_t slotsNeeded(const JobGraph& graph);

}  // namespace weir
