#pragma once

#include <optional>
#include <span>

#include "weir/buffer/buffer.h"

namespace weir {

/// The checkpoint id, if the bytes of an event are a barrier; looks at its first 12 bytes only.
std::optional<int64_t> barrierId(std::span<const uint8_t> event);
/// The barrier in `event`, encoded anew as an unaligned one that has priority. Requires: a barrier.
Buffer asUnalignedBarrier(std::span<const uint8_t> event);

}  // namespace weir
