#include "weir/wire/messages.h"

#include "weir/wire/frame_format.h"

namespace weir {

std::string_view nameOf(const NetworkMessage& message) { return nameOf(frameIdOf(message)); }

}  // namespace weir
