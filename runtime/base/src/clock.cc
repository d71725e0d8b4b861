#include "weir/base/clock.h"

namespace weir {

int64_t SystemClock::epochMillis() const {
  return std::chrono::duration_cast<Millis>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Nanos SystemClock::monotonic() const { return std::chrono::steady_clock::now().time_since_epoch(); }

SystemClock& SystemClock::instance() {
  static SystemClock clock;
  return clock;
}

}  // namespace weir
