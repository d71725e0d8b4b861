#include "weir/record/stream_element.h"

#include <fmt/format.h>

namespace weir {

namespace {
struct Writer {
  uint8_t* at;
  uint8_t* tag(ElementTag tag) {
    *at = static_cast<uint8_t>(tag);
    return at + 1;
  }
  uint8_t* operator()(const Watermark& w) { return storeBigEndian(tag(ElementTag::kWatermark), w.timestamp); }
  uint8_t* operator()(const LatencyMarker& m) {
    uint8_t* to = storeBigEndian(tag(ElementTag::kLatencyMarker), m.markedTime);
    std::memcpy(to, m.operatorId.bytes.data(), m.operatorId.bytes.size());
    return storeBigEndian(to + m.operatorId.bytes.size(), m.subtaskIndex);
  }
  uint8_t* operator()(const WatermarkStatus& s) {
    return storeBigEndian(tag(ElementTag::kWatermarkStatus), s.idle ? int32_t{-1} : int32_t{0});
  }
  uint8_t* operator()(const RecordAttributes& a) { return Serializer<bool>::write(tag(ElementTag::kRecordAttributes), a.backlog); }
  uint8_t* operator()(const InternalWatermark& w) {
    return storeBigEndian(storeBigEndian(tag(ElementTag::kInternalWatermark), w.subpartitionIndex), w.timestamp);
  }
};

struct Printer {
  std::string operator()(const Watermark& w) const {
    return w.timestamp == kMaxWatermark ? "Watermark @ end" : fmt::format("Watermark @ {}", w.timestamp);
  }
  std::string operator()(const LatencyMarker& m) const {
    return fmt::format("LatencyMarker{{markedTime={}, operatorId={}, subtaskIndex={}}}", m.markedTime, m.operatorId.toString(),
                       m.subtaskIndex);
  }
  std::string operator()(const WatermarkStatus& s) const { return fmt::format("WatermarkStatus({})", s.idle ? "IDLE" : "ACTIVE"); }
  std::string operator()(const RecordAttributes& a) const { return fmt::format("RecordAttributes{{backlog={}}}", a.backlog); }
  std::string operator()(const InternalWatermark& w) const {
    return fmt::format("InternalWatermark @ {} of subpartition {}", w.timestamp, w.subpartitionIndex);
  }
};
}  // namespace

uint8_t* writeElement(uint8_t* at, const ControlElement& element) { return std::visit(Writer{at}, element); }

bool readControlElement(DataInput& in, ElementTag tag, ControlElement& into) {
  switch (tag) {
    case ElementTag::kWatermark:
      into = Watermark{in.readLong()};
      break;
    case ElementTag::kLatencyMarker: {
      LatencyMarker marker{in.readLong(), {}, 0};
      auto id = in.take(marker.operatorId.bytes.size());
      if (in.ok()) std::memcpy(marker.operatorId.bytes.data(), id.data(), id.size());
      marker.subtaskIndex = in.readInt();
      into = marker;
      break;
    }
    case ElementTag::kWatermarkStatus: {
      int32_t status = in.readInt();
      if (status != 0 && status != -1) in.fail("holds a watermark status that is neither active nor idle");
      into = WatermarkStatus{status == -1};
      break;
    }
    case ElementTag::kRecordAttributes:
      into = RecordAttributes{in.readBoolean()};
      break;
    case ElementTag::kInternalWatermark: {
      int32_t subpartition = in.readInt();
      into = InternalWatermark{subpartition, in.readLong()};
      break;
    }
    default:
      in.fail("starts with a tag that no stream element has");
  }
  return in.ok();
}

std::string toString(const ControlElement& element) { return std::visit(Printer{}, element); }

}  // namespace weir
