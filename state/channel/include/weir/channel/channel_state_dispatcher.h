#pragma once

#include <map>
#include <memory>
#include <set>

#include "weir/channel/channel_state_checkpoint_writer.h"
#include "weir/channel/channel_state_request.h"

namespace weir {

/// Decides what becomes of each request of the subtasks that share a channel-state file: done by the writer of the ongoing checkpoint, or
/// cancelled because its checkpoint is over.
///
///   start(id)        older than the ongoing one, or aborted: cancelled. Newer: the ongoing one fails as subsumed, a new file. Same: joins.
///   data, finish     of the ongoing one: written. Of an aborted or older one: dropped. Else: an error of the caller, which breaks this.
///   abort(id)        ongoing: fails. Newer than the ongoing: that is subsumed. Later requests of id are cancelled.
///   cancelled start  with the own cause for the subtask that aborted, SHARED_STREAM for the others, SUBSUMED for older checkpoints
///
/// Flink: ChannelStateWriteRequestDispatcherImpl. Differs: with independent acknowledgements an abort concerns its own subtask alone, and a
/// bug of a caller fails all present and later results, not the thread.
/// Threads: one. Calls block on files.
class ChannelStateDispatcher {
 public:
  ChannelStateDispatcher(CheckpointWorkerStorage& storage, ChannelStateAcks acks) : storage_(storage), acks_(acks) {}

  void dispatch(ChannelStateRequest request);
  /// The writing ends for good: what has not ended fails, and so does all that starts later.
  void breakOff(const std::shared_ptr<const Throwable>& cause);
  bool hasSubtasks() const { return !subtasks_.empty(); }

 private:
  using Kind = ChannelStateRequest::Kind;
  struct Aborted {
    int64_t checkpointId = -1;
    int32_t writer = -1;
    std::shared_ptr<const Throwable> cause;
  };

  void start(ChannelStateRequest& request);
  void abort(ChannelStateRequest& request);
  void drop(const ChannelStateRequest& request);
  void carryOut(ChannelStateRequest& request);
  bool write(ChannelStateRequest& request);
  void release(int32_t writer);
  /// Null: nothing speaks against it.
  std::shared_ptr<const Throwable> whyCancelled(const ChannelStateRequest& request) const;

  CheckpointWorkerStorage& storage_;
  const ChannelStateAcks acks_;
  std::map<int32_t, int32_t> subtasks_;  ///< registered: index by number of registration
  std::unique_ptr<ChannelStateCheckpointWriter> ongoing_;
  int64_t ongoingId_ = -1;  ///< the newest that was started, also when it is done
  Aborted aborted_;         ///< the newest
  std::map<int32_t, Aborted> abortedAlone_;  ///< the newest of each subtask, with independent acknowledgements
  std::shared_ptr<const Throwable> broken_;
};

}  // namespace weir
