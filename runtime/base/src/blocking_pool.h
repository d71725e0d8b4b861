#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weir {

/// Threads for calls that block in the kernel; started when needed, up to a limit, and kept. Any thread.
class BlockingPool {
 public:
  explicit BlockingPool(int limit) : limit_(static_cast<size_t>(limit)) {}
  ~BlockingPool() { close(); }
  /// Finishes what was submitted and joins the threads. No submit() after that.
  void close();
  /// `call` must not throw.
  void submit(std::function<void()> call);

 private:
  void loop();

  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool closed_ = false;
};

}  // namespace weir
