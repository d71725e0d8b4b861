#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "weir/base/error.h"
#include "weir/buffer/buffer.h"
#include "weir/snapshot/channel_state_write_result.h"
#include "weir/snapshot/checkpoint_options.h"

namespace weir {

/// One input channel of a task. Flink: InputChannelInfo.
struct InputChannelInfo {
  int32_t gate = 0;
  int32_t channel = 0;
  auto operator<=>(const InputChannelInfo&) const = default;
};
/// One subpartition of a task. Flink: ResultSubpartitionInfo.
struct ResultSubpartitionInfo {
  int32_t partition = 0;
  int32_t subpartition = 0;
  auto operator<=>(const ResultSubpartitionInfo&) const = default;
};

/// Takes the in-flight data of one subtask's unaligned checkpoints. Calls only enqueue: they neither wait nor write, and are made with no
/// lock held. Any thread. Buffers come with a reference each and are not copied; they may be pool buffers, so that a slow disk is felt as
/// back pressure.
///
/// Life of a checkpoint: start, data of inputs and outputs, finishInput, finishOutput, getAndRemoveWriteResult; abort at any time. Data
/// that comes for a checkpoint that was aborted, or is older than one that was started, is dropped.
///
/// Flink: ChannelStateWriter. Differs: addOutputDataFuture is a pair of messages here, expectOutputData and one of completeOutputData and
/// failOutputData, because nobody waits on a future by running code in whoever completes it.
class ChannelStateWriter {
 public:
  virtual ~ChannelStateWriter() = default;
  virtual void start(int64_t checkpointId, const CheckpointOptions& options) = 0;
  virtual void addInputData(int64_t checkpointId, InputChannelInfo channel, std::vector<Buffer> data) = 0;
  virtual void addOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition, std::vector<Buffer> data) = 0;
  /// Output data of `subpartition` may follow: a barrier that may still turn unaligned is in its queue. The checkpoint is not complete
  /// before.
  virtual void expectOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition) = 0;
  /// Ends the expectation, with nothing if the barrier left in order.
  virtual void completeOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition, std::vector<Buffer> data) = 0;
  virtual void failOutputData(int64_t checkpointId, ResultSubpartitionInfo subpartition, std::shared_ptr<const Throwable> cause) = 0;
  virtual void finishInput(int64_t checkpointId) = 0;
  virtual void finishOutput(int64_t checkpointId) = 0;
  /// Fails the result. `cleanUp`: nobody will ask for it; else it is kept for getAndRemoveWriteResult.
  virtual void abort(int64_t checkpointId, std::shared_ptr<const Throwable> cause, bool cleanUp) = 0;
  /// What becomes of a started checkpoint; once per checkpoint. Null if it was not started or was cleaned up.
  virtual std::shared_ptr<ChannelStateWriteResult> getAndRemoveWriteResult(int64_t checkpointId) = 0;
  /// The subtask ends: what has not ended fails, what comes later is dropped. Idempotent.
  virtual void close() = 0;
};

}  // namespace weir
