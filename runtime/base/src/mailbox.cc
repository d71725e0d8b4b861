#include "weir/base/mailbox.h"

namespace weir {

bool Mailbox::put(Mail mail) {
  {
    Lock lock(mutex_);
    if (closed_) return false;
    normal_.push_back(std::move(mail));
  }
  available_.set();
  return true;
}

bool Mailbox::putUrgent(Mail mail) {
  {
    Lock lock(mutex_);
    if (closed_) return false;
    urgent_.push_back(std::move(mail));
  }
  available_.set();
  return true;
}

std::optional<Mail> Mailbox::tryTake() {
  available_.reset();
  Lock lock(mutex_);
  std::deque<Mail>& from = urgent_.empty() ? normal_ : urgent_;
  if (from.empty()) return std::nullopt;
  std::optional<Mail> mail(std::move(from.front()));
  from.pop_front();
  const bool more = !urgent_.empty() || !normal_.empty();
  lock.unlock();
  if (more) available_.set();
  return mail;
}

void Mailbox::close() {
  std::deque<Mail> dropped, droppedUrgent;  // destroyed outside the lock: a mail may own anything
  Lock lock(mutex_);
  closed_ = true;
  dropped.swap(normal_);
  droppedUrgent.swap(urgent_);
  lock.unlock();
}

}  // namespace weir
