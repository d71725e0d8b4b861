#include "output_queue.h"

#include <algorithm>
#include <cstring>

#include "weir/wire/frame_encoder.h"

namespace weir {

void OutputQueue::push(NetworkMessage message, SocketTrace trace) {
  if (trace.onWritten) trace.onWritten(static_cast<int64_t>(bytes_));
  scratch_.clear();
  appendFrameHead(message, scratch_);
  Entry& entry = entries_.emplace_back();
  entry.headSize = scratch_.size();
  if (entry.headSize <= kShortHead) std::memcpy(entry.shortHead.data(), scratch_.bytes().data(), entry.headSize);
  else entry.longHead = scratch_.toVector();
  if (auto* const response = std::get_if<BufferResponse>(&message)) entry.payload = std::move(response->buffer);
  entry.onFlushed = std::move(trace.onFlushed);
  bytes_ += entry.size();
}

size_t OutputQueue::gather(std::span<iovec> pieces) const {
  size_t count = 0, skip = frontTaken_;
  const auto add = [&](std::span<const uint8_t> bytes) {
    const size_t skipped = std::min(skip, bytes.size());
    skip -= skipped;
    if (skipped < bytes.size()) pieces[count++] = {const_cast<uint8_t*>(bytes.data()) + skipped, bytes.size() - skipped};
  };
  for (auto entry = entries_.begin(); entry != entries_.end() && count + 2 <= pieces.size(); ++entry) {
    add(entry->head());
    add(entry->payload.bytes());
  }
  return count;
}

void OutputQueue::taken(size_t size) {
  bytes_ -= size;
  frontTaken_ += size;
  while (!entries_.empty() && frontTaken_ >= entries_.front().size()) {
    frontTaken_ -= entries_.front().size();
    if (entries_.front().onFlushed) entries_.front().onFlushed();
    entries_.pop_front();
  }
}

void OutputQueue::clear() {
  entries_.clear();
  frontTaken_ = bytes_ = 0;
}

}  // namespace weir
