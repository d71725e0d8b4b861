#include "support/keyed_sum_limit.h"

#ifdef WEIR_LIMITS

#define main hashagg_main
#include "limits/hashagg.cpp"
#undef main
#include "support/unpinned_after.h"

namespace weir::bench {

std::optional<double> keyedSumOfTwoThreads(uint64_t records) {
  return unpinnedAfter([&] { return run<EmitAbsl, true, true>(records); });
}
std::optional<double> keyedSumChained(uint64_t records) {
  return unpinnedAfter([&] {
    pin(0);
    return chained_string(records);
  });
}
std::optional<double> fixedSumOfTwoThreads(uint64_t records, uint64_t keys) {
  return unpinnedAfter([&] { return fixed<true, false>(records, keys); });
}

}  // namespace weir::bench

#else

namespace weir::bench {

std::optional<double> keyedSumOfTwoThreads(uint64_t) { return std::nullopt; }
std::optional<double> keyedSumChained(uint64_t) { return std::nullopt; }
std::optional<double> fixedSumOfTwoThreads(uint64_t, uint64_t) { return std::nullopt; }

}  // namespace weir::bench

#endif
