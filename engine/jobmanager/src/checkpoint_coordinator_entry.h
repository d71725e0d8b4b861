#pragma once

#include "weir/jobmanager/checkpoint_coordinator.h"

namespace weir {

/// Marks a call into the coordinator, by its user or by a mail. When the outermost one ends, queued requests are looked at: never in the
/// middle of aborting several checkpoints, and without recursion.
class CheckpointCoordinator::Entry {
 public:
  explicit Entry(CheckpointCoordinator& coordinator) : coordinator_(coordinator) { ++coordinator_.entryDepth_; }
  ~Entry() {
    if (coordinator_.entryDepth_ == 1) coordinator_.pump();
    --coordinator_.entryDepth_;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  CheckpointCoordinator& coordinator_;
};

}  // namespace weir
