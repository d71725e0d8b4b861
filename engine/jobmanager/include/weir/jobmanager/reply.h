#pragma once

#include <optional>
#include <utility>

#include "weir/base/mutex.h"
#include "weir/base/signal.h"

namespace weir {

/// The answer to a question that was sent as a mail; shared by who asks and who answers. One waiter.
template <class T>
class Reply {
 public:
  void set(T value) {
    {
      Lock lock(mutex_);
      if (value_) return;
      value_ = std::move(value);
    }
    ready_.set();
  }
  /// Set once the answer is there.
  Signal& ready() { return ready_; }
  /// Requires: ready.
  T take() {
    Lock lock(mutex_);
    return std::move(*value_);
  }

 private:
  Mutex mutex_;
  std::optional<T> value_;
  Signal ready_{"reply"};
};

}  // namespace weir
