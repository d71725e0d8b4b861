#pragma once

#include <optional>
#include <span>

#include "weir/buffer/buffer.h"
#include "weir/record/big_endian.h"

namespace weir {

/// The checkpoint id, if the bytes of an event are a barrier; looks at its first 12 bytes only.
inline std::optional<int64_t> barrierId(std::span<const uint8_t> event) {
  constexpr int32_t kCheckpointBarrier = 1;
  if (event.size() < 12 || loadBigEndian<int32_t>(event.data()) != kCheckpointBarrier) return std::nullopt;
  return loadBigEndian<int64_t>(event.data() + 4);
}
/// The barrier in `event`, encoded anew as an unaligned one that has priority. Requires: a barrier.
Buffer asUnalignedBarrier(std::span<const uint8_t> event);

}  // namespace weir
