#include "weir/exchange/channel_state_persister.h"

#include "weir/exchange/barrier_bytes.h"
#include "weir/snapshot/checkpoint_failure.h"

namespace weir {

void ChannelStatePersister::startPersisting(int64_t checkpointId, std::vector<Buffer> known) {
  if (status_ == Status::kBarrierReceived && lastSeenBarrier_ > checkpointId)
    throw CheckpointException(fmt::format("Barrier id {} was seen before checkpoint {} started.", lastSeenBarrier_, checkpointId),
                              CheckpointFailureReason::kCheckpointSubsumed);
  if (lastSeenBarrier_ < checkpointId) {
    status_ = Status::kBarrierPending;
    lastSeenBarrier_ = checkpointId;
  }
  if (!known.empty() && writer_) writer_->addInputData(checkpointId, channel_, std::move(known));
}

void ChannelStatePersister::stopPersisting(int64_t checkpointId) {
  if (checkpointId < lastSeenBarrier_) return;
  status_ = Status::kCompleted;
  lastSeenBarrier_ = checkpointId;
}

std::optional<int64_t> ChannelStatePersister::checkForBarrier(const Buffer& buffer) {
  if (buffer.isBuffer()) return std::nullopt;
  const std::optional<int64_t> id = barrierId(buffer.bytes());
  if (!id) return std::nullopt;
  const int64_t expected = status_ == Status::kCompleted ? lastSeenBarrier_ + 1 : lastSeenBarrier_;
  if (*id >= expected) {
    status_ = Status::kBarrierReceived;
    lastSeenBarrier_ = *id;
  }
  return id;
}

}  // namespace weir
