#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "weir/base/executor.h"
#include "weir/base/log.h"
#include "weir/base/mutex.h"
#include "weir/channel/channel_state_dispatcher.h"

namespace weir {

/// The actor that writes for a group of subtasks, and its queue.
///
/// Flink: ChannelStateWriteRequestExecutorImpl. Threads: any, but run(), which is the actor's. The actor keeps it alive.
class ChannelStateWriteExecutor {
 public:
  ChannelStateWriteExecutor(std::shared_ptr<CheckpointWorkerStorage> storage, ChannelStateAcks acks, int maxSubtasks)
      : storage_(std::move(storage)), dispatcher_(*storage_, acks), maxSubtasks_(maxSubtasks) {}

  /// The number of the new member; none where the group takes no more.
  std::optional<int32_t> join(int32_t subtask);
  /// Only enqueues; a release ends the membership. Requests that come after the end fail their results.
  void submit(ChannelStateRequest request);
  /// Ahead of everything that waits.
  void submitUrgent(ChannelStateRequest request);
  /// The body of the actor: writes until the last member has left.
  void run(ExecutionContext& context);

 private:
  using Kind = ChannelStateRequest::Kind;
  void enqueue(ChannelStateRequest request, bool urgent);
  std::optional<ChannelStateRequest> take();
  void writeWhatWaits();
  void end();

  const std::shared_ptr<CheckpointWorkerStorage> storage_;
  ChannelStateDispatcher dispatcher_;  ///< the actor's
  const int maxSubtasks_;
  Signal wake_{"channel state requests"};

  Mutex mutex_;
  std::deque<ChannelStateRequest> queue_;  ///< guarded by mutex_, as is the rest
  int32_t members_ = 0;                    ///< that ever joined
  int32_t present_ = 0;
  bool joinable_ = true;
  bool ended_ = false;
};

}  // namespace weir
