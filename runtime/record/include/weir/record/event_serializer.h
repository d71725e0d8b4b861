#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/result.h"
#include "weir/record/runtime_event.h"

namespace weir {

/// Events as bytes: a 4-byte type, then the fields.
///
/// Flink: EventSerializer. Differs: an event of a user's class (type 3, by class name) is refused, and the error names the class.
/// Threads: any. Errors: bytes that are no event are kCorrupt or kUnsupported; bytes behind an event are padding and ignored.
struct EventSerializer {
  /// The event and nothing else.
  static std::vector<uint8_t> encode(const RuntimeEvent& event);
  /// As a task sends it: a barrier is followed by the zero bytes that Flink sends behind it (38 bytes in all, plus those of its location).
  static std::vector<uint8_t> encodeForSend(const RuntimeEvent& event);
  static Result<RuntimeEvent> decode(std::span<const uint8_t> bytes);
};

}  // namespace weir
