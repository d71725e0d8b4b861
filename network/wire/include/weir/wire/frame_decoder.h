#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/wire/frame_format.h"
#include "weir/wire/messages.h"

namespace weir {

/// Turns the bytes of one direction of a connection into messages, however they are cut into slices.
///
/// Flink: NettyMessageDecoder, NettyMessageClientDecoderDelegate, BufferResponseDecoder. The payload of a data buffer goes straight into
/// memory of the caller's, who is asked for it when the fields in front are known: it may give a segment, skip the payload, or leave it
/// where it is until there is a segment. Small frames take no memory; an event takes its own size, other frames grow with the bytes that
/// arrive, up to FrameLimits. Differs: a length that does not fit the message is an error at once, where Flink waits for the bytes, ignores
/// what is left over, or fails in the middle; a negative credit is refused. Threads: belongs to its connection. Errors: kCorrupt
/// (kUnsupported for an exception of Java's), one sentence with the offset from the beginning of the connection; the decoder stays broken,
/// as nobody knows where the next frame begins.
class FrameDecoder {
 public:
  enum class Step {
    kNeedMore,    ///< all bytes are taken, and no frame is complete
    kNeedBuffer,  ///< response() waits for provide() or discard(); until then no byte is taken
    kMessage,     ///< take() it
    kDiscarded,   ///< all of response() is read, and its payload is dropped
  };

  /// Of the bytes that `sender` sends.
  explicit FrameDecoder(FrameSender sender, FrameLimits limits = {});

  /// Goes on to the next step, and moves the front of `bytes` behind what it has taken.
  Result<Step> decode(std::span<const uint8_t>& bytes);

  /// After kMessage, once.
  NetworkMessage take();

  /// After kNeedBuffer or kDiscarded: all but the payload; its buffer is empty and has the type of what comes.
  const BufferResponse& response() const { return response_; }
  uint32_t payloadSize() const { return payloadSize_; }
  /// After kNeedBuffer: the payload goes to the front of `segment`, one reference of which is the decoder's now.
  /// Requires: room for FrameLimits::payload, or at least payloadSize().
  void provide(MemorySegment* segment);
  /// After kNeedBuffer: nobody wants the payload.
  void discard();

  /// Where the next bytes of the connection belong, if they belong to a payload: a socket may read into it, instead of decode().
  std::span<uint8_t> payloadRoom();
  /// The first `size` bytes of payloadRoom() have been filled. decode() then goes on, with or without bytes.
  void payloadArrived(size_t size);

  /// How many bytes were taken since the beginning of the connection.
  uint64_t offset() const { return offset_; }
  /// Memory that is held between frames and inside of one, without payloads. For tests of how it is bounded.
  size_t heldBytes() const { return gathered_.capacity(); }

 private:
  enum class Stage { kHeader, kBody, kResponseHead, kPartialSizes, kNeedBuffer, kPayload, kDiscard, kComplete, kBroken };

  bool gather(std::span<const uint8_t>& bytes, size_t size);
  Result<Step> skip(std::span<const uint8_t>& bytes);
  Result<void> readHeader();
  Result<void> readResponseHead();
  Result<void> readPartialSizes();
  Result<void> readBody();
  void beginPayload();
  Step finish(Step step);
  /// `at` counts from the beginning of the frame.
  Error violation(size_t at, std::string what, ErrorCode code = ErrorCode::kCorrupt);

  const FrameSender sender_;
  const FrameLimits limits_;
  Stage stage_ = Stage::kHeader;
  uint64_t offset_ = 0;
  uint64_t frameStart_ = 0;
  std::vector<uint8_t> gathered_;  ///< the frame from its beginning, without payload
  size_t length_ = 0;
  FrameId id_ = FrameId::kCloseRequest;
  BufferResponse response_;
  uint32_t payloadSize_ = 0;
  uint32_t payloadRead_ = 0;
  size_t partials_ = 0;
  std::optional<NetworkMessage> message_;
  std::optional<Error> error_;
};

}  // namespace weir
