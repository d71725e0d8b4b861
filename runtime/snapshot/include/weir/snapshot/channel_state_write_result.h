#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weir/base/error.h"
#include "weir/base/mutex.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

/// In-flight data of one subtask in one checkpoint, as it was written. No handles: there was none.
struct WrittenChannelState {
  std::vector<ChannelStateHandle> inputs, outputs;

  bool empty() const { return inputs.empty() && outputs.empty(); }
  /// With the 4-byte lengths: the persisted in-flight bytes of the checkpoint.
  int64_t stateSize() const;
};

/// What becomes of the in-flight data of one subtask in one checkpoint. Made by the ChannelStateWriter with its start, shared by the writer
/// and the asynchronous part of the checkpoint, ended once: by the writer when inputs and outputs are finished and written, or by whatever
/// fails or aborts it. Any thread.
///
/// Flink: ChannelStateWriteResult. Differs: one end for inputs and outputs together, and whoever ends it runs no code of the asker: it
/// calls a function that only enqueues.
class ChannelStateWriteResult {
 public:
  explicit ChannelStateWriteResult(int64_t checkpointId) : checkpointId_(checkpointId) {}
  int64_t checkpointId() const { return checkpointId_; }

  /// False, with no effect, if it has ended before. Call with no lock held.
  bool complete(WrittenChannelState state);
  bool fail(std::shared_ptr<const Throwable> cause);

  bool isDone() const;
  /// `enqueue` is called once, at the end, with no lock held, by whoever ends it: it must only put something into a queue. False, and it is
  /// never called, if the end was there before. Asked once at most.
  bool notifyWhenDone(std::function<void()> enqueue);
  /// Requires: done. Null if it was written.
  std::shared_ptr<const Throwable> failure() const;
  /// Requires: done and not failed.
  const WrittenChannelState& written() const;

 private:
  bool end(WrittenChannelState state, std::shared_ptr<const Throwable> cause);

  const int64_t checkpointId_;
  mutable Mutex mutex_;
  bool done_ = false;
  WrittenChannelState written_;
  std::shared_ptr<const Throwable> failure_;
  std::function<void()> listener_;
};

}  // namespace weir
