#include "blocking_pool.h"

#include "parker.h"

namespace weir {

void BlockingPool::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void BlockingPool::submit(std::function<void()> call) {
  std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
  if (idle_ < calls_.size() && threads_.size() < limit_) threads_.emplace_back([this] { loop(); });
  else changed_.notify_one();
}

void BlockingPool::loop() {
  prepareThread("weir blocking");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return closed_ || !calls_.empty(); });
    --idle_;
    if (calls_.empty()) return;
    auto call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    call = nullptr;
    lock.lock();
  }
}

}  // namespace weir
