#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/exchange/barrier_bytes.h"
#include "weir/snapshot/channel_state_writer.h"

namespace weir {

/// Stores the data of one input channel that a checkpoint has to keep: from its start in this task until its barrier arrives here.
///
/// Flink: ChannelStatePersister. Threads: guarded by whoever owns it. `writer` may be null: then nothing is stored, barriers are still
/// tracked.
class ChannelStatePersister {
 public:
  ChannelStatePersister(ChannelStateWriter* writer, InputChannelInfo channel) : writer_(writer), channel_(channel) {}

  /// `known`: data in front of the barrier that has arrived already. Throws CheckpointException where a newer barrier was seen.
  void startPersisting(int64_t checkpointId, std::vector<Buffer> known);
  void stopPersisting(int64_t checkpointId);
  /// Stores a copy of `buffer` if it is data and its checkpoint waits for the barrier.
  void maybePersist(const Buffer& buffer) {
    if (status_ == Status::kBarrierPending && buffer.isBuffer() && writer_) [[unlikely]]
      writer_->addInputData(lastSeenBarrier_, channel_, {buffer});
  }
  /// The checkpoint id, if `buffer` is a barrier or announces one; an obsolete barrier changes nothing.
  std::optional<int64_t> checkForBarrier(const Buffer& buffer) {
    if (buffer.isBuffer()) return std::nullopt;
    const std::optional<int64_t> id = barrierId(buffer.bytes());
    if (id) onBarrier(*id);
    return id;
  }
  bool hasBarrierReceived() const { return status_ == Status::kBarrierReceived; }
  /// The checkpoint that waits for its barrier: what arrives now belongs to it. For who stores the data itself.
  std::optional<int64_t> pendingCheckpoint() const {
    return status_ == Status::kBarrierPending ? std::optional(lastSeenBarrier_) : std::nullopt;
  }

 private:
  enum class Status : uint8_t { kCompleted, kBarrierPending, kBarrierReceived };
  static constexpr int64_t kInitial = -1;
  void onBarrier(int64_t id) {
    const int64_t expected = status_ == Status::kCompleted ? lastSeenBarrier_ + 1 : lastSeenBarrier_;
    if (id < expected) return;
    status_ = Status::kBarrierReceived;
    lastSeenBarrier_ = id;
  }

  ChannelStateWriter* const writer_;
  const InputChannelInfo channel_;
  Status status_ = Status::kCompleted;
  int64_t lastSeenBarrier_ = kInitial;
};

}  // namespace weir
