#include "weir/exchange/ready_queue.h"

#include <utility>

namespace weir {

ReadyQueue::ReadyQueue(uint32_t channels, std::shared_ptr<GateSignals> signals, std::function<void()> onNonEmpty)
    : queued_(channels, 0), signals_(std::move(signals)), onNonEmpty_(std::move(onNonEmpty)) {}

uint32_t ReadyQueue::addChannel() {
  Lock lock(mutex_);
  queued_.push_back(0);
  return static_cast<uint32_t>(queued_.size()) - 1;
}

void ReadyQueue::add(std::span<const uint32_t> channels) {
  Lock lock(mutex_);
  if (closed_) return;
  const bool wasEmpty = data_.empty();
  for (const uint32_t channel : channels) {
    if (queued_[channel]) continue;
    queued_[channel] = 1;
    data_.push_back(channel);
  }
  size_.store(static_cast<uint32_t>(data_.size() + priority_.size()), std::memory_order_relaxed);
  lock.unlock();
  // If it was not empty, whoever made it so sets the signal, and the reader drains under the lock after each reset.
  if (!wasEmpty) return;
  signals_->available.set();
  if (onNonEmpty_) onNonEmpty_();
}

void ReadyQueue::addPriority(std::span<const Priority> events) {
  Lock lock(mutex_);
  if (closed_) return;
  const bool wasEmpty = priority_.empty();
  priority_.insert(priority_.end(), events.begin(), events.end());
  size_.store(static_cast<uint32_t>(data_.size() + priority_.size()), std::memory_order_relaxed);
  lock.unlock();
  if (!wasEmpty) return;
  signals_->available.set();
  signals_->priorityAvailable.set();
  if (onNonEmpty_) onNonEmpty_();
}

void ReadyQueue::drain(std::vector<uint32_t>& data, std::vector<Priority>& priority) {
  Lock lock(mutex_);
  for (const uint32_t channel : data_) queued_[channel] = 0;
  data.insert(data.end(), data_.begin(), data_.end());
  priority.insert(priority.end(), priority_.begin(), priority_.end());
  data_.clear();
  priority_.clear();
  size_.store(0, std::memory_order_relaxed);
}

void ReadyQueue::close() {
  Lock lock(mutex_);
  closed_ = true;
  data_.clear();
  priority_.clear();
  size_.store(0, std::memory_order_relaxed);
}

void NotificationBatch::settleSlow() {
  if (next_.queue) {
    if (count_ > 0) queue_->add({channels_.data(), count_});
    queue_ = std::move(next_.queue);
    next_.queue.reset();
    channels_[0] = next_.channel;
    count_ = 1;
  }
  if (nextUrgent_) {
    deliverUrgent();
    urgentQueue_ = std::move(nextUrgent_);
    nextUrgent_.reset();
    urgent_[0] = nextUrgentEvent_;
    urgentCount_ = 1;
  }
}

void NotificationBatch::deliverUrgent() {
  if (urgentCount_ > 0) urgentQueue_->addPriority({urgent_.data(), urgentCount_});
  urgentCount_ = 0;
  urgentQueue_.reset();
}

void NotificationBatch::deliver() {
  settle();
  deliverUrgent();
  if (count_ > 0) queue_->add({channels_.data(), count_});
  count_ = 0;
  queue_.reset();
}

}  // namespace weir
