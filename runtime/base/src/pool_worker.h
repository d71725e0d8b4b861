#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "actor_base.h"
#include "blocking_pool.h"
#include "fiber.h"
#include "parker.h"
#include "timer_heap.h"

namespace weir {

class PoolWorker;

/// What the workers of a pool share.
struct PoolShared {
  PoolShared(uint64_t runSeed, Nanos spin, int blockingThreads) : seed(runSeed), crowd(spin), blocking(blockingThreads) {}
  const uint64_t seed;
  Crowd crowd;
  Crowd inBlockingCalls{Nanos::zero()};
  ActorRegistry registry;
  BlockingPool blocking;
};

/// A place for one actor on a worker, reused: its fiber, its deadline and the waker to which late wake-ups may come as long as the
/// executor lives. state decides, as in Parker, between the wake-up and the deadline.
struct PoolSlot final : public Waker, public TimerNode {
  enum State : uint32_t { kEmpty, kNotified, kParked };
  explicit PoolSlot(PoolWorker& owner) : worker(owner) {}
  void wake() override;

  PoolWorker& worker;
  std::atomic<uint32_t> state{kEmpty};
  PoolSlot* nextWoken = nullptr;  ///< in the worker's list of woken slots
  bool timedOut = false;
  Fiber fiber;
  std::shared_ptr<ActorBase> actor;
  ExecutionContext* context = nullptr;  ///< once the actor's body has begun
  uint64_t actorId = 0;
};

/// One thread of the pool and the fibers on it.
///
/// Threads: begin and push from any; all else on the worker's own. A slot is in woken_ at most once: only the wake-up that finds it
/// parked puts it there, and it parks again only after it has run.
class PoolWorker {
 public:
  PoolWorker(PoolShared& shared, int number);
  ~PoolWorker();

  void begin(std::shared_ptr<ActorBase> actor, uint64_t id);
  void push(PoolSlot& slot);
  int load() const { return load_.load(std::memory_order_relaxed); }

  // By the fiber that runs.
  bool park(PoolSlot& self, Deadline deadline);
  void yield(PoolSlot& self);
  PoolShared& shared() { return shared_; }

 private:
  void loop();
  void takeWoken();
  void takeNew();
  void takeDue();
  void step(PoolSlot& slot);
  static void runActor(void* slot);

  PoolShared& shared_;
  Parker parker_;
  std::atomic<PoolSlot*> woken_{nullptr};  ///< a stack: newest first
  std::atomic<int> load_{0};               ///< actors begun and not ended
  std::atomic<bool> quit_{false};
  std::mutex mutex_;
  std::vector<std::pair<std::shared_ptr<ActorBase>, uint64_t>> new_;  ///< guarded by mutex_
  std::atomic<bool> hasNew_{false};

  std::deque<PoolSlot*> ready_;
  TimerHeap timers_;
  std::vector<std::unique_ptr<PoolSlot>> slots_;
  std::vector<PoolSlot*> idle_;
  std::thread thread_;
};

}  // namespace weir
