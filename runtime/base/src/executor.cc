#include "weir/base/executor.h"

#include <utility>

#include "current_context.h"
#include "weir/base/check.h"
#include "weir/base/mutex.h"

namespace weir {
namespace {

constexpr Nanos kSleepAt = std::chrono::microseconds(200);  // below, the cost of parking would be a large part of what is slept
constexpr Nanos kSpinAt = std::chrono::microseconds(10);    // below, reading the clock would be
constexpr Nanos kMostCredit = Millis(100);                  // a machine that stood still for a minute does not give a minute away
constexpr int kMostRefusals = 100'000;

thread_local ExecutionContext* tCurrent = nullptr;  // the executors' own: who runs on this thread right now

std::string describe(const std::exception_ptr& error) { return Throwable::from(error)->what(); }

}  // namespace

std::string_view waitReasonName(WaitReason reason) {
  switch (reason) {
    case WaitReason::kInputOrMail: return "input or mail";
    case WaitReason::kOutput: return "output";
    case WaitReason::kOutputBuffer: return "output buffer";
    case WaitReason::kSetupBuffers: return "set-up buffers";
    case WaitReason::kRecordCost: return "record cost";
    case WaitReason::kFile: return "file";
  }
  return "?";
}

ActorFailure::ActorFailure(std::string actor, std::exception_ptr cause)
    : std::runtime_error("actor '" + actor + "' failed: " + describe(cause)), actor_(std::move(actor)), cause_(std::move(cause)) {}

ExecutionContext* ExecutionContext::current() { return tCurrent; }

CurrentContext::CurrentContext(ExecutionContext* context) : before_(std::exchange(tCurrent, context)) {}
CurrentContext::~CurrentContext() { tCurrent = before_; }

void ExecutionContext::checkCancelled() {
  if (!mustThrow()) return;
  WEIR_CHECK(++refusals_ < kMostRefusals, "actor '{}' swallows TaskCancelled and goes on", name_);
  throw TaskCancelled{};
}

WaitOutcome ExecutionContext::wait(WaitReason reason, std::span<Signal* const> signals, Deadline deadline) {
  checkCancelled();
  const WaitOutcome outcome = waitFor(reason, signals, deadline, Ends::kOnCancel);
  checkCancelled();
  return outcome;
}

void ExecutionContext::waitThrough(WaitReason reason, Signal& signal) {
  Signal* const one = &signal;
  waitFor(reason, {&one, 1}, Deadline::never(), Ends::kNever);
}

WaitOutcome ExecutionContext::waitFor(WaitReason reason, std::span<Signal* const> signals, Deadline deadline, Ends ends) {
  WEIR_CHECK_EQ(heldMutexes(), 0);
  WEIR_CHECK(!parked_.now, "actor '{}' waits in what its reactor runs", name_);
  const auto anySet = [&] {
    for (Signal* signal : signals)
      if (signal->isSet()) return true;
    return false;
  };
  if (anySet()) {
    interleave("wait");
    return WaitOutcome::kSignalled;
  }

  const Nanos from = observer_ ? clock_->monotonic() : Nanos::zero();
  Waker* const self = &waker();
  for (Signal* signal : signals) {
    Waker* const before = signal->waiter_.exchange(self, std::memory_order_seq_cst);
    WEIR_CHECK(before == nullptr || before == self, "signal '{}' has two waiters, the second is '{}'", signal->name(), name_);
  }
  parked_ = {reason, signals, true};
  if (observer_) observer_->onWaitBegin(reason, from);
  bool signalled = anySet(), inTime = true;
  {
    struct Unpark {  // also where a reactor throws
      ExecutionContext& context;
      ~Unpark() {
        for (Signal* signal : context.parked_.signals) signal->waiter_.store(nullptr, std::memory_order_seq_cst);
        context.parked_ = {};
      }
    } unpark{*this};
    while (!signalled && inTime && (ends == Ends::kNever || !mustThrow())) {
      inTime = park(deadline);
      signalled = anySet();
    }
  }
  reportWait(reason, from);
  return signalled ? WaitOutcome::kSignalled : WaitOutcome::kDeadline;
}

void ExecutionContext::reportWait(WaitReason reason, Nanos from) {
  if (observer_) observer_->onWait(reason, from, clock_->monotonic());
}

void ExecutionContext::spend(Nanos cost, CostMode mode) {
  Nanos& debt = mode == CostMode::kSleep ? sleepDebt_ : spinDebt_;
  debt += cost;
  if (debt < (mode == CostMode::kSleep ? kSleepAt : kSpinAt)) return;
  Nanos paid{};
  if (mode == CostMode::kSleep) {
    const Nanos from = clock_->monotonic();
    wait(WaitReason::kRecordCost, {}, Deadline::work(from + debt));
    paid = clock_->monotonic() - from;
  } else {
    paid = burn(debt);
  }
  debt = std::max(debt - paid, -kMostCredit);
}

Nanos ExecutionContext::burn(Nanos cost) {
  const Nanos from = clock_->monotonic();
  Nanos used{};
  while (used < cost) {
    checkCancelled();
    for (int i = 0; i < 8; ++i) __builtin_ia32_pause();
    used = clock_->monotonic() - from;
  }
  return used;
}

}  // namespace weir
