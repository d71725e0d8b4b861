#pragma once

#include <stdexcept>

#include "weir/base/executor.h"

namespace weir::testing {

/// For tests in which nothing may have to wait: a wait that would park throws. Time stands still unless the test moves it.
class NoWaitContext final : public ExecutionContext {
 public:
  explicit NoWaitContext(uint64_t seed = 1) : ExecutionContext("test", clock_, Random(seed)) {}
  void blocking(const std::function<void()>& call) override { call(); }
  void setTime(int64_t epochMillis) { clock_.now = epochMillis; }

 private:
  class HandClock final : public Clock {
   public:
    int64_t epochMillis() const override { return now; }
    Nanos monotonic() const override { return Millis(now); }
    int64_t now = 0;
  };
  class NoWaker final : public Waker {
   public:
    void wake() override {}
  };
  bool park(Deadline) override { throw std::logic_error("this would wait"); }
  Waker& waker() override { return waker_; }

  HandClock clock_;
  NoWaker waker_;
};

}  // namespace weir::testing
