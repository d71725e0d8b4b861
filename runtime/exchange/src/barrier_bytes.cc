#include "weir/exchange/barrier_bytes.h"

#include "weir/record/big_endian.h"
#include "weir/record/event_serializer.h"

namespace weir {

std::optional<int64_t> barrierId(std::span<const uint8_t> event) {
  constexpr int32_t kCheckpointBarrier = 1;
  if (event.size() < 12 || loadBigEndian<int32_t>(event.data()) != kCheckpointBarrier) return std::nullopt;
  return loadBigEndian<int64_t>(event.data() + 4);
}

Buffer asUnalignedBarrier(std::span<const uint8_t> event) {
  const auto decoded = EventSerializer::decode(event);
  WEIR_CHECK(decoded.has_value() && std::holds_alternative<CheckpointBarrier>(*decoded),
             "an event that is no barrier cannot turn unaligned");
  return Buffer::copyOf(EventSerializer::encodeForSend(std::get<CheckpointBarrier>(*decoded).asUnaligned()),
                        DataType::PRIORITIZED_EVENT_BUFFER);
}

}  // namespace weir
