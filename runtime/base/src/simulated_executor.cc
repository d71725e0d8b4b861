#include "weir/base/simulated_executor.h"

#include <fmt/format.h>

#include <optional>
#include <thread>
#include <vector>

#include "actor_base.h"
#include "current_context.h"
#include "fiber.h"
#include "simulation_trace.h"
#include "timer_heap.h"
#include "weir/base/check.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

/// Virtual time. Its monotonic zero is the beginning of the run.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(int64_t epochMillis) : epochMillis_(epochMillis) {}
  int64_t epochMillis() const override { return epochMillis_ + std::chrono::duration_cast<Millis>(now).count(); }
  Nanos monotonic() const override { return now; }
  Nanos now{};

 private:
  int64_t epochMillis_;
};

constexpr uint64_t kLongestSlice = 20'000;  // ns of billed records between two turns of others

}  // namespace

class SimulatedExecutor::Scheduler {
 public:
  class Context;
  class SimulatedActor;

  explicit Scheduler(const SimulationOptions& options)
      : options_(options), clock_(options.epochMillis), random_(options.seed, "scheduler"), trace_(options.traceLines),
        coreFreeAt_(static_cast<size_t>(std::max(options.cores, 0))) {
    WEIR_CHECK(Nanos::zero() <= options.shortestStep && options.shortestStep <= options.longestStep, "steps cost a range of time");
  }

  std::shared_ptr<Actor> spawn(ActorOptions options, ActorBase::Body body);
  void run(const std::shared_ptr<Actor>& main);
  void kill(std::string_view process) { registry_.kill(process); }

  // Called by contexts, on the running fiber.
  void switchAway(SimulatedActor& self, const char* point);
  void interleave(SimulatedActor& self, const char* point);
  /// False if it was not parked.
  bool wake(SimulatedActor& actor);
  /// wake(), and perhaps the turn of somebody else: what was woken may run before its waker goes on, as between two threads.
  void wakeAndInterleave(SimulatedActor& actor);
  /// When a core will have done `cost` for somebody who asks now.
  Nanos occupyCore(Nanos cost);
  void progress() {
    progressStep_ = steps_;
    idleSince_.reset();
  }

  const SimulationOptions options_;
  VirtualClock clock_;
  Random random_;
  SimulationTrace trace_;
  TimerHeap timers_;
  std::vector<std::string> names_;  ///< by actor id
  uint64_t steps_ = 0;

 private:
  static void runActor(void* actor);
  void checkThread(const std::string& actor) const;
  SimulatedActor* pick();
  void collectDue();
  bool jump();
  void fail(SimulationError::Kind kind, const std::string& what);
  void step(SimulatedActor& actor);
  void drive(const Actor* main);
  void unwind();
  std::string report();

  ActorRegistry registry_;
  FiberPool fibers_;
  std::vector<SimulatedActor*> runnable_;
  SimulatedActor* running_ = nullptr;
  SimulatedActor* picked_ = nullptr;  ///< by the fiber that switched away
  std::exception_ptr failure_;        ///< why the run ends before its main body
  std::exception_ptr unwindFailure_;  ///< the first exception that left a body after that
  std::vector<Nanos> coreFreeAt_;
  uint64_t progressStep_ = 0;
  std::optional<Nanos> idleSince_;    ///< since when nothing but housekeeping has happened
  bool inRun_ = false, unwinding_ = false;
  std::thread::id thread_;
};

class SimulatedExecutor::Scheduler::Context final : public ExecutionContext, public Waker {
 public:
  Context(Scheduler& scheduler, SimulatedActor& actor, const ActorOptions& options)
      : ExecutionContext(options.name, options.clock ? *options.clock : scheduler.clock_, Random(scheduler.options_.seed, options.name)),
        scheduler_(scheduler), actor_(actor) {}

  void wake() override { scheduler_.wakeAndInterleave(actor_); }
  void interleave(const char* point) override { scheduler_.interleave(actor_, point); }
  void bill(int64_t records) override;
  void progress() override { scheduler_.progress(); }
  void blocking(const std::function<void()>& call) override;
  using ExecutionContext::parked;

 private:
  bool park(Deadline deadline) override { return parkAt(deadline, waitReasonName(parked().reason).data()); }
  bool parkAt(Deadline deadline, const char* point);
  Waker& waker() override { return *this; }
  void wakeToCancel() override { scheduler_.wake(actor_); }
  Nanos burn(Nanos cost) override;

  Scheduler& scheduler_;
  SimulatedActor& actor_;
  Nanos billed_{};  ///< not yet spent
  Nanos slice_{};   ///< what billed_ may reach; seeded, so that turns end anywhere
};

class SimulatedExecutor::Scheduler::SimulatedActor final : public ActorBase, public TimerNode {
 public:
  SimulatedActor(Scheduler& owner, uint32_t number, ActorOptions options, Body body)
      : ActorBase(std::move(options), std::move(body)), scheduler(owner), id(number), context(owner, *this, this->options()) {
    tie = number;
  }

  Scheduler& scheduler;
  const uint32_t id;
  uint64_t registryId = 0;
  bool isParked = false, timedOut = false;
  const char* point = "start";  ///< where it stopped
  std::unique_ptr<Fiber> fiber;
  Context context;
};

// What an actor does.

bool SimulatedExecutor::Scheduler::Context::parkAt(Deadline deadline, const char* point) {
  actor_.isParked = true;
  actor_.timedOut = false;
  if (deadline.at != Nanos::max()) {
    actor_.at = deadline.at;
    actor_.kind = deadline.kind;
    scheduler_.timers_.push(&actor_);
  }
  scheduler_.switchAway(actor_, point);
  return !actor_.timedOut;
}

void SimulatedExecutor::Scheduler::Context::bill(int64_t records) {
  if (records <= 0) return;
  scheduler_.progress();
  billed_ += records * scheduler_.options_.recordCost;
  if (billed_ < slice_) return;
  const Nanos until = scheduler_.occupyCore(billed_);
  billed_ = Nanos::zero();
  slice_ = Nanos(random().below(kLongestSlice));
  while (scheduler_.clock_.now < until) parkAt(Deadline::work(until), "records");
}

Nanos SimulatedExecutor::Scheduler::Context::burn(Nanos cost) {
  scheduler_.progress();
  const Nanos until = scheduler_.occupyCore(cost);
  while (scheduler_.clock_.now < until) {
    checkCancelled();
    parkAt(Deadline::work(until), "record cost");
  }
  checkCancelled();
  return cost + (scheduler_.clock_.now - until);  // waiting for a core is not using it
}

void SimulatedExecutor::Scheduler::Context::blocking(const std::function<void()>& call) {
  const Nanos from = clock().monotonic();
  interleave("before a blocking call");
  call();
  interleave("after a blocking call");
  reportWait(WaitReason::kFile, from);
}

void SimulatedExecutor::Scheduler::switchAway(SimulatedActor& self, const char* point) {
  WEIR_CHECK_EQ(heldMutexes(), 0);
  WEIR_CHECK(running_ == &self, "the context of '{}' is used by somebody else", self.name());
  self.point = point;
  picked_ = pick();
  if (picked_ == &self) picked_ = nullptr;  // the choice fell on itself: no switch
  else self.fiber->suspend();
}

void SimulatedExecutor::Scheduler::interleave(SimulatedActor& self, const char* point) {
  runnable_.push_back(&self);
  switchAway(self, point);
}

void SimulatedExecutor::Scheduler::checkThread(const std::string& actor) const {
  WEIR_CHECK(!inRun_ || std::this_thread::get_id() == thread_, "another thread touches '{}': its run could not be replayed", actor);
}

bool SimulatedExecutor::Scheduler::wake(SimulatedActor& actor) {
  checkThread(actor.name());
  if (!actor.isParked) return false;  // it looks at its signals before it parks, and nobody runs in between
  actor.isParked = false;
  if (actor.heapIndex >= 0) timers_.remove(&actor);
  runnable_.push_back(&actor);
  return true;
}

void SimulatedExecutor::Scheduler::wakeAndInterleave(SimulatedActor& actor) {
  if (wake(actor) && running_ && heldMutexes() == 0) interleave(*running_, "wake");
}

Nanos SimulatedExecutor::Scheduler::occupyCore(Nanos cost) {
  if (coreFreeAt_.empty()) return clock_.now + cost;
  Nanos& core = *std::min_element(coreFreeAt_.begin(), coreFreeAt_.end());
  return core = std::max(core, clock_.now) + cost;
}

// Who runs next.

/// One scheduling step. Null, with failure_ set, if nobody can ever run.
SimulatedExecutor::Scheduler::SimulatedActor* SimulatedExecutor::Scheduler::pick() {
  const uint64_t draw = random_.next();
  const auto upTo = [](uint64_t range, uint32_t part) { return (range * part) >> 32; };
  const auto range = static_cast<uint64_t>((options_.longestStep - options_.shortestStep).count()) + 1;
  ++steps_;
  clock_.now += options_.shortestStep + Nanos(upTo(range, static_cast<uint32_t>(draw >> 32)));
  collectDue();
  if (runnable_.empty() && !jump()) return nullptr;
  if (steps_ - progressStep_ > options_.livelockSteps) {
    fail(SimulationError::Kind::kLivelock, fmt::format("livelock: {} steps without progress", options_.livelockSteps));
    return nullptr;
  }
  if (clock_.now > options_.timeLimit && !unwinding_) {
    fail(SimulationError::Kind::kTimeLimit, "the run has reached its time limit");
    return nullptr;
  }
  const size_t index = upTo(runnable_.size(), static_cast<uint32_t>(draw));
  SimulatedActor* const actor = runnable_[index];
  runnable_[index] = runnable_.back();
  runnable_.pop_back();
  trace_.add(steps_, clock_.now, actor->id, actor->point);
  return actor;
}

void SimulatedExecutor::Scheduler::collectDue() {
  while (!timers_.empty() && timers_.top()->at <= clock_.now) {
    auto* const actor = static_cast<SimulatedActor*>(timers_.top());
    timers_.remove(actor);
    if (actor->kind == Deadline::Kind::kWork) idleSince_.reset();
    actor->isParked = false;
    actor->timedOut = true;
    runnable_.push_back(actor);
  }
}

/// Nobody can run: on to the next deadline. False on a deadlock.
bool SimulatedExecutor::Scheduler::jump() {
  if (!timers_.hasWork()) {
    if (!idleSince_) idleSince_ = clock_.now;
    if (timers_.empty() || unwinding_ || timers_.top()->at - *idleSince_ > options_.housekeepingGrace) {
      fail(SimulationError::Kind::kDeadlock, timers_.empty() ? "deadlock: nobody can run" : "deadlock: nothing but housekeeping is left");
      return false;
    }
  }
  clock_.now = timers_.top()->at;
  progressStep_ = steps_;
  collectDue();
  return true;
}

void SimulatedExecutor::Scheduler::fail(SimulationError::Kind kind, const std::string& what) {
  if (failure_ && !unwinding_) return;
  failure_ = std::make_exception_ptr(SimulationError(kind, what + report()));
}

std::string SimulatedExecutor::Scheduler::report() {
  std::string text =
      fmt::format(", with seed {} in step {} after {:.6f} s\n", options_.seed, steps_, static_cast<double>(clock_.now.count()) / 1e9);
  for (const auto& base : registry_.all()) {
    const auto& actor = static_cast<const SimulatedActor&>(*base);
    text += fmt::format("  #{} '{}'", actor.id, actor.name());
    if (!actor.options().process.empty()) text += " of " + actor.options().process;
    if (!actor.isParked) {
      text += fmt::format(" can run, from '{}'\n", actor.point);
      continue;
    }
    text += fmt::format(" waits for {}", actor.point);
    const char* separator = ": ";
    for (const Signal* signal : actor.context.parked().signals) {
      text += separator;
      text += signal->name();
      separator = ", ";
    }
    if (actor.heapIndex >= 0)
      text += fmt::format(", until {:.6f} s{}", static_cast<double>(actor.at.count()) / 1e9,
                          actor.kind == Deadline::Kind::kWork ? "" : " (housekeeping)");
    text += '\n';
  }
  return text + "last steps:\n" + trace_.text(names_);
}

// The run.

std::shared_ptr<Actor> SimulatedExecutor::Scheduler::spawn(ActorOptions options, ActorBase::Body body) {
  checkThread(options.name);
  WEIR_CHECK(!options.reactor, "actor '{}' would wait for real sockets, which a simulated run does not have", options.name);
  const auto id = static_cast<uint32_t>(names_.size());
  names_.push_back(options.name);
  auto actor = std::make_shared<SimulatedActor>(*this, id, std::move(options), std::move(body));
  actor->registryId = registry_.add(actor);
  runnable_.push_back(actor.get());
  return actor;
}

void SimulatedExecutor::Scheduler::runActor(void* argument) {
  auto& actor = *static_cast<SimulatedActor*>(argument);
  auto& scheduler = actor.scheduler;
  const auto thrown = actor.runBody(actor.context);
  std::exception_ptr& failure = scheduler.unwinding_ ? scheduler.unwindFailure_ : scheduler.failure_;
  if (thrown && !failure) failure = std::make_exception_ptr(ActorFailure(actor.name(), thrown));
}

void SimulatedExecutor::Scheduler::step(SimulatedActor& actor) {
  running_ = &actor;
  if (!actor.fiber) {
    actor.fiber = fibers_.take();
    actor.fiber->start(&runActor, &actor);
  }
  {
    const CurrentContext current(&actor.context);
    actor.fiber->resume();
  }
  running_ = nullptr;
  if (!actor.fiber->isIdle()) return;
  fibers_.give(std::move(actor.fiber));
  actor.finish();
  registry_.remove(actor.registryId);  // destroys the actor if nobody else holds it
}

/// Until `main` is done, or everybody if null; or until something fails.
void SimulatedExecutor::Scheduler::drive(const Actor* main) {
  while (!failure_ && (main ? !main->isDone() : !registry_.empty())) {
    SimulatedActor* const next = picked_ ? std::exchange(picked_, nullptr) : pick();
    if (next) step(*next);
  }
}

/// Cancels everybody and lets them unwind; kills those who wait for what will not come.
void SimulatedExecutor::Scheduler::unwind() {
  unwinding_ = true;
  if (picked_) runnable_.push_back(std::exchange(picked_, nullptr));
  failure_ = nullptr;
  progress();
  registry_.beginClosing();
  drive(nullptr);
  if (failure_ && !registry_.empty()) {
    failure_ = nullptr;
    progress();
    registry_.killAll();
    drive(nullptr);
  }
  WEIR_CHECK(registry_.empty(), "actors do not unwind{}", report());
  registry_.reopen();
  unwinding_ = false;
  failure_ = nullptr;
}

void SimulatedExecutor::Scheduler::run(const std::shared_ptr<Actor>& main) {
  WEIR_CHECK(!inRun_, "a simulation runs one main body at a time");
  inRun_ = true;
  thread_ = std::this_thread::get_id();
  progress();
  drive(main.get());
  std::exception_ptr failure = failure_;
  unwind();
  inRun_ = false;
  if (!failure) failure = std::exchange(unwindFailure_, nullptr);
  if (failure) std::rethrow_exception(failure);
}

SimulatedExecutor::SimulatedExecutor(SimulationOptions options) : scheduler_(std::make_unique<Scheduler>(options)) {}
SimulatedExecutor::~SimulatedExecutor() = default;

std::shared_ptr<Actor> SimulatedExecutor::spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) {
  return scheduler_->spawn(std::move(options), std::move(body));
}

void SimulatedExecutor::run(std::string name, const std::function<void(ExecutionContext&)>& body) {
  runAsActor(*this, std::move(name), body, [this](const std::shared_ptr<Actor>& main) { scheduler_->run(main); });
}

void SimulatedExecutor::kill(std::string_view process) { scheduler_->kill(process); }
const Clock& SimulatedExecutor::clock() const { return scheduler_->clock_; }
uint64_t SimulatedExecutor::seed() const { return scheduler_->options_.seed; }
uint64_t SimulatedExecutor::steps() const { return scheduler_->steps_; }
uint64_t SimulatedExecutor::traceHash() const { return scheduler_->trace_.hash(); }
std::string SimulatedExecutor::trace() const { return scheduler_->trace_.text(scheduler_->names_); }

}  // namespace weir
