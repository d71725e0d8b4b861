#include "weir/taskmanager/snapshot_worker_pool.h"

namespace weir {

void SnapshotWorkerPool::start(Executor& executor, const ActorOptions& options, int workers, std::shared_ptr<void> answersTo) {
  for (int i = 0; i < workers; ++i) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    ActorOptions own = options;
    own.name += " " + std::to_string(i);
    worker.actor = executor.spawn(std::move(own), [self = shared_from_this(), answersTo, &worker](ExecutionContext& context) {
      self->run(context, worker);
    });
  }
}

void SnapshotWorkerPool::submit(std::function<void(ExecutionContext&)> work) {
  Worker* woken = nullptr;
  {
    Lock lock(mutex_);
    if (stopped_) return;
    queue_.push_back(std::move(work));
    if (!idle_.empty()) {
      woken = idle_.back();
      idle_.pop_back();
    }
  }
  if (woken) woken->wake.set();
}

void SnapshotWorkerPool::run(ExecutionContext& context, Worker& worker) {
  for (;;) {
    std::function<void(ExecutionContext&)> work;
    {
      Lock lock(mutex_);
      if (stopped_) return;
      if (queue_.empty()) {
        worker.wake.reset();
        idle_.push_back(&worker);
      } else {
        work = std::move(queue_.front());
        queue_.pop_front();
      }
    }
    if (work) work(context);
    else context.wait(WaitReason::kInputOrMail, {&worker.wake});
  }
}

void SnapshotWorkerPool::stop() {
  std::deque<std::function<void(ExecutionContext&)>> dropped;
  {
    Lock lock(mutex_);
    stopped_ = true;
    dropped.swap(queue_);
    idle_.clear();
  }
  for (const auto& worker : workers_) {
    worker->actor->cancel();
    worker->wake.set();
  }
}

}  // namespace weir
