#include "weir/base/thread_executor.h"

#include "actor_threads.h"

namespace weir {

class ThreadExecutor::Threads {
 public:
  explicit Threads(const ThreadExecutorOptions& options)
      : seed_(options.seed ? options.seed : drawSeed()), crowd_(options.spin), threads_(crowd_, registry_, seed_, options.stackBytes) {}
  ~Threads() { registry_.unwind(kCancelGrace); }

  ActorThreads& threads() { return threads_; }
  ActorRegistry& registry() { return registry_; }
  uint64_t seed() const { return seed_; }

 private:
  const uint64_t seed_;
  Crowd crowd_;
  ActorRegistry registry_;
  ActorThreads threads_;
};

ThreadExecutor::ThreadExecutor(ThreadExecutorOptions options) : threads_(std::make_unique<Threads>(options)) {}
ThreadExecutor::~ThreadExecutor() = default;

std::shared_ptr<Actor> ThreadExecutor::spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) {
  return threads_->threads().spawn(std::move(options), std::move(body));
}

void ThreadExecutor::run(std::string name, const std::function<void(ExecutionContext&)>& body) {
  runAsActor(*this, std::move(name), body, [this](const std::shared_ptr<Actor>& main) { threads_->registry().runToEnd(*main); });
}

void ThreadExecutor::kill(std::string_view process) { threads_->registry().kill(process); }
uint64_t ThreadExecutor::seed() const { return threads_->seed(); }

}  // namespace weir
