#include "pool_worker.h"

#include <fmt/format.h>

#include "current_context.h"
#include "weir/base/check.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

constexpr int kBillsPerTurn = 64;  // a switch is some 50 ns: lost among so many batches
constexpr unsigned kTurnsPerClock = 8;

thread_local PoolWorker* tWorker = nullptr;  // the executor's own: which worker this thread is

class PoolContext final : public ExecutionContext {
 public:
  explicit PoolContext(PoolSlot& slot)
      : ExecutionContext(slot.actor->name(), slot.actor->options().clock ? *slot.actor->options().clock : SystemClock::instance(),
                         Random(slot.worker.shared().seed, slot.actor->name())),
        slot_(slot) {}

  void bill(int64_t) override {
    if (++bills_ < kBillsPerTurn) return;
    bills_ = 0;
    slot_.worker.yield(slot_);
  }
  void blocking(const std::function<void()>& call) override;

 private:
  bool park(Deadline deadline) override {
    bills_ = 0;
    return slot_.worker.park(slot_, deadline);
  }
  Waker& waker() override { return slot_; }

  PoolSlot& slot_;
  int bills_ = 0;
};

/// What an actor is while it runs on a thread for blocking calls. Cancelling the actor does not reach it: the call ends first anyway.
class BlockingContext final : public ExecutionContext {
 public:
  BlockingContext(const ExecutionContext& actor, PoolShared& shared)
      : ExecutionContext(actor.name(), actor.clock(), Random(shared.seed, actor.name())), parker_(shared.inBlockingCalls) {}
  void blocking(const std::function<void()>& call) override { call(); }

 private:
  bool park(Deadline deadline) override { return parker_.park(deadline.at, false); }
  Waker& waker() override { return parker_; }
  Parker parker_;
};

void PoolContext::blocking(const std::function<void()>& call) {
  struct Call {
    const std::function<void()>* call;
    Signal done{"blocking call"};
    std::exception_ptr failure;
  };
  auto shared = std::make_shared<Call>();  // the pool's thread may still be in set() when this fiber goes on
  shared->call = &call;
  slot_.worker.shared().blocking.submit([this, shared] {
    try {
      BlockingContext context(*this, slot_.worker.shared());
      const CurrentContext current(&context);
      (*shared->call)();
    } catch (...) {
      shared->failure = std::current_exception();
    }
    shared->done.set();
  });
  waitThrough(WaitReason::kFile, shared->done);
  if (shared->failure) std::rethrow_exception(std::exchange(shared->failure, nullptr));
}

}  // namespace

void PoolSlot::wake() {
  if (state.load(std::memory_order_seq_cst) == kNotified) return;
  if (state.exchange(kNotified, std::memory_order_seq_cst) == kParked) worker.push(*this);
}

PoolWorker::PoolWorker(PoolShared& shared, int number) : shared_(shared), parker_(shared.crowd) {
  shared_.crowd.awake.fetch_add(1, std::memory_order_relaxed);
  thread_ = std::thread([this, number] {
    prepareThread(fmt::format("weir worker {}", number).c_str());
    loop();
  });
}

PoolWorker::~PoolWorker() {
  quit_.store(true, std::memory_order_seq_cst);
  parker_.wake();
  thread_.join();
}

// Any thread.

void PoolWorker::begin(std::shared_ptr<ActorBase> actor, uint64_t id) {
  load_.fetch_add(1, std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);
    new_.emplace_back(std::move(actor), id);
    hasNew_.store(true, std::memory_order_seq_cst);
  }
  parker_.wake();
}

void PoolWorker::push(PoolSlot& slot) {
  if (tWorker == this) {
    if (slot.heapIndex >= 0) timers_.remove(&slot);
    ready_.push_back(&slot);
    return;
  }
  PoolSlot* head = woken_.load(std::memory_order_seq_cst);
  do {
    slot.nextWoken = head;
  } while (!woken_.compare_exchange_weak(head, &slot, std::memory_order_seq_cst));
  parker_.wake();
}

// The fiber that runs.

bool PoolWorker::park(PoolSlot& self, Deadline deadline) {
  self.timedOut = false;
  if (deadline.at != Nanos::max()) {
    self.at = deadline.at;
    self.tie = self.actorId;
    timers_.push(&self);
  }
  uint32_t expected = PoolSlot::kEmpty;
  if (self.state.compare_exchange_strong(expected, PoolSlot::kParked, std::memory_order_seq_cst)) self.fiber.suspend();
  else if (self.heapIndex >= 0) timers_.remove(&self);
  self.state.store(PoolSlot::kEmpty, std::memory_order_seq_cst);
  return !self.timedOut;
}

void PoolWorker::yield(PoolSlot& self) {
  WEIR_CHECK_EQ(heldMutexes(), 0);
  ready_.push_back(&self);
  self.fiber.suspend();
}

// The worker's loop.

void PoolWorker::loop() {
  tWorker = this;
  for (unsigned turn = 0;; ++turn) {
    if (woken_.load(std::memory_order_seq_cst)) takeWoken();
    if (hasNew_.load(std::memory_order_seq_cst)) takeNew();
    if (!timers_.empty() && (ready_.empty() || turn % kTurnsPerClock == 0)) takeDue();
    if (!ready_.empty()) {
      PoolSlot* const slot = ready_.front();
      ready_.pop_front();
      step(*slot);
    } else if (quit_.load(std::memory_order_seq_cst)) {
      return;
    } else {
      parker_.park(timers_.empty() ? Nanos::max() : timers_.top()->at, true);
    }
  }
}

void PoolWorker::takeWoken() {
  PoolSlot* newest = woken_.exchange(nullptr, std::memory_order_seq_cst);
  PoolSlot* oldest = nullptr;
  while (newest) oldest = std::exchange(newest, std::exchange(newest->nextWoken, oldest));
  for (; oldest; oldest = oldest->nextWoken) {
    if (oldest->heapIndex >= 0) timers_.remove(oldest);
    ready_.push_back(oldest);
  }
}

void PoolWorker::takeNew() {
  std::vector<std::pair<std::shared_ptr<ActorBase>, uint64_t>> actors;
  {
    std::lock_guard lock(mutex_);
    actors.swap(new_);
    hasNew_.store(false, std::memory_order_seq_cst);
  }
  for (auto& [actor, id] : actors) {
    if (idle_.empty()) idle_.push_back(slots_.emplace_back(std::make_unique<PoolSlot>(*this)).get());
    PoolSlot* const slot = idle_.back();
    idle_.pop_back();
    slot->actor = std::move(actor);
    slot->actorId = id;
    slot->fiber.start(&runActor, slot);
    ready_.push_back(slot);
  }
}

void PoolWorker::takeDue() {
  const Nanos now = SystemClock::instance().monotonic();
  while (!timers_.empty() && timers_.top()->at <= now) {
    auto* const slot = static_cast<PoolSlot*>(timers_.top());
    timers_.remove(slot);
    uint32_t expected = PoolSlot::kParked;
    // Else somebody has woken it and is about to push it.
    if (!slot->state.compare_exchange_strong(expected, PoolSlot::kEmpty, std::memory_order_seq_cst)) continue;
    slot->timedOut = true;
    ready_.push_back(slot);
  }
}

void PoolWorker::runActor(void* argument) {
  auto& slot = *static_cast<PoolSlot*>(argument);
  PoolContext context(slot);
  slot.context = &context;
  {
    const CurrentContext current(&context);
    slot.actor->runBodyOrDie(context);
  }
  slot.context = nullptr;
}

void PoolWorker::step(PoolSlot& slot) {
  {
    const CurrentContext current(slot.context);
    slot.fiber.resume();
  }
  if (!slot.fiber.isIdle()) return;
  const auto actor = std::move(slot.actor);
  slot.actor = nullptr;
  idle_.push_back(&slot);
  load_.fetch_sub(1, std::memory_order_relaxed);
  actor->finish();
  shared_.registry.remove(slot.actorId);
}

}  // namespace weir
