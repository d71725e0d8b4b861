#include "weir/base/pool_executor.h"

#include <algorithm>

#include "actor_threads.h"
#include "pool_worker.h"

namespace weir {
namespace {

constexpr size_t kStackBytes = 1024 * 1024;  // of an actor that has a thread of its own; mapped lazily

}  // namespace

class PoolExecutor::Pool {
 public:
  explicit Pool(const PoolExecutorOptions& options)
      : shared_(options.seed ? options.seed : drawSeed(), options.spin, options.blockingThreads),
        threads_(shared_.crowd, shared_.registry, shared_.seed, kStackBytes) {
    const int count = options.workers > 0 ? options.workers : shared_.crowd.cores;
    for (int i = 0; i < count; ++i) workers_.push_back(std::make_unique<PoolWorker>(shared_, i));
  }
  ~Pool() {
    shared_.registry.unwind(kCancelGrace);
    shared_.blocking.close();  // its threads may still be in a late wake-up of a slot
    threads_.stop();           // as may these
  }

  std::shared_ptr<Actor> spawn(ActorOptions options, ActorBase::Body body) {
    if (options.reactor) return threads_.spawn(std::move(options), std::move(body));
    auto actor = std::make_shared<ActorBase>(std::move(options), std::move(body));
    const uint64_t id = shared_.registry.add(actor);
    // The emptiest; equally empty ones in turn.
    size_t chosen = id % workers_.size();
    for (size_t i = 0; i < workers_.size(); ++i)
      if (workers_[i]->load() < workers_[chosen]->load()) chosen = i;
    workers_[chosen]->begin(actor, id);
    return actor;
  }
  PoolShared& shared() { return shared_; }
  size_t workers() const { return workers_.size(); }

 private:
  PoolShared shared_;  // outlives the workers
  ActorThreads threads_;
  std::vector<std::unique_ptr<PoolWorker>> workers_;
};

PoolExecutor::PoolExecutor(PoolExecutorOptions options) : pool_(std::make_unique<Pool>(options)) {}
PoolExecutor::~PoolExecutor() = default;

std::shared_ptr<Actor> PoolExecutor::spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) {
  return pool_->spawn(std::move(options), std::move(body));
}

void PoolExecutor::run(std::string name, const std::function<void(ExecutionContext&)>& body) {
  runAsActor(*this, std::move(name), body, [this](const std::shared_ptr<Actor>& main) { pool_->shared().registry.runToEnd(*main); });
}

void PoolExecutor::kill(std::string_view process) { pool_->shared().registry.kill(process); }
uint64_t PoolExecutor::seed() const { return pool_->shared().seed; }
int PoolExecutor::workers() const { return static_cast<int>(pool_->workers()); }

}  // namespace weir
