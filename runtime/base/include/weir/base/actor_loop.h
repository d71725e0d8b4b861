#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "weir/base/executor.h"
#include "weir/base/mailbox.h"

namespace weir {

/// The loop of an actor that lives on mails and deadlines: JobMaster, TaskExecutor, flusher, I/O actors. One mail runs at a time, on
/// the actor; what mails touch needs no lock.
///
///     ActorLoop loop;
///     auto actor = executor.spawn({.name = "job master"}, [&](ExecutionContext& ctx) { loop.run(ctx); });
///     loop.post({"start", [&] { ... }});
///     auto timeout = loop.postAt(Deadline::work(clock.monotonic() + 10s), {"expire", [&] { ... }});
///
/// Flink: RpcEndpoint with its main-thread executor (runAsync, scheduleRunAsync).
///
/// Threads: post, postUrgent, postAt, cancel and stop from any thread; run by the actor alone, once.
/// Order: mails in the order of their posts, urgent ones first; due timers in the order of (deadline, post). Where both wait they take
///   turns, so that neither starves the other.
/// Errors: an exception of a mail, and TaskCancelled, leave run(). However run() ends, the loop is stopped then.
class ActorLoop {
 public:
  /// A timer that has not run yet; good for cancel() for ever.
  struct TimerId {
    Nanos at{};
    uint64_t sequence = 0;  ///< 0: no timer
    explicit operator bool() const { return sequence != 0; }
    auto operator<=>(const TimerId&) const = default;
  };

  /// False, and the mail is dropped, once the loop is stopped.
  bool post(Mail mail) { return mailbox_.put(std::move(mail)); }
  bool postUrgent(Mail mail) { return mailbox_.putUrgent(std::move(mail)); }
  /// Runs the mail when the deadline has passed. The kind says whether a simulated run waits for it. An empty id once stopped.
  TimerId postAt(Deadline deadline, Mail mail);
  /// True if the timer had neither run nor been cancelled: it will not run.
  bool cancel(TimerId id);
  /// Runs mails until stop(). To be called by the actor, once.
  void run(ExecutionContext& context);
  /// run() returns after the mail that it is in; everything queued is dropped. Also before run().
  void stop();
  bool isStopped() const { return stopped_.load(std::memory_order_seq_cst); }

 private:
  struct Timer {
    Deadline::Kind kind;
    Mail mail;
  };
  std::optional<Mail> takeDue(Nanos now);
  Deadline nextDeadline();
  bool hasTimers() const { return timerCount_.load(std::memory_order_relaxed) > 0; }

  Mailbox mailbox_;
  std::atomic<bool> stopped_{false};
  Signal changed_{"timers"};  ///< an earlier deadline than before, or stopped
  Mutex mutex_;
  std::map<TimerId, Timer> timers_;  ///< guarded by mutex_, as are the two below
  uint64_t sequence_ = 0;
  int workTimers_ = 0;
  std::atomic<size_t> timerCount_{0};
};

}  // namespace weir
