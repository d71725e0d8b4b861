#include "weir/time/watermark_alignment.h"

#include <algorithm>

namespace weir {

int64_t WatermarkAligner::report(const ExecutionAttemptID& who, const WatermarkReport& where) {
  auto& members = groups_[where.group];
  members.insert_or_assign({who.vertex, who.subtask}, Member{where.watermark, where.idle});
  int64_t slowest = kMaxWatermark;
  for (const auto& [id, member] : members)
    if (!member.idle) slowest = std::min(slowest, member.watermark);
  int64_t allowed = 0;
  return __builtin_add_overflow(slowest, where.maxDriftMillis, &allowed) ? kMaxWatermark : allowed;
}

}  // namespace weir
