#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "weir/record/big_endian.h"
#include "weir/wire/frame_format.h"
#include "weir/wire/messages.h"

namespace weir {

/// Reads the fields of a frame one after the other and remembers the first that may not be what it is. After it, and behind the end, all
/// fields are zero: a message is built in any case, and thrown away where there is a violation.
class FieldReader {
 public:
  struct Violation {
    size_t at = 0;  ///< from the beginning of the frame
    std::string what;
    ErrorCode code = ErrorCode::kCorrupt;
  };

  FieldReader(std::span<const uint8_t> frame, FrameId id) : frame_(frame), id_(id) {}

  int32_t number() {
    const uint8_t* const at = next(4);
    return at ? loadBigEndian<int32_t>(at) : 0;
  }
  uint8_t byte() {
    const uint8_t* const at = next(1);
    return at ? *at : 0;
  }
  int32_t atLeast(int32_t smallest, std::string_view name) {
    const int32_t value = number();
    if (value < smallest)
      refuse(lastAt_,
             fmt::format("{} has a {} of {}, which must be {}", nameOf(id_), name, value, smallest > 0 ? "positive" : "0 or more"));
    return value;
  }
  bool flag(std::string_view name) {
    const uint8_t value = byte();
    if (value > 1) refuse(lastAt_, fmt::format("{} has a flag '{}' of {}, which must be 0 or 1", nameOf(id_), name, value));
    return value == 1;
  }
  template <class IdType>
  IdType id() {
    IdType id;
    if (const uint8_t* const at = next(kWireIdSize)) std::memcpy(id.bytes.data(), at, kWireIdSize);
    return id;
  }
  ResultPartitionID partition() {
    ResultPartitionID p;
    p.partition.dataSet = id<IntermediateDataSetID>();
    p.partition.partition = atLeast(0, "partition");
    p.producer.graph = id<ExecutionGraphID>();
    p.producer.vertex = id<JobVertexID>();
    p.producer.subtask = atLeast(0, "subtask");
    p.producer.attempt = atLeast(0, "attempt");
    return p;
  }
  /// Bytes with a length in front, at most `limit` and inside the frame.
  std::span<const uint8_t> bytes(size_t limit, std::string_view name) {
    const int32_t size = number();
    if (size < 0 || static_cast<size_t>(size) > limit || static_cast<size_t>(size) > left()) {
      refuse(lastAt_,
             fmt::format("{} has {} of {} bytes, with {} left in its frame and {} allowed", nameOf(id_), name, size, left(), limit));
      return {};
    }
    const uint8_t* const at = next(static_cast<size_t>(size));
    return at ? std::span(at, static_cast<size_t>(size)) : std::span<const uint8_t>{};
  }
  void refuse(size_t at, std::string what, ErrorCode code = ErrorCode::kCorrupt) {
    if (!violation_) violation_ = Violation{at, std::move(what), code};
  }
  /// Where the field read last begins.
  size_t lastAt() const { return lastAt_; }
  size_t left() const { return frame_.size() - at_; }
  /// Nothing may follow.
  void end() {
    if (left() > 0) refuse(at_, fmt::format("{} has {} bytes too many", nameOf(id_), left()));
  }
  const std::optional<Violation>& violation() const { return violation_; }

  void skip(size_t size) { next(size); }

 private:
  const uint8_t* next(size_t size) {
    lastAt_ = at_;
    if (size > left()) {
      refuse(at_, fmt::format("{} ends {} bytes early", nameOf(id_), size - left()));
      at_ = frame_.size();
    }
    if (violation_) return nullptr;
    at_ += size;
    return frame_.data() + lastAt_;
  }

  const std::span<const uint8_t> frame_;
  const FrameId id_;
  size_t at_ = 0;
  size_t lastAt_ = 0;
  std::optional<Violation> violation_;
};

}  // namespace weir
