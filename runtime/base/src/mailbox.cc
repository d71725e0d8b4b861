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

std::deque<Mail> Mailbox::closeAndTake() {
  std::deque<Mail> left, normal;
  {
    Lock lock(mutex_);
    closed_ = true;
    left.swap(urgent_);
    normal.swap(normal_);
  }
  for (Mail& mail : normal) left.push_back(std::move(mail));
  return left;
}

}  // namespace weir
