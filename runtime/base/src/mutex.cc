#include "weir/base/mutex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir {

void Mutex::lockHeld() {
  constexpr int kLooks = 100;
  for (int i = 0; i < kLooks; ++i) {
    uint32_t free = kFree;
    if (state_.load(std::memory_order_relaxed) == kFree &&
        state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire, std::memory_order_relaxed))
      return;
    __builtin_ia32_pause();
  }
  // From here on its unlock wakes somebody, also where nobody else waits: who slept cannot know.
  while (state_.exchange(kWaitedFor, std::memory_order_acquire) != kFree)
    syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kWaitedFor, nullptr, nullptr, 0);
}

void Mutex::wakeOne() { syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

}  // namespace weir
