#include "weir/base/executor.h"

#include "weir/base/check.h"
#include "weir/base/mutex.h"

namespace weir {

void ExecutionContext::checkCancelled() const {
  if (!shielded_ && isCancelled()) throw TaskCancelled{};
}

WaitOutcome ExecutionContext::wait(WaitReason reason, std::span<Signal* const> signals, Deadline deadline) {
  WEIR_CHECK_EQ(heldMutexes(), 0);
  checkCancelled();
  const auto anySet = [&] {
    for (Signal* signal : signals)
      if (signal->isSet()) return true;
    return false;
  };
  if (anySet()) return WaitOutcome::kSignalled;

  const Nanos from = observer_ ? clock_->monotonic() : Nanos::zero();
  for (Signal* signal : signals) signal->waiter_.store(&waker(), std::memory_order_seq_cst);
  bool signalled = anySet(), inTime = true;
  while (!signalled && inTime && (shielded_ || !isCancelled())) {
    inTime = park(deadline);
    signalled = anySet();
  }
  for (Signal* signal : signals) signal->waiter_.store(nullptr, std::memory_order_seq_cst);
  if (observer_) observer_->onWait(reason, from, clock_->monotonic());
  checkCancelled();
  return signalled ? WaitOutcome::kSignalled : WaitOutcome::kDeadline;
}

}  // namespace weir
