#pragma once

#include <pthread.h>

#include <memory>
#include <mutex>
#include <vector>

#include "actor_base.h"
#include "parker.h"

namespace weir {

/// Threads that run an actor each, kept for the next one: those of the thread executor, and in a pool those of the actors that wait in a
/// reactor.
///
/// Threads: spawn from any. Life: stop() before what it was given goes.
class ActorThreads {
 public:
  ActorThreads(Crowd& crowd, ActorRegistry& registry, uint64_t seed, size_t stackBytes)
      : crowd_(crowd), registry_(registry), seed_(seed), stackBytes_(stackBytes) {}
  ~ActorThreads() { stop(); }

  std::shared_ptr<Actor> spawn(ActorOptions options, ActorBase::Body body);
  /// Joins the threads, on which nothing runs any more. Idempotent.
  void stop();

 private:
  struct Job {
    std::shared_ptr<ActorBase> actor;
    uint64_t id;
  };
  /// A thread and what it waits on. Lives as long as the executor, and so does the parker that late wake-ups go to.
  struct Worker {
    explicit Worker(ActorThreads& owner) : threads(owner), parker(owner.crowd_) {}
    ActorThreads& threads;
    Parker parker;
    std::atomic<Job*> job{nullptr};
    std::atomic<bool> quit{false};
    pthread_t thread{};
  };

  Worker* start();
  static void* workerMain(void* worker);
  void runJob(Worker& worker, std::unique_ptr<Job> job);

  Crowd& crowd_;
  ActorRegistry& registry_;
  const uint64_t seed_;
  const size_t stackBytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< guarded by mutex_
  std::vector<Worker*> idle_;                     ///< guarded by mutex_
  bool stopped_ = false;
};

}  // namespace weir
