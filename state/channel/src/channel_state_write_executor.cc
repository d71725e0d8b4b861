#include "channel_state_write_executor.h"

namespace weir {

std::optional<int32_t> ChannelStateWriteExecutor::join(int32_t subtask) {
  ChannelStateRequest request;
  {
    Lock lock(mutex_);
    if (!joinable_ || ended_) return std::nullopt;
    request.kind = Kind::kRegister;
    request.writer = members_++;
    request.subtask = subtask;
    ++present_;
    if (members_ == maxSubtasks_) joinable_ = false;
  }
  const int32_t number = request.writer;
  submit(std::move(request));
  return number;
}

void ChannelStateWriteExecutor::submit(ChannelStateRequest request) { enqueue(std::move(request), false); }

void ChannelStateWriteExecutor::submitUrgent(ChannelStateRequest request) { enqueue(std::move(request), true); }

void ChannelStateWriteExecutor::enqueue(ChannelStateRequest request, bool urgent) {
  {
    Lock lock(mutex_);
    if (!ended_) {
      if (request.kind == Kind::kStart || request.kind == Kind::kRelease) joinable_ = false;
      if (request.kind == Kind::kRelease) --present_;
      const bool wasEmpty = queue_.empty();
      if (urgent) queue_.push_front(std::move(request));
      else queue_.push_back(std::move(request));
      if (!wasEmpty) return;
    }
  }
  if (!request.result) return wake_.set();  // moved away, or nothing to fail
  request.result->fail(
      std::make_shared<Throwable>("java.util.concurrent.CancellationException", "The writer of in-flight data has ended."));
}

std::optional<ChannelStateRequest> ChannelStateWriteExecutor::take() {
  Lock lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  ChannelStateRequest request = std::move(queue_.front());
  queue_.pop_front();
  return request;
}

void ChannelStateWriteExecutor::writeWhatWaits() {
  // One at a time, so that an abort that comes meanwhile is next.
  while (auto request = take()) dispatcher_.dispatch(std::move(*request));
}

void ChannelStateWriteExecutor::run(ExecutionContext& context) {
  struct End {
    ChannelStateWriteExecutor& self;
    ~End() { self.end(); }
  } atTheEnd{*this};
  while (true) {
    bool idle, left;
    {
      Lock lock(mutex_);
      idle = queue_.empty();
      left = present_ == 0 && members_ > 0;
      if (idle && left) return;
      if (idle) wake_.reset();
    }
    if (idle) context.wait(WaitReason::kInputOrMail, {&wake_});
    else context.blocking([&] { writeWhatWaits(); });
  }
}

void ChannelStateWriteExecutor::end() {
  std::deque<ChannelStateRequest> dropped;
  {
    Lock lock(mutex_);
    ended_ = true;
    dropped.swap(queue_);
  }
  const auto cause =
      std::make_shared<Throwable>("java.util.concurrent.CancellationException", "The writer of in-flight data has ended.");
  dispatcher_.breakOff(cause);
  for (auto& request : dropped)
    if (request.result) request.result->fail(cause);
}

}  // namespace weir
