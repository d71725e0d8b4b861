#include "weir/snapshot/channel_state_write_result.h"

#include "weir/base/check.h"

namespace weir {

int64_t WrittenChannelState::stateSize() const {
  int64_t size = 0;
  for (const auto* handles : {&inputs, &outputs})
    for (const ChannelStateHandle& handle : *handles) size += handle.size;
  return size;
}

bool ChannelStateWriteResult::complete(WrittenChannelState state) { return end(std::move(state), nullptr); }

bool ChannelStateWriteResult::fail(std::shared_ptr<const Throwable> cause) {
  WEIR_CHECK(cause != nullptr, "channel state of checkpoint {} fails without a cause", checkpointId_);
  return end({}, std::move(cause));
}

bool ChannelStateWriteResult::end(WrittenChannelState state, std::shared_ptr<const Throwable> cause) {
  std::function<void()> listener;
  {
    Lock lock(mutex_);
    if (done_) return false;
    done_ = true;
    written_ = std::move(state);
    failure_ = std::move(cause);
    listener = std::move(listener_);
  }
  if (listener) listener();
  return true;
}

bool ChannelStateWriteResult::isDone() const {
  Lock lock(mutex_);
  return done_;
}

bool ChannelStateWriteResult::notifyWhenDone(std::function<void()> enqueue) {
  Lock lock(mutex_);
  if (done_) return false;
  WEIR_CHECK(!listener_, "channel state of checkpoint {} is waited for twice", checkpointId_);
  listener_ = std::move(enqueue);
  return true;
}

std::shared_ptr<const Throwable> ChannelStateWriteResult::failure() const {
  Lock lock(mutex_);
  WEIR_CHECK(done_, "channel state of checkpoint {} has not ended", checkpointId_);
  return failure_;
}

const WrittenChannelState& ChannelStateWriteResult::written() const {
  Lock lock(mutex_);
  WEIR_CHECK(done_ && !failure_, "channel state of checkpoint {} was not written", checkpointId_);
  return written_;
}

}  // namespace weir
