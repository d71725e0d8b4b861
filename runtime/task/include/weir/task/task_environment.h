#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/backend/operator_state_backend.h"
#include "weir/base/mutex.h"
#include "weir/base/world.h"
#include "weir/exchange/result_partition.h"
#include "weir/exchange/union_input_gate.h"
#include "weir/metrics/barrier_trace.h"
#include "weir/metrics/metric_group.h"
#include "weir/snapshot/channel_state_reader.h"
#include "weir/snapshot/channel_state_writer.h"
#include "weir/snapshot/checkpoint_responder.h"
#include "weir/snapshot/checkpoint_storage.h"
#include "weir/task/latency_stats.h"
#include "weir/time/internal_timer_service.h"
#include "weir/time/processing_time_service.h"
#include "weir/time/watermark_alignment.h"

namespace weir {

/// Actors that run the asynchronous parts of snapshots. Any thread. Flink: the async operations pool of a task.
class SnapshotWorkers {
 public:
  virtual ~SnapshotWorkers() = default;
  /// Dropped once they have been stopped.
  virtual void submit(std::function<void(ExecutionContext&)> work) = 0;
};

/// The part of a job's configuration that its tasks need.
struct TaskSettings {
  bool checkpointingEnabled = false;
  bool exactlyOnce = true;
  bool checkpointsAfterTasksFinish = true;
  int maxConcurrentCheckpoints = 1;
  bool interruptibleTimers = false;  ///< a checkpoint may come between two firing timers of one watermark
  Millis autoWatermarkInterval{200};  ///< 0: no periodic watermarks
  LatencySettings latency{};
};

/// Counters of one operator; written by the task, read by anyone.
struct OperatorMetrics {
  OperatorID id;
  std::string name;
  std::atomic<int64_t> numRecordsIn{0}, numRecordsOut{0};
  LatencyStats latency;
  std::atomic<int64_t> numLateRecordsDropped{0};  ///< by windows: too late for all of theirs, and no side output takes them
  std::atomic<int64_t> numWindowsFired{0};        ///< how often a window's contents were handed to its function; Weir's own

  static void add(std::atomic<int64_t>& counter, size_t n) {  // single writer: no read-modify-write needed
    counter.store(counter.load(std::memory_order_relaxed) + static_cast<int64_t>(n), std::memory_order_relaxed);
  }
};

/// The operators of one task with their counters, in the order in which they were made: tail first. Any thread.
class OperatorMetricsRegistry {
 public:
  std::shared_ptr<OperatorMetrics> add(const OperatorID& id, const std::string& name) {
    auto metrics = std::make_shared<OperatorMetrics>();
    metrics->id = id;
    metrics->name = name;
    Lock lock(mutex_);
    all_.push_back(metrics);
    return metrics;
  }
  std::vector<std::shared_ptr<OperatorMetrics>> all() const {
    Lock lock(mutex_);
    return all_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<OperatorMetrics>> all_;
};

/// Everything one attempt runs with; filled by the TaskExecutor, owned by the Task. Flink: Environment.
struct TaskEnvironment {
  World& world;
  CheckpointResponder& responder;
  std::shared_ptr<SnapshotWorkers> snapshotWorkers;
  std::shared_ptr<CheckpointWorkerStorage> storage;  ///< null where checkpointing is off
  std::function<std::unique_ptr<OperatorStateBackend>()> createOperatorState{};
  TaskSettings settings{};
  /// Takes in-flight data; null where no checkpoint can be unaligned. Shared: a partition outlives its task.
  std::shared_ptr<ChannelStateWriter> channelStateWriter{};

  JobID job{};
  std::string jobName{};
  ExecutionAttemptID attempt{};
  std::string vertexName{};
  int32_t parallelism = 1;
  int32_t maxParallelism = 128;
  std::shared_ptr<OperatorMetricsRegistry> operatorMetrics = std::make_shared<OperatorMetricsRegistry>();
  /// Of the task itself, by Flink's names; closed before what it looks at goes.
  std::shared_ptr<MetricGroup> metrics = std::make_shared<MetricGroup>();
  std::shared_ptr<BarrierTracer> trace{};  ///< null: none
  std::vector<std::shared_ptr<ResultPartition>> partitions{};
  std::vector<std::unique_ptr<SingleInputGate>> gates{};
  std::optional<Millis> debloatPeriod{};  ///< how often the gates look at their buffer sizes; none: never
  int64_t restoreCheckpointId = 0;  ///< 0: nothing to restore
  std::shared_ptr<const TaskStateSnapshot> restore{};
  ChannelStateOpener openChannelState{};  ///< reads the in-flight data in `restore`
  SourceAlignment::Report reportWatermark{};        ///< to the master of the job
  SourceAlignment* alignment = nullptr;             ///< of the task's source; null: it has none. Set by the task
  ProcessingTimeService* processingTime = nullptr;  ///< the task's; set by it before operators are made
  const Interruption* interruption = nullptr;       ///< of firing timers; null: they are not interrupted. Set by the task too

  int32_t subtask() const { return attempt.subtask; }
  /// `enrich (2/2)`
  std::string taskNameWithSubtask() const {
    return vertexName + " (" + std::to_string(attempt.subtask + 1) + "/" + std::to_string(parallelism) + ")";
  }
  /// `enrich (2/2)#0`
  std::string taskName() const { return taskNameWithSubtask() + "#" + std::to_string(attempt.attempt); }
};

}  // namespace weir
