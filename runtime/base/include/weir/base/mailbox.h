#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>

#include "weir/base/mutex.h"
#include "weir/base/signal.h"

namespace weir {

/// A piece of work that another actor wants done by the owner of a mailbox.
struct Mail {
  const char* description;  ///< for traces and deadlock reports
  std::function<void()> run;
};

/// The queue of one actor. put from any thread; take only by the owner.
///
/// Flink: TaskMailboxImpl. Urgent mail runs ahead of all normal mail, in the order in which it was put. A closed mailbox drops what
/// is put: put then returns false. A locked deque, not a lock-free queue: one total order is part of the contract.
class Mailbox {
 public:
  bool put(Mail mail);
  bool putUrgent(Mail mail);
  std::optional<Mail> tryTake();
  /// A relaxed look between two batches of records.
  bool looksNonEmpty() const { return available_.looksSet(); }
  /// Set while mail is queued. One waiter: the owner.
  Signal& available() { return available_; }
  /// Later puts are dropped, queued mail is destroyed.
  void close() { (void)closeAndTake(); }
  /// Later puts are dropped; what is queued belongs to the caller, in the order in which it would have run.
  std::deque<Mail> closeAndTake();

 private:
  Mutex mutex_;
  std::deque<Mail> urgent_, normal_;
  bool closed_ = false;
  Signal available_{"mail"};
};

}  // namespace weir
