#pragma once

#include <map>
#include <memory>
#include <vector>

#include "weir/base/actor_loop.h"
#include "weir/exchange/result_partition.h"

namespace weir {

/// Hands on what lies in partly filled buffers, each task in its own rhythm (execution.buffer-timeout). One actor per TaskManager.
///
/// Flink: OutputFlusher, a thread per task there. Threads: add, remove and stop from any; flushing on its actor. Its timers are
/// housekeeping: they do not keep a simulated run going.
class OutputFlusher : public std::enable_shared_from_this<OutputFlusher> {
 public:
  /// Starts the actor, which keeps the flusher alive until stop().
  void start(Executor& executor, ActorOptions options);
  /// Requires: interval > 0.
  void add(const ExecutionAttemptID& task, std::vector<std::shared_ptr<ResultPartition>> partitions, Millis interval);
  /// May still flush once: a flush under way is not waited for.
  void remove(const ExecutionAttemptID& task);
  void stop() { loop_.stop(); }

 private:
  struct Entry {
    std::vector<std::shared_ptr<ResultPartition>> partitions;
    Millis interval;
    Nanos next;
    ActorLoop::TimerId timer;
  };
  void schedule(const ExecutionAttemptID& task, Entry& entry);
  void flush(const ExecutionAttemptID& task);

  ActorLoop loop_;
  const Clock* clock_ = nullptr;
  std::map<ExecutionAttemptID, Entry> entries_;  ///< the actor's
};

}  // namespace weir
