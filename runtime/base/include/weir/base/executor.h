#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
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

/// Told of each wait of one actor, on that actor: the source of busy, idle and back-pressured time.
class WaitObserver {
 public:
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
  virtual ~ExecutionContext() = default;

  /// Returns when one of `signals` is set or the deadline has passed. Flags are not reset. Throws TaskCancelled once the actor is cancelled
  /// (unless shielded). With no signals: a sleep.
  WaitOutcome wait(WaitReason reason, std::span<Signal* const> signals, Deadline deadline = Deadline::never());
  WaitOutcome wait(WaitReason reason, std::initializer_list<Signal*> signals, Deadline deadline = Deadline::never()) {
    return wait(reason, std::span<Signal* const>(signals.begin(), signals.size()), deadline);
  }

  /// A point at which the simulation may let somebody else run. Free elsewhere. Not with a Mutex held.
  virtual void interleave(const char* point) { (void)point; }

  /// `records` were processed: under simulation each costs virtual time, so that an unthrottled source cannot stop the clock. Once per batch.
  virtual void bill(int64_t records) { (void)records; }

  /// Spends `cost`: kSleep frees the worker and keeps a debt, so that the mean is exact; kSpin burns the CPU.
  virtual void spend(Nanos cost, CostMode mode) = 0;

  /// Runs a call that may block (file system, compression) off this actor's worker where others share it, and waits for it.
  /// An exception of `call` is rethrown here.
  virtual void blocking(const std::function<void()>& call) = 0;

  /// Throws TaskCancelled if cancelled and not shielded. For long loops that do not wait.
  void checkCancelled() const;
  bool isCancelled() const { return cancelled_.load(std::memory_order_seq_cst); }

  const Clock& clock() const { return *clock_; }
  Random& random() { return random_; }
  const std::string& name() const { return name_; }
  void setWaitObserver(WaitObserver* observer) { observer_ = observer; }
  /// Waits ignore cancellation while an actor cleans up after itself.
  void setShielded(bool shielded) { shielded_ = shielded; }

 protected:
  ExecutionContext(std::string name, const Clock& clock, Random random)
      : name_(std::move(name)), clock_(&clock), random_(random) {}
  /// Parks until wake() or the deadline; spurious returns are fine. True unless the deadline has passed.
  virtual bool park(Deadline deadline) = 0;
  virtual Waker& waker() = 0;
  void cancelFromExecutor() {
    cancelled_.store(true, std::memory_order_seq_cst);
    waker().wake();
  }

 private:
  std::string name_;
  const Clock* clock_;
  Random random_;
  WaitObserver* observer_ = nullptr;
  std::atomic<bool> cancelled_{false};
  bool shielded_ = false;
};

struct ActorOptions {
  std::string name;              ///< unique in a run: its random stream and its log context
  const Clock* clock = nullptr;  ///< the clock of its process; the executor's own where null
};

/// A started actor. Shared by whoever may cancel it; any thread.
class Actor {
 public:
  virtual ~Actor() = default;
  /// Every present and later wait of the actor throws TaskCancelled.
  virtual void cancel() = 0;
  virtual bool isDone() const = 0;
  /// Set when the body has returned. One waiter.
  virtual Signal& done() = 0;
  virtual const std::string& name() const = 0;
};

/// Runs actors. Nobody else starts a thread (exceptions: RocksDB, spdlog and the io_context that an executor runs).
///
/// An exception that leaves an actor's body, other than TaskCancelled, ends the process: tasks catch theirs at the task boundary.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Any thread. The body starts at some later time, never inside this call.
  virtual std::shared_ptr<Actor> spawn(ActorOptions options, std::function<void(ExecutionContext&)> body) = 0;
  /// Runs `body` as an actor to its end, from a thread outside. The simulated executor runs everybody in this call.
  virtual void run(std::string name, const std::function<void(ExecutionContext&)>& body) = 0;
  virtual const Clock& clock() const = 0;
  /// "threads", "pool" or "simulated".
  virtual std::string_view name() const = 0;
  virtual uint64_t seed() const = 0;
};

}  // namespace weir
