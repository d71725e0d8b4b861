#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "weir/buffer/buffer.h"
#include "weir/snapshot/channel_state_write_result.h"
#include "weir/snapshot/checkpoint_storage.h"

namespace weir {

/// A channel-state file: `int 0`, then per buffer its length and its bytes, in the order of writing.
inline constexpr int32_t kChannelStateVersion = 0;
inline constexpr int64_t kChannelStateHeaderBytes = 4;
inline constexpr int64_t kChannelStateLengthBytes = 4;

/// When the subtasks that share a file acknowledge.
enum class ChannelStateAcks : uint8_t {
  kTogether,     ///< as Flink: when the last of them has finished; one that fails fails them all
  kIndependent,  ///< each when it has finished itself, with the part of the file that is written by then
};

/// Writes the in-flight data of one checkpoint of a group of subtasks into one file, made with the first byte, and ends their results.
///
/// Flink: ChannelStateCheckpointWriter, ChannelStatePendingResult, ChannelStateSerializer. Differs: waits for the announced output data of
/// a subtask by counting, so that nothing else waits behind it; and may let its subtasks go one by one (ChannelStateAcks). Threads: one.
/// Calls block on files. A file that nobody needs is removed.
class ChannelStateCheckpointWriter {
 public:
  enum class Side : uint8_t { kInput, kOutput };
  using Channel = std::pair<int32_t, int32_t>;  ///< gate and channel, or partition and subpartition

  /// `waitsFor`: the registration numbers of the subtasks that have to report.
  ChannelStateCheckpointWriter(int64_t checkpointId, std::set<int32_t> waitsFor, std::vector<uint8_t> location,
                               CheckpointWorkerStorage& storage, ChannelStateAcks acks);
  ~ChannelStateCheckpointWriter();

  /// `subtask`: its index, for the handle. Fails the result at once where this has failed for another subtask.
  void start(int32_t writer, int32_t subtask, std::shared_ptr<ChannelStateWriteResult> result);
  /// False, with no effect: the writer has not started, or has finished this side: an error of the caller.
  bool write(int32_t writer, Side side, Channel channel, const std::vector<Buffer>& data);
  bool finish(int32_t writer, Side side);
  /// Data of this subpartition may still come: the outputs are not finished before outputArrived.
  bool expectOutput(int32_t writer, Channel channel);
  bool outputArrived(int32_t writer, Channel channel, const std::vector<Buffer>& data);
  /// The subtask has ended: nobody waits for it any more.
  void release(int32_t writer);
  /// One subtask's result fails with `cause`; together, those of the others with CHANNEL_STATE_SHARED_STREAM_EXCEPTION.
  void fail(int32_t writer, const std::shared_ptr<const Throwable>& cause);
  /// All fail with `cause`.
  void failAll(const std::shared_ptr<const Throwable>& cause);

  int64_t checkpointId() const { return checkpointId_; }
  /// Nothing is left to do: every result has ended, or nobody is registered any more.
  bool isDone() const { return done_; }

 private:
  struct Place {
    int64_t size = 0;
    std::vector<int64_t> offsets;
  };
  struct Pending {
    int32_t subtask = 0;
    std::shared_ptr<ChannelStateWriteResult> result;
    std::map<Channel, Place> inputs, outputs;
    std::multiset<Channel> expected;  ///< outputs that may still be sent
    bool inputFinished = false, outputFinished = false;
    bool ended = false, failed = false;

    bool isComplete() const { return inputFinished && outputFinished && expected.empty(); }
    void fail(const std::shared_ptr<const Throwable>& cause);
  };

  Result<void> append(Place& place, const Buffer& buffer);
  void checkComplete();
  bool allHaveReported() const;
  void completeTogether();
  void completeOne(Pending& pending);
  WrittenChannelState stateOf(const Pending& pending, const StreamHandle& file) const;
  ChannelStateHandle handleOf(int32_t subtask, const std::map<Channel, Place>& places, const StreamHandle& file, int part) const;
  void failIo(const Error& error);
  void removeFile();

  const int64_t checkpointId_;
  std::set<int32_t> waitsFor_;
  const std::vector<uint8_t> location_;
  CheckpointWorkerStorage& storage_;
  const ChannelStateAcks acks_;
  std::unique_ptr<CheckpointStateOutput> output_;
  std::map<int32_t, Pending> pending_;
  bool done_ = false;
  bool fileGivenOut_ = false;                 ///< somebody has a handle of the file
  std::shared_ptr<const Throwable> failure_;  ///< of all
};

/// Removes what was written for a checkpoint that will not be. Blocks on files.
void discardChannelState(CheckpointWorkerStorage& storage, int64_t checkpointId, const std::vector<uint8_t>& location,
                         const WrittenChannelState& written);

}  // namespace weir
