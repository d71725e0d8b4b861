#include "support/network_limit.h"

#ifdef WEIR_LIMITS

#define main hashagg_main
#include "limits/hashagg.cpp"
#undef main
#include "limits/longs.hpp"
#include "limits/loopback.hpp"
#include "support/unpinned_after.h"

namespace weir::bench {

std::optional<double> loopbackGigabytes() {
  return unpinnedAfter([] { return loopback::thr_block(32 * 1024, 0.35, false, true); });
}
std::optional<double> longsOverLoopback(int32_t channels, uint64_t records) {
  return unpinnedAfter([&] { return longs(static_cast<size_t>(channels), true, records); });
}
std::optional<double> keyedSumOverLoopback(uint64_t records) {
  return unpinnedAfter([&] { return run_tcp<AbslFast, true>(records); });
}
std::optional<double> pingPongNanos(bool spinning) {
  return unpinnedAfter([&] {
    auto nanos = loopback::pp_block(10'000, spinning, true);
    return pct(nanos, 50);
  });
}

}  // namespace weir::bench

#else

namespace weir::bench {

std::optional<double> loopbackGigabytes() { return std::nullopt; }
std::optional<double> longsOverLoopback(int32_t, uint64_t) { return std::nullopt; }
std::optional<double> keyedSumOverLoopback(uint64_t) { return std::nullopt; }
std::optional<double> pingPongNanos(bool) { return std::nullopt; }

}  // namespace weir::bench

#endif
