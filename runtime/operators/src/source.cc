#include "weir/operators/source.h"

namespace weir {

size_t RateLimit::due(Nanos now, size_t limit) {
  const double at = static_cast<double>(now.count());
  if (nextDue_ < 0) nextDue_ = at;
  if (at < nextDue_) return 0;
  nextDue_ = std::max(nextDue_, at - kMaxCatchUpNanos);
  const double records = (at - nextDue_) / nanosPerRecord_ + 1;
  return records >= static_cast<double>(limit) ? limit : static_cast<size_t>(records);
}

}  // namespace weir
