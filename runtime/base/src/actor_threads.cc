#include "actor_threads.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "current_context.h"

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
  void pollReactor() override { (void)parker_.poll(); }

 private:
  // What waits for nothing but its deadline need not spin: nobody saves a wake-up by it.
  bool park(Deadline deadline) override { return parker_.park(deadline.at, !parked().signals.empty()); }
  Waker& waker() override { return parker_; }
  Parker& parker_;
};

}  // namespace

std::shared_ptr<Actor> ActorThreads::spawn(ActorOptions options, ActorBase::Body body) {
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

ActorThreads::Worker* ActorThreads::start() {
  Worker* const worker = workers_.emplace_back(std::make_unique<Worker>(*this)).get();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackBytes_);
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

void* ActorThreads::workerMain(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  prepareThread("weir idle");
  while (!worker.quit.load(std::memory_order_seq_cst)) {
    if (Job* job = worker.job.exchange(nullptr, std::memory_order_seq_cst)) worker.threads.runJob(worker, std::unique_ptr<Job>(job));
    else worker.parker.park(Nanos::max(), false);
  }
  return nullptr;
}

void ActorThreads::runJob(Worker& worker, std::unique_ptr<Job> job) {
  nameThread(job->actor->name().c_str());
  {
    const std::shared_ptr<Reactor> reactor = job->actor->takeReactor();
    worker.parker.attach(reactor.get());
    ThreadContext context(job->actor->options(), seed_, worker.parker);
    const CurrentContext current(&context);
    job->actor->runBodyOrDie(context);
    worker.parker.attach(nullptr);
  }
  {
    std::lock_guard lock(mutex_);  // before finish(): whoever restarts a finished actor finds its thread
    idle_.push_back(&worker);
  }
  job->actor->finish();
  registry_.remove(job->id);
}

void ActorThreads::stop() {
  if (std::exchange(stopped_, true)) return;
  for (const auto& worker : workers_) {  // nobody spawns any more
    worker->quit.store(true, std::memory_order_seq_cst);
    worker->parker.wake();
  }
  for (const auto& worker : workers_) pthread_join(worker->thread, nullptr);
}

}  // namespace weir
