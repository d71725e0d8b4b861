#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/executor.h"
#include "weir/base/mutex.h"
#include "weir/task/task_environment.h"

namespace weir {

/// A few actors that write the asynchronous parts of snapshots, in the order in which they were handed in; an idle one takes the next.
///
/// Flink: the async operations thread pool of each task; one pool per TaskManager here. Threads: any. Work that is still queued at stop()
/// is dropped.
class SnapshotWorkerPool final : public SnapshotWorkers, public std::enable_shared_from_this<SnapshotWorkerPool> {
 public:
  /// `options.name` gets a number per worker. The actors keep the pool alive until they have ended, and with it `answersTo`: what a
  /// snapshot that is still being written reports to.
  void start(Executor& executor, const ActorOptions& options, int workers, std::shared_ptr<void> answersTo = nullptr);
  void submit(std::function<void(ExecutionContext&)> work) override;
  void stop();

 private:
  struct Worker {
    Signal wake{"snapshot worker"};
    std::shared_ptr<Actor> actor;
  };
  void run(ExecutionContext& context, Worker& worker);

  Mutex mutex_;
  std::deque<std::function<void(ExecutionContext&)>> queue_;
  std::vector<Worker*> idle_;
  std::vector<std::unique_ptr<Worker>> workers_;
  bool stopped_ = false;
};

}  // namespace weir
