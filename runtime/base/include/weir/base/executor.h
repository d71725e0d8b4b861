#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weir/base/clock.h"
#include "weir/base/error.h"
#include "weir/base/random.h"
#include "weir/base/signal.h"

namespace weir {

/// What an actor waits for; decides to which account the time is charged.
enum class WaitReason {
  kInputOrMail,    ///< idle
  kOutput,         ///< soft back pressure: between two records, no output buffer in hand
  kOutputBuffer,   ///< hard back pressure: in the middle of an emission, or of replayed output state
  kSetupBuffers,   ///< buffers at set-up
  kRecordCost,     ///< a configured cost per record
  kFile,           ///< a file operation in a blocking-call pool
};
std::string_view waitReasonName(WaitReason reason);

/// When a wait ends at the latest. Work deadlines keep a simulated run going; housekeeping ones (flusher, gauges, heart-beats) do not: a
/// run ends, or is a deadlock, when nothing but housekeeping is left.
struct Deadline {
  enum class Kind { kWork, kHousekeeping };
  Nanos at = Nanos::max();  ///< on the monotonic clock
  Kind kind = Kind::kWork;

  static Deadline never() { return {}; }
  static Deadline work(Nanos at) { return {at, Kind::kWork}; }
  static Deadline housekeeping(Nanos at) { return {at, Kind::kHousekeeping}; }
};

enum class WaitOutcome { kSignalled, kDeadline };

/// How a configured cost per record is spent. Under simulation both are virtual time.
enum class CostMode { kSleep, kSpin };

/// Told of each wait of one actor, on that actor: the source of busy, idle and back-pressured time. A slept record cost comes as
/// WaitReason::kRecordCost, which is busy time; a spun one is not reported: it is busy anyway.
class WaitObserver {
 public:
  /// A wait that was not over before it began; its onWait follows.
  virtual void onWaitBegin(WaitReason reason, Nanos from) { (void)reason, (void)from; }
  virtual void onWait(WaitReason reason, Nanos from, Nanos to) = 0;

 protected:
  ~WaitObserver() = default;
};

/// What an actor has in hand: the only way to wait, to read time and to draw random numbers. One per actor, used by that actor alone.
///
/// The same code runs as a thread, as a fiber on a pool of workers, or as a fiber under the simulation; it must not call a condition
/// variable, a sleep or the system clock, must not wait with a weir::Mutex held or in a destructor, and keeps nothing in thread_local.
class ExecutionContext {
 public:
  ExecutionContext(const ExecutionContext&) = delete;
  ExecutionContext& operator=(const ExecutionContext&) = delete;
  virtual ~ExecutionContext() = default;

  /// Returns when one of `signals` is set or the deadline has passed. Flags are not reset. Throws TaskCancelled once the actor is cancelled
  /// (unless shielded). With no signals: a sleep. A signal has one waiter at a time; a second one is refused by a check.
  WaitOutcome wait(WaitReason reason, std::span<Signal* const> signals, Deadline deadline = Deadline::never());
  WaitOutcome wait(WaitReason reason, std::initializer_list<Signal*> signals, Deadline deadline = Deadline::never()) {
    return wait(reason, std::span<Signal* const>(signals.begin(), signals.size()), deadline);
  }

  /// A point at which the simulation may let somebody else run, as it also may in Signal::set(). Free elsewhere. Never throws. Not with
  /// a Mutex held. `point` is static text.
  virtual void interleave(const char* point) { (void)point; }

  /// `records` were processed: under simulation each costs virtual time, so that an unthrottled source cannot stop the clock; in the pool
  /// others of the same worker get their turn now and then. Once per batch. Never throws. Not with a Mutex held.
  virtual void bill(int64_t records) { (void)records; }

  /// Runs what is ready in the actor's reactor, without waiting: for loops that are too busy to wait. Free where there is none.
  virtual void pollReactor() {}

  /// Something useful was done that is not a record: tells the simulation's livelock guard. Free elsewhere.
  virtual void progress() {}

  /// Spends `cost`, as busy time: no other work of the actor runs meanwhile, and only cancellation ends it early (TaskCancelled). kSleep
  /// frees the worker, kSpin burns the CPU. Costs are collected as a debt and paid when worth it (sleep: 200 us, spin: 10 us), and
  /// oversleeping is credited, so that the mean is exact.
  void spend(Nanos cost, CostMode mode);

  /// Runs a call that may block (file system, compression) off this actor's worker where others share it, and waits for it, also when
  /// cancelled meanwhile. An exception of `call` is rethrown here.
  virtual void blocking(const std::function<void()>& call) = 0;

  /// Throws TaskCancelled if cancelled and not shielded. For long loops that do not wait.
  void checkCancelled();
  bool isCancelled() const { return cancelled_.load(std::memory_order_seq_cst); }

  /// The context of the actor that calls, also inside its blocking(); null on a thread that is no executor's. For hooks that no context
  /// reaches (injected delays of files); whoever has a context uses that.
  static ExecutionContext* current();

  const Clock& clock() const { return *clock_; }
  Random& random() { return random_; }
  const std::string& name() const { return name_; }
  void setWaitObserver(WaitObserver* observer) { observer_ = observer; }
  /// Waits ignore cancellation while an actor cleans up after itself. A killed actor (Executor::kill, end of the run) is not shielded.
  void setShielded(bool shielded) { shielded_ = shielded; }

 protected:
  /// What the actor is parked for, for reports.
  struct Parked {
    WaitReason reason = WaitReason::kInputOrMail;
    std::span<Signal* const> signals;
    bool now = false;
  };

  ExecutionContext(std::string name, const Clock& clock, Random random)
      : name_(std::move(name)), clock_(&clock), random_(random) {}
  /// Parks until wake() or the deadline; spurious returns are fine. True unless the deadline has passed.
  virtual bool park(Deadline deadline) = 0;
  virtual Waker& waker() = 0;
  /// Ends a park because of a cancellation; the canceller may hold locks.
  virtual void wakeToCancel() { waker().wake(); }
  /// A wait that cancellation does not end: something of this actor is in use by another thread until then.
  void waitThrough(WaitReason reason, Signal& signal);
  /// Uses the CPU for `cost`, or until cancelled. How much was used.
  virtual Nanos burn(Nanos cost);
  const Parked& parked() const { return parked_; }
  void reportWait(WaitReason reason, Nanos from);
  bool hasObserver() const { return observer_ != nullptr; }

 private:
  friend class ActorBase;
  enum class Ends { kOnCancel, kNever };
  WaitOutcome waitFor(WaitReason reason, std::span<Signal* const> signals, Deadline deadline, Ends ends);
  bool mustThrow() const { return isCancelled() && (!shielded_ || killed_.load(std::memory_order_seq_cst)); }
  void cancelFromExecutor(bool kill) {
    if (kill) killed_.store(true, std::memory_order_seq_cst);
    cancelled_.store(true, std::memory_order_seq_cst);
    wakeToCancel();
  }

  std::string name_;
  const Clock* clock_;
  Random random_;
  WaitObserver* observer_ = nullptr;
  std::atomic<bool> cancelled_{false}, killed_{false};
  bool shielded_ = false;
  int refusals_ = 0;  ///< how often TaskCancelled was thrown
  Nanos sleepDebt_{}, spinDebt_{};
  Parked parked_;
};

/// Where an actor waits that has sockets: readiness of a socket ends its waits too, and what is ready runs on the actor's own thread,
/// inside the wait. One for each such actor.
///
/// What it runs must not wait; an exception of it leaves the wait. Whoever is told by it sets signals or posts mails, as ever.
/// Threads: wake from any; all else by the actor. Life: destroyed on the actor's thread, once its body has returned.
class Reactor {
 public:
  virtual ~Reactor() = default;
  /// Runs something that is ready, if there is; false if there was nothing.
  virtual bool poll() = 0;
  /// Waits until something is ready and runs it, until wake(), or until `until` on the monotonic clock. May return early.
  virtual void waitUntil(Nanos until) = 0;
  /// Ends waitUntil, or the next one. The caller may hold locks.
  virtual void wake() = 0;
};

struct ActorOptions {
  std::string name{};            ///< unique in a run: its random stream and its log context
  const Clock* clock = nullptr;  ///< the clock of its process; the executor's own where null. Monotonic time must be the executor's
  std::string process{};         ///< what Executor::kill takes; empty: none
  /// Where it waits. Real executors only: the actor has a thread of its own, also in a pool. Null: it waits for signals alone.
  std::shared_ptr<Reactor> reactor{};
};

/// A started actor. Shared by whoever may cancel it; any thread.
class Actor {
 public:
  virtual ~Actor() = default;
  /// Every present and later wait of the actor throws TaskCancelled. A body that has not begun still begins.
  virtual void cancel() = 0;
  virtual bool isDone() const = 0;
  /// Set when the body has returned. One waiter.
  virtual Signal& done() = 0;
  virtual const std::string& name() const = 0;
};

/// An exception that left the body of an actor of a simulated run; thrown by run(). The text names the actor and the exception.
class ActorFailure : public std::runtime_error {
 public:
  ActorFailure(std::string actor, std::exception_ptr cause);
  const std::string& actor() const { return actor_; }
  const std::exception_ptr& cause() const { return cause_; }

 private:
  std::string actor_;
  std::exception_ptr cause_;
};

/// Runs actors. Nobody else starts a thread (exceptions: RocksDB, spdlog and the io_context that an executor runs).
///
/// An exception that leaves an actor's body, other than TaskCancelled, ends the process: tasks catch theirs at the task boundary. The
/// simulation ends the run instead and throws ActorFailure. What leaves the body given to run() leaves run() as it is, everywhere.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Any thread. The body starts at some later time, never inside this call.
  virtual std::shared_ptr<Actor> spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) = 0;
  /// Runs `body` as an actor to its end, from a thread outside. Actors that have not ended by then are cancelled, and have unwound when
  /// this returns; those who do not heed it (shielded) are killed after a grace. The simulated executor runs everybody in this call. One
  /// run at a time.
  virtual void run(std::string name, const std::function<void(ExecutionContext&)>& body) = 0;
  /// Cancels all actors of a process at once; not even shielded waits outlive it. Any thread. What it does not cut: links and files.
  virtual void kill(std::string_view process) = 0;
  virtual const Clock& clock() const = 0;
  /// "threads", "pool" or "simulated".
  virtual std::string_view name() const = 0;
  virtual uint64_t seed() const = 0;
};

}  // namespace weir
