#include "weir/exchange/channel_state_persister.h"

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

}  // namespace weir
