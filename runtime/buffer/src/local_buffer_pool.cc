#include "weir/buffer/local_buffer_pool.h"

#include "weir/base/error.h"

namespace weir {

LocalBufferPool::LocalBufferPool(std::shared_ptr<NetworkBufferPool> network, const LocalBufferPoolOptions& options)
    : network_(std::move(network)), options_(options), perSubpartition_(options.subpartitions, 0), size_(options.required) {}

LocalBufferPool::~LocalBufferPool() {
  WEIR_CHECK(destroyed_, "a local buffer pool must be destroyed by its owner");
  WEIR_CHECK_EQ(requested_, 0);
}

bool LocalBufferPool::updateAvailability() {
  if (free_.empty() && requested_ < size_ && secured_ && !destroyed_) {
    using Claim = NetworkBufferPool::Claim;
    const Claim claim = requested_ < options_.required ? Claim::kOwed : Claim::kSurplus;
    MemorySegment* next = nullptr;
    if (!subscribed_) {
      next = network_->takeOrSubscribe(shared_from_this(), claim);
      subscribed_ = next == nullptr;
    } else {
      next = network_->tryTake(claim);
    }
    if (next) {
      free_.push_back(next);
      ++requested_;
    }
  }
  const bool now = !free_.empty() && capped_ == 0;
  const bool before = availableNow_.load(std::memory_order_relaxed);
  if (now != before) availableNow_.store(now, std::memory_order_release);
  roomyNow_.store(now && size_ - requested_ + static_cast<int32_t>(free_.size()) >= kRoomy, std::memory_order_relaxed);
  return now && !before;
}

MemorySegment* LocalBufferPool::takeSegment(int32_t subpartition) {
  if (subpartition >= options_.subpartitions) subpartition = -1;
  Lock lock(mutex_);
  if (destroyed_)
    throw Throwable("org.apache.flink.runtime.execution.CancelTaskException", "Buffer pool has already been destroyed.");
  MemorySegment* segment = nullptr;
  if (!free_.empty()) {
    segment = free_.back();
    free_.pop_back();
  } else if (requested_ >= size_ && requested_ - size_ < options_.maxOverdraft && (segment = network_->tryTake())) {
    ++requested_;
  } else {
    return nullptr;  // even below the size: a segment enters through the free list only
  }
  if (subpartition >= 0 && ++perSubpartition_[subpartition] == options_.maxBuffersPerChannel) ++capped_;
  (void)updateAvailability();  // the caller is the waiter: nobody to tell
  lock.unlock();
  segment->open(this, subpartition);
  return segment;
}

BufferBuilder LocalBufferPool::requestBufferBuilder(int32_t subpartition) {
  MemorySegment* segment = takeSegment(subpartition);
  return segment ? BufferBuilder(segment) : BufferBuilder();
}

BufferBuilder LocalBufferPool::requestBufferBuilderBlocking(ExecutionContext& context, int32_t subpartition) {
  while (true) {
    available_.reset();
    if (MemorySegment* segment = takeSegment(subpartition)) return BufferBuilder(segment);
    if (!isAvailable()) context.wait(WaitReason::kOutputBuffer, {&available_});
  }
}

Buffer LocalBufferPool::requestBuffer() {
  MemorySegment* segment = takeSegment(-1);
  return segment ? Buffer::adopt(segment, 0, 0, DataType::DATA_BUFFER) : Buffer();
}

bool LocalBufferPool::isSecured() const {
  Lock lock(mutex_);
  return secured_;
}

bool LocalBufferPool::onSecured() {
  {
    Lock lock(mutex_);
    if (destroyed_) return false;
    secured_ = true;
    (void)updateAvailability();
  }
  available_.set();
  return true;
}

Result<void> LocalBufferPool::awaitSecured(ExecutionContext& context) {
  const Deadline deadline = Deadline::work(context.clock().monotonic() + network_->requestTimeout());
  while (true) {
    available_.reset();
    if (isSecured() || isDestroyed()) return {};
    if (context.wait(WaitReason::kSetupBuffers, {&available_}, deadline) == WaitOutcome::kDeadline) return network_->timeoutError();
  }
}

Result<void> LocalBufferPool::reserveFirstSegment(ExecutionContext& context) {
  const Deadline deadline = Deadline::work(context.clock().monotonic() + network_->requestTimeout());
  // The pool has been in line for its first segment since it was made, so there is nothing to do but to wait for its turn.
  while (true) {
    available_.reset();
    if (requested() > 0 || isDestroyed()) return {};
    if (context.wait(WaitReason::kSetupBuffers, {&available_}, deadline) == WaitOutcome::kDeadline) return network_->timeoutError();
  }
}

bool LocalBufferPool::addBufferListener(std::shared_ptr<BufferListener> listener) {
  Lock lock(mutex_);
  if (!free_.empty() || destroyed_) return false;
  listeners_.push_back(std::move(listener));
  return true;
}

void LocalBufferPool::recycle(MemorySegment& segment) {
  std::shared_ptr<LocalBufferPool> alive;  // outlives the lock
  Lock lock(mutex_);
  if (const int32_t subpartition = segment.subpartition();
      subpartition >= 0 && perSubpartition_[subpartition]-- == options_.maxBuffersPerChannel)
    --capped_;

  while (!destroyed_ && !hasExcess() && !listeners_.empty()) {
    std::shared_ptr<BufferListener> listener = std::move(listeners_.front());
    listeners_.pop_front();
    segment.open(this, -1);
    lock.unlock();
    Buffer buffer = Buffer::adopt(&segment, 0, 0, DataType::DATA_BUFFER);
    if (listener->notifyBufferAvailable(buffer)) return;
    // Refused: the reference ends here without a second turn through recycle().
    (void)buffer.detach();
    lock.lock();
  }
  if (destroyed_ || hasExcess()) {
    --requested_;
    if (requested_ == 0 && self_) alive = std::move(self_);
    const bool waiting = network_->give(&segment);
    const std::shared_ptr<NetworkBufferPool> network = network_;
    lock.unlock();
    if (waiting) network->notifyListeners();
    return;
  }
  free_.push_back(&segment);
  if (!updateAvailability()) return;
  alive = shared_from_this();  // once unlocked, the owner may destroy the pool
  lock.unlock();
  available_.set();
}

void LocalBufferPool::onSegmentAvailable() {
  Lock lock(mutex_);
  subscribed_ = false;
  if (destroyed_) return;
  const bool became = updateAvailability();
  if (!listeners_.empty() && !free_.empty()) {
    // Whoever is in line comes before whoever asks later: the segment goes the way of one that came back.
    MemorySegment* segment = free_.back();
    free_.pop_back();
    (void)updateAvailability();
    lock.unlock();
    segment->open(this, -1);
    Buffer handedOut = Buffer::adopt(segment, 0, 0, DataType::DATA_BUFFER);
    return;
  }
  if (!became) return;
  lock.unlock();
  available_.set();
}

bool LocalBufferPool::setNumBuffers(int32_t size) {
  WEIR_CHECK_GE(size, options_.required);
  Lock lock(mutex_);
  if (destroyed_) return false;
  size_ = std::min(size, options_.max);
  while (hasExcess() && !free_.empty()) {
    (void)network_->give(free_.back());  // whoever resizes tells the others once it holds no lock
    free_.pop_back();
    --requested_;
  }
  return updateAvailability();
}

void LocalBufferPool::lazyDestroy() {
  std::deque<std::shared_ptr<BufferListener>> listeners;
  int32_t owed;
  {
    Lock lock(mutex_);
    if (destroyed_) return;
    destroyed_ = true;
    owed = secured_ ? std::max(0, options_.required - requested_) : 0;
    for (MemorySegment* segment : free_) (void)network_->give(segment);
    requested_ -= static_cast<int32_t>(free_.size());
    free_.clear();
    listeners.swap(listeners_);
    availableNow_.store(true, std::memory_order_release);  // who waits has to see the end
    if (requested_ > 0) self_ = shared_from_this();
  }
  for (const auto& listener : listeners) listener->notifyBufferDestroyed();
  available_.set();
  network_->remove(*this, owed);
}

bool LocalBufferPool::isDestroyed() const {
  Lock lock(mutex_);
  return destroyed_;
}
int32_t LocalBufferPool::size() const {
  Lock lock(mutex_);
  return size_;
}
int32_t LocalBufferPool::requested() const {
  Lock lock(mutex_);
  return requested_;
}
int32_t LocalBufferPool::free() const {
  Lock lock(mutex_);
  return static_cast<int32_t>(free_.size());
}
int32_t LocalBufferPool::used() const {
  Lock lock(mutex_);
  return requested_ - static_cast<int32_t>(free_.size());
}
int32_t LocalBufferPool::cappedSubpartitions() const {
  Lock lock(mutex_);
  return capped_;
}

}  // namespace weir
