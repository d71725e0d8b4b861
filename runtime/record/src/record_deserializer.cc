#include "weir/record/record_deserializer.h"

namespace weir {

namespace {
/// Memory that a spanning record may leave behind for the next one.
constexpr size_t kKeptBytes = size_t{1} << 20;
}  // namespace

RecordDeserializer::Next RecordDeserializer::nextSpanning(std::span<const uint8_t>& payload) {
  if (corrupt_) return Next::kCorrupt;
  if (partialDelivered_) {
    dropPartial();
    return next(payload);
  }
  if (!collect(kLengthBytes)) return Next::kNeedBuffer;
  auto length = loadBigEndian<int32_t>(partial_.data());
  if (length < 0 || static_cast<size_t>(length) > maxRecordBytes_) return corrupt(length);
  if (!collect(kLengthBytes + static_cast<size_t>(length))) return Next::kNeedBuffer;
  payload = std::span(partial_).subspan(kLengthBytes);
  partialDelivered_ = true;
  return Next::kRecord;
}

bool RecordDeserializer::collect(size_t size) {
  if (partial_.size() >= size) return true;
  size_t take = std::min(size - partial_.size(), static_cast<size_t>(end_ - at_));
  partial_.insert(partial_.end(), at_, at_ + take);
  at_ += take;
  return partial_.size() == size;
}

RecordDeserializer::Next RecordDeserializer::corrupt(int32_t length) {
  corrupt_ = true;
  error_ = length < 0
               ? fmt::format("{}: a record announces {} bytes; the stream is corrupt or its sender is no Flink or Weir", channel_, length)
               : fmt::format("{}: a record announces {} bytes, more than the {} that are allowed", channel_, length, maxRecordBytes_);
  return Next::kCorrupt;
}

void RecordDeserializer::dropPartial() {
  partialDelivered_ = false;
  if (partial_.capacity() > kKeptBytes)
    std::vector<uint8_t>().swap(partial_);
  else
    partial_.clear();
}

void RecordDeserializer::clear() {
  at_ = end_ = nullptr;
  dropPartial();
}

}  // namespace weir
