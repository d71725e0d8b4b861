#include "weir/exchange/barrier_bytes.h"

#include "weir/record/event_serializer.h"

namespace weir {

Buffer asUnalignedBarrier(std::span<const uint8_t> event) {
  const auto decoded = EventSerializer::decode(event);
  WEIR_CHECK(decoded.has_value() && std::holds_alternative<CheckpointBarrier>(*decoded),
             "an event that is no barrier cannot turn unaligned");
  return Buffer::copyOf(EventSerializer::encodeForSend(std::get<CheckpointBarrier>(*decoded).asUnaligned()),
                        DataType::PRIORITIZED_EVENT_BUFFER);
}

}  // namespace weir
