#include "weir/transport/buffer_manager.h"

namespace weir {

BufferManager::~BufferManager() { WEIR_CHECK(exclusive_.empty() && inUse_ == 0, "a buffer manager is released by its channel"); }

void BufferManager::setup(std::shared_ptr<LocalBufferPool> source, int32_t exclusive, std::shared_ptr<LocalBufferPool> floating) {
  WEIR_CHECK(!floatingPool_, "a buffer manager is set up once");
  source_ = std::move(source);
  floatingPool_ = std::move(floating);
  initialCredit_ = exclusive;
  Lock lock(mutex_);
  for (int32_t i = 0; i < exclusive; ++i) {
    Buffer buffer = source_->requestBuffer();
    WEIR_CHECK(buffer, "exclusive buffer {} of {} is missing", i + 1, exclusive);
    exclusive_.push_back(buffer.detach());
  }
}

Buffer BufferManager::takeBuffer() {
  Lock lock(mutex_);
  if (released_) return {};
  Buffer buffer;
  if (!floating_.empty()) {
    buffer = std::move(floating_.front());
    floating_.pop_front();
  } else if (!exclusive_.empty()) {
    MemorySegment* segment = exclusive_.back();
    exclusive_.pop_back();
    ++inUse_;
    segment->open(this, -1);
    buffer = Buffer::adopt(segment, 0, 0, DataType::DATA_BUFFER);
  } else {
    return {};
  }
  if (required_ > 0) --required_;  // part of it has arrived
  return buffer;
}

void BufferManager::onBacklog(int32_t backlog) {
  int32_t got;
  {
    Lock lock(mutex_);
    if (released_) return;
    required_ = backlog + initialCredit_;
    got = requestFloatingLocked();
  }
  addCredit(got);
}

int32_t BufferManager::requestFloatingLocked() {
  int32_t got = 0;
  while (availableLocked() < required_ && !waiting_) {
    if (Buffer buffer = floatingPool_->requestBuffer()) {
      floating_.push_back(std::move(buffer));
      ++got;
    } else {
      // Refused where a segment came back meanwhile: then the next request gets it.
      waiting_ = floatingPool_->addBufferListener(shared_from_this());
    }
  }
  return got;
}

bool BufferManager::notifyBufferAvailable(Buffer& buffer) {
  int32_t got;
  {
    Lock lock(mutex_);
    waiting_ = false;
    if (released_ || availableLocked() >= required_) return false;
    floating_.push_back(std::move(buffer));
    got = 1 + requestFloatingLocked();
  }
  addCredit(got);
  return true;
}

void BufferManager::recycle(MemorySegment& segment) {
  Buffer surplus;
  std::shared_ptr<BufferManager> alive;  // outlives the lock
  {
    Lock lock(mutex_);
    --inUse_;
    if (released_) {
      if (inUse_ == 0) alive = std::move(self_);
      lock.unlock();
      return giveBack(segment);
    }
    exclusive_.push_back(&segment);
    if (availableLocked() > required_ && !floating_.empty()) {
      // Its credit now stands for this segment.
      surplus = std::move(floating_.front());
      floating_.pop_front();
    }
  }
  if (!surplus) addCredit(1);
}

void BufferManager::onBlockingUpstream() {
  if (initialCredit_ > 0) return;
  std::deque<Buffer> dropped;
  Lock lock(mutex_);
  required_ = 0;
  dropped.swap(floating_);
  lock.unlock();
}

void BufferManager::release() {
  std::deque<Buffer> floating;
  std::vector<MemorySegment*> exclusive;
  {
    Lock lock(mutex_);
    if (released_) return;
    released_ = true;
    required_ = 0;
    floating.swap(floating_);
    exclusive.swap(exclusive_);
    if (inUse_ > 0) self_ = shared_from_this();
  }
  for (MemorySegment* segment : exclusive) giveBack(*segment);
}

void BufferManager::giveBack(MemorySegment& segment) {
  segment.open(source_.get(), -1);
  segment.release();
}

void BufferManager::addCredit(int32_t n) {
  if (n > 0 && unannounced_.fetch_add(n, std::memory_order_acq_rel) == 0) announce_();
}

int32_t BufferManager::available() const {
  Lock lock(mutex_);
  return availableLocked();
}
int32_t BufferManager::availableExclusive() const {
  Lock lock(mutex_);
  return static_cast<int32_t>(exclusive_.size());
}
int32_t BufferManager::availableFloating() const {
  Lock lock(mutex_);
  return static_cast<int32_t>(floating_.size());
}
int32_t BufferManager::required() const {
  Lock lock(mutex_);
  return required_;
}
bool BufferManager::isWaiting() const {
  Lock lock(mutex_);
  return waiting_;
}

}  // namespace weir
