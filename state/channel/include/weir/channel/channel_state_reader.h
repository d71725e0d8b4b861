#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/snapshot/checkpoint_storage.h"

namespace weir {

enum class ChannelStateKind : uint8_t { kInput, kOutput };

/// A buffer of in-flight data as a checkpoint holds it.
struct ChannelStateEntry {
  int32_t oldSubtask = 0;             ///< whose it was
  int32_t gateOrPartition = 0;        ///< of that subtask, as is the next
  int32_t channelOrSubpartition = 0;
  int64_t offset = 0;                 ///< of its length, in its file
  int32_t length = 0;
};

/// Reads in-flight data back, by what the handles say alone: file by file, each from front to back.
///
/// Flink: SequentialChannelStateReaderImpl. Differs: every length is checked against file and handle before the first byte is handed out,
/// because a record cut at a wrong place may look like a record.
/// Threads: one actor; calls block on files. Errors name the file, the channel and the offset.
class ChannelStateReader {
 public:
  /// Opens and checks all files. A channel that is claimed by two handles is an error.
  static Result<std::unique_ptr<ChannelStateReader>> open(CheckpointWorkerStorage& storage, ChannelStateKind kind,
                                                          const std::vector<ChannelStateHandle>& handles);
  ~ChannelStateReader();

  /// The next buffer, whose bytes read() gives; null after the last.
  const ChannelStateEntry* next();
  /// The next bytes of the buffer, as many as fit; 0 at its end.
  Result<size_t> read(std::span<std::byte> into);
  /// Bytes of all buffers, without lengths.
  int64_t totalBytes() const { return totalBytes_; }

 private:
  struct File;
  ChannelStateReader() = default;

  std::vector<std::unique_ptr<File>> files_;
  size_t file_ = 0, entry_ = 0;  ///< of the next entry
  const File* current_ = nullptr;
  int64_t at_ = 0, left_ = 0;  ///< of the current entry
  int64_t totalBytes_ = 0;
};

/// Checks all in-flight data of a checkpoint as a ChannelStateReader does, before a job starts from it.
Result<void> checkChannelState(CheckpointWorkerStorage& storage, const std::vector<OperatorState>& operators);

/// What was given up by forgetting in-flight data.
struct ForgottenChannelState {
  int64_t buffers = 0, bytes = 0;
};
/// Takes all in-flight data out of a checkpoint: execution.state-recovery.without-channel-state.checkpoint-id.
ForgottenChannelState forgetChannelState(std::vector<OperatorState>& operators);

/// Handles to parts of one file that was written further after they were made learn its length. Before the checkpoint is stored.
void settleFileSizes(std::vector<OperatorState>& operators);

}  // namespace weir
