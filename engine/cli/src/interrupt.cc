#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iterator>

#include "weir/cli/command_line.h"

namespace weir {
namespace {

std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");
constexpr int kSignals[] = {SIGINT, SIGTERM};
struct sigaction before[2];

void onInterrupt(int) {
  if (interrupts.fetch_add(1) > 0) ::_exit(kExitInterrupted);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupts = 0;
  struct sigaction action {};
  action.sa_handler = onInterrupt;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &before[i]);
}

InterruptWatch::~InterruptWatch() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
}

bool InterruptWatch::interrupted() { return interrupts > 0; }

}  // namespace weir
