#pragma once

#include <cstddef>

#include "weir/record/data_output.h"
#include "weir/wire/messages.h"

namespace weir {

/// Messages as frames, byte for byte as Flink 2.3 writes them, but for the exception inside an ErrorResponse (frame_format.h).
///
/// Flink: NettyMessageEncoder and NettyMessage.write. Threads: any. A value that no frame may carry (a credit of 0, a buffer without a
/// type, ...) is a bug of who made the message, and a failed check.

/// How many bytes the frame of `message` has.
size_t frameSize(const NetworkMessage& message);
/// Appends the frame without the payload of a BufferResponse: that is written behind it from where it lies.
void appendFrameHead(const NetworkMessage& message, DataOutput& out);
/// Appends the whole frame.
void appendFrame(const NetworkMessage& message, DataOutput& out);

}  // namespace weir
