#include "weir/base/actor_loop.h"

namespace weir {
namespace {

/// A look at the sockets costs a system call, about as much as a few mails.
constexpr unsigned kMailsPerPoll = 16;

}  // namespace

ActorLoop::TimerId ActorLoop::postAt(Deadline deadline, Mail mail) {
  TimerId id;
  bool first;
  {
    Lock lock(mutex_);
    if (isStopped()) return {};
    id = {deadline.at, ++sequence_};
    const auto place = timers_.emplace(id, Timer{deadline.kind, std::move(mail)}).first;
    first = place == timers_.begin();
    workTimers_ += deadline.kind == Deadline::Kind::kWork;
    // Also where it is not the first: work behind a housekeeping timer makes the whole wait one for work.
    first |= deadline.kind == Deadline::Kind::kWork && workTimers_ == 1;
    timerCount_.store(timers_.size(), std::memory_order_relaxed);
  }
  if (first) changed_.set();
  return id;
}

bool ActorLoop::cancel(TimerId id) {
  std::optional<Timer> dropped;  // destroyed outside the lock: a mail may own anything
  Lock lock(mutex_);
  const auto found = timers_.find(id);
  if (found == timers_.end()) return false;
  dropped = std::move(found->second);
  timers_.erase(found);
  workTimers_ -= dropped->kind == Deadline::Kind::kWork;
  timerCount_.store(timers_.size(), std::memory_order_relaxed);
  lock.unlock();
  return true;
}

void ActorLoop::stop() {
  std::map<TimerId, Timer> dropped;
  {
    Lock lock(mutex_);
    stopped_.store(true, std::memory_order_seq_cst);
    dropped.swap(timers_);
    workTimers_ = 0;
    timerCount_.store(0, std::memory_order_relaxed);
  }
  mailbox_.close();
  changed_.set();
}

std::optional<Mail> ActorLoop::takeDue(Nanos now) {
  Lock lock(mutex_);
  if (timers_.empty() || timers_.begin()->first.at > now) return std::nullopt;
  auto timer = timers_.extract(timers_.begin());
  workTimers_ -= timer.mapped().kind == Deadline::Kind::kWork;
  timerCount_.store(timers_.size(), std::memory_order_relaxed);
  return std::move(timer.mapped().mail);
}

Deadline ActorLoop::nextDeadline() {
  Lock lock(mutex_);
  if (timers_.empty()) return Deadline::never();
  const Nanos at = timers_.begin()->first.at;
  return workTimers_ > 0 ? Deadline::work(at) : Deadline::housekeeping(at);
}

void ActorLoop::run(ExecutionContext& context) {
  struct StopAtEnd {
    ActorLoop& loop;
    ~StopAtEnd() { loop.stop(); }
  } stopAtEnd{*this};
  for (unsigned turn = 1; !isStopped(); ++turn) {
    changed_.reset();
    bool ran = false;
    if (hasTimers()) {
      if (auto mail = takeDue(context.clock().monotonic())) {
        mail->run();
        ran = true;
      }
    }
    if (isStopped()) break;
    if (auto mail = mailbox_.tryTake()) {
      mail->run();
      ran = true;
    }
    if (ran) {
      context.checkCancelled();
      context.interleave("actor loop");
      if (turn % kMailsPerPoll == 0) context.pollReactor();
      continue;
    }
    context.wait(WaitReason::kInputOrMail, {&mailbox_.available(), &changed_}, nextDeadline());
  }
}

}  // namespace weir
