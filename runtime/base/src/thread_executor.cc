#include "weir/base/thread_executor.h"

#include <fmt/format.h>
#include <pthread.h>

#include <cstring>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

#include "actor_base.h"
#include "current_context.h"
#include "parker.h"
#include "weir/base/check.h"

namespace weir {
namespace {

class ThreadContext final : public ExecutionContext {
 public:
  ThreadContext(const ActorOptions& options, uint64_t seed, Parker& parker)
      : ExecutionContext(options.name, options.clock ? *options.clock : SystemClock::instance(), Random(seed, options.name)),
        parker_(parker) {}
  void blocking(const std::function<void()>& call) override {
    const Nanos from = hasObserver() ? clock().monotonic() : Nanos::zero();
    call();
    reportWait(WaitReason::kFile, from);
  }

 private:
  // What waits for nothing but its deadline need not spin: nobody saves a wake-up by it.
  bool park(Deadline deadline) override { return parker_.park(deadline.at, !parked().signals.empty()); }
  Waker& waker() override { return parker_; }
  Parker& parker_;
};

}  // namespace

class ThreadExecutor::Threads {
 public:
  explicit Threads(const ThreadExecutorOptions& options)
      : options_(options), seed_(options.seed ? options.seed : drawSeed()), crowd_(options.spin) {}
  ~Threads();

  std::shared_ptr<Actor> spawn(ActorOptions options, ActorBase::Body body);
  ActorRegistry& registry() { return registry_; }
  uint64_t seed() const { return seed_; }

 private:
  struct Job {
    std::shared_ptr<ActorBase> actor;
    uint64_t id;
  };
  /// A thread and what it waits on. Lives as long as the executor, and so does the parker that late wake-ups go to.
  struct Worker {
    explicit Worker(Threads& owner) : threads(owner), parker(owner.crowd_) {}
    Threads& threads;
    Parker parker;
    std::atomic<Job*> job{nullptr};
    std::atomic<bool> quit{false};
    pthread_t thread{};
  };

  Worker* start();
  static void* workerMain(void* worker);
  void runJob(Worker& worker, std::unique_ptr<Job> job);

  const ThreadExecutorOptions options_;
  const uint64_t seed_;
  Crowd crowd_;
  ActorRegistry registry_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< guarded by mutex_
  std::vector<Worker*> idle_;                     ///< guarded by mutex_
};

std::shared_ptr<Actor> ThreadExecutor::Threads::spawn(ActorOptions options, ActorBase::Body body) {
  auto actor = std::make_shared<ActorBase>(std::move(options), std::move(body));
  std::lock_guard lock(mutex_);
  Worker* worker = nullptr;
  if (idle_.empty()) {
    worker = start();  // throws: before the actor is known to anybody
  } else {
    worker = idle_.back();
    idle_.pop_back();
  }
  auto job = std::make_unique<Job>(Job{actor, registry_.add(actor)});
  worker->job.store(job.release(), std::memory_order_seq_cst);
  worker->parker.wake();
  return actor;
}

ThreadExecutor::Threads::Worker* ThreadExecutor::Threads::start() {
  Worker* const worker = workers_.emplace_back(std::make_unique<Worker>(*this)).get();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, options_.stackBytes);
  crowd_.awake.fetch_add(1, std::memory_order_relaxed);
  const int error = pthread_create(&worker->thread, &attributes, &workerMain, worker);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    crowd_.awake.fetch_sub(1, std::memory_order_relaxed);
    workers_.pop_back();
    throw std::runtime_error(fmt::format("the system gives no thread beyond {}: {}; lower the parallelism, raise the limits of threads and "
                                         "memory (ulimit -u, -v), or take weir.executor: pool",
                                         workers_.size(), std::strerror(error)));
  }
  return worker;
}

void* ThreadExecutor::Threads::workerMain(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  prepareThread("weir idle");
  while (!worker.quit.load(std::memory_order_seq_cst)) {
    if (Job* job = worker.job.exchange(nullptr, std::memory_order_seq_cst)) worker.threads.runJob(worker, std::unique_ptr<Job>(job));
    else worker.parker.park(Nanos::max(), false);
  }
  return nullptr;
}

void ThreadExecutor::Threads::runJob(Worker& worker, std::unique_ptr<Job> job) {
  nameThread(job->actor->name().c_str());
  {
    ThreadContext context(job->actor->options(), seed_, worker.parker);
    const CurrentContext current(&context);
    job->actor->runBodyOrDie(context);
  }
  {
    std::lock_guard lock(mutex_);  // before finish(): whoever restarts a finished actor finds its thread
    idle_.push_back(&worker);
  }
  job->actor->finish();
  registry_.remove(job->id);
}

ThreadExecutor::Threads::~Threads() {
  registry_.unwind(kCancelGrace);
  for (const auto& worker : workers_) {  // nobody spawns any more
    worker->quit.store(true, std::memory_order_seq_cst);
    worker->parker.wake();
  }
  for (const auto& worker : workers_) pthread_join(worker->thread, nullptr);
}

ThreadExecutor::ThreadExecutor(ThreadExecutorOptions options) : threads_(std::make_unique<Threads>(options)) {}
ThreadExecutor::~ThreadExecutor() = default;

std::shared_ptr<Actor> ThreadExecutor::spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) {
  return threads_->spawn(std::move(options), std::move(body));
}

void ThreadExecutor::run(std::string name, const std::function<void(ExecutionContext&)>& body) {
  runAsActor(*this, std::move(name), body, [this](const std::shared_ptr<Actor>& main) { threads_->registry().runToEnd(*main); });
}

void ThreadExecutor::kill(std::string_view process) { threads_->registry().kill(process); }
uint64_t ThreadExecutor::seed() const { return threads_->seed(); }

}  // namespace weir
