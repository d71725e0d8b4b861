#pragma once

#include <limits>
#include <string>
#include <type_traits>
#include <variant>

#include "weir/base/ids.h"
#include "weir/record/serializer.h"

namespace weir {

/// The event time that ends all event time.
inline constexpr int64_t kMaxWatermark = std::numeric_limits<int64_t>::max();
/// Flink: Long.MIN_VALUE stands for "no timestamp" where a number must be.
inline constexpr int64_t kNoTimestamp = std::numeric_limits<int64_t>::min();

/// A value on its way, with its event time if it has one. Flink: StreamRecord.
template <class T>
struct StreamRecord {
  T value{};
  int64_t timestamp = kNoTimestamp;  ///< meaningful where hasTimestamp
  bool hasTimestamp = false;

  StreamRecord() = default;
  explicit StreamRecord(T v) : value(std::move(v)) {}
  StreamRecord(T v, int64_t time) : value(std::move(v)), timestamp(time), hasTimestamp(true) {}
  bool operator==(const StreamRecord& other) const {
    return value == other.value && hasTimestamp == other.hasTimestamp && (!hasTimestamp || timestamp == other.timestamp);
  }
};

/// No record with a timestamp up to this one is expected any more.
struct Watermark {
  int64_t timestamp = kNoTimestamp;
  auto operator<=>(const Watermark&) const = default;
};
/// Travels like a record, through queues but not through user functions, to measure how long that takes.
struct LatencyMarker {
  int64_t markedTime = 0;
  OperatorID operatorId;
  int32_t subtaskIndex = 0;
  auto operator<=>(const LatencyMarker&) const = default;
};
/// Whether watermarks of this channel count.
struct WatermarkStatus {
  bool idle = false;
  auto operator<=>(const WatermarkStatus&) const = default;
};
struct RecordAttributes {
  bool backlog = false;
  auto operator<=>(const RecordAttributes&) const = default;
};
/// A watermark that names the subpartition it came through.
struct InternalWatermark {
  int32_t subpartitionIndex = 0;
  int64_t timestamp = kNoTimestamp;
  auto operator<=>(const InternalWatermark&) const = default;
};

/// Everything that flows between records, in order with them. Its layout does not depend on the type of the records.
using ControlElement = std::variant<Watermark, LatencyMarker, WatermarkStatus, RecordAttributes, InternalWatermark>;

/// First byte of an element. Flink: StreamElementSerializer.
enum class ElementTag : uint8_t {
  kRecordWithTimestamp = 0,
  kRecord = 1,
  kWatermark = 2,
  kLatencyMarker = 3,
  kWatermarkStatus = 4,
  kRecordAttributes = 5,
  kInternalWatermark = 6,
};

/// Bytes of the length that stands before every element.
inline constexpr size_t kLengthBytes = 4;
/// No control element is larger (a latency marker is).
inline constexpr size_t kMaxControlElementSize = 1 + 8 + 16 + 4;

template <class T>
size_t elementMaxSize(const StreamRecord<T>& record) {
  return 9 + Serializer<T>::maxSize(record.value);
}
inline size_t elementMaxSize(const ControlElement&) { return kMaxControlElementSize; }

/// Writes tag and fields. Requires: elementMaxSize(record) bytes at `at`. Returns the end.
template <class T>
inline uint8_t* writeElement(uint8_t* at, const StreamRecord<T>& record) {
  if (record.hasTimestamp) {
    *at = static_cast<uint8_t>(ElementTag::kRecordWithTimestamp);
    at = storeBigEndian(at + 1, record.timestamp);
  } else {
    *at++ = static_cast<uint8_t>(ElementTag::kRecord);
  }
  return Serializer<T>::write(at, record.value);
}
uint8_t* writeElement(uint8_t* at, const ControlElement& element);

/// The length, then the element: what stands in data buffers. Requires: kLengthBytes + elementMaxSize(element) bytes at `at`. Returns the
/// end.
template <class Element>
inline uint8_t* writeFramed(uint8_t* at, const Element& element) {
  uint8_t* end = writeElement(at + kLengthBytes, element);
  storeBigEndian(at, static_cast<int32_t>(end - at - kLengthBytes));
  return end;
}
/// The same into a growing output, for elements that do not fit in what is left of a buffer.
template <class Element>
inline void writeFramed(DataOutput& out, const Element& element) {
  out.commit(writeFramed(out.prepare(kLengthBytes + elementMaxSize(element)), element));
}

/// Fails the input where the tag or a field is wrong.
bool readControlElement(DataInput& in, ElementTag tag, ControlElement& into);

enum class ElementKind { kRecord, kControl, kCorrupt };

/// Reads one element from all of `payload`: into `record` (whose memory is reused) or into `control`.
/// kCorrupt: `in` has failed and knows why; bytes left over are an error too, since the length counted them.
template <class T>
inline ElementKind readElement(DataInput& in, StreamRecord<T>& record, ControlElement& control) {
  auto tag = static_cast<ElementTag>(in.readUnsignedByte());
  ElementKind kind = ElementKind::kRecord;
  if (__builtin_expect(tag <= ElementTag::kRecord, 1)) {
    record.hasTimestamp = tag == ElementTag::kRecordWithTimestamp;
    record.timestamp = record.hasTimestamp ? in.readLong() : kNoTimestamp;
    Serializer<T>::read(in, record.value);
  } else {
    kind = ElementKind::kControl;
    readControlElement(in, tag, control);
  }
  if (__builtin_expect(in.remaining() > 0, 0)) in.fail("has bytes behind its end; do sender and receiver agree on the type?");
  return in.ok() ? kind : ElementKind::kCorrupt;
}

/// "Watermark @ 1000", "idle", ...: for logs and traces.
std::string toString(const ControlElement& element);

}  // namespace weir
