#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/snapshot/state_handles.h"

namespace weir {

enum class CheckpointedStateScope { kExclusive, kShared };

/// A state file being written; small ones (data-inline-threshold) end up inside `_metadata` and leave no file. Used by one actor.
/// Destroyed without finish(): the file is deleted. Flink: CheckpointStateOutputStream.
class CheckpointStateOutput {
 public:
  virtual ~CheckpointStateOutput() = default;
  virtual Result<void> write(std::span<const std::byte> bytes) = 0;
  /// Bytes written so far: the offset that a handle stores.
  virtual int64_t position() const = 0;
  /// A handle to what was written so far, which can be read from now on, while more may follow: a file that it names is longer in the end.
  virtual Result<StreamHandle> finishPart() = 0;
  /// monostate if nothing was written.
  virtual Result<StreamHandle> finish() = 0;
};

/// Reads a handle's bytes at any offset. Used by one actor.
class CheckpointStateInput {
 public:
  virtual ~CheckpointStateInput() = default;
  virtual int64_t size() const = 0;
  /// All of `into`, or an error that names the file and the offset.
  virtual Result<void> readAt(int64_t offset, std::span<std::byte> into) = 0;
};

/// Where the state of one checkpoint goes. Any thread. Flink: CheckpointStreamFactory.
class CheckpointStreamFactory {
 public:
  virtual ~CheckpointStreamFactory() = default;
  virtual Result<std::unique_ptr<CheckpointStateOutput>> createOutput(CheckpointedStateScope scope) = 0;
  /// An output of up to this many bytes touches no file: its handle holds them.
  virtual size_t inlineThreshold() const { return 0; }
};

/// The worker's view of checkpoint storage: where to write state, how to read it back. Any thread; calls may block, so tasks use it from
/// snapshot workers or through ExecutionContext::blocking. Flink: CheckpointWorkerStorage.
class CheckpointWorkerStorage {
 public:
  virtual ~CheckpointWorkerStorage() = default;
  /// `location` is the reference of the barrier's options: empty for the default (`chk-<id>` of this job).
  virtual std::shared_ptr<CheckpointStreamFactory> resolveCheckpointLocation(int64_t checkpointId, std::span<const uint8_t> location) = 0;
  virtual Result<std::unique_ptr<CheckpointStateInput>> open(const StreamHandle& handle) = 0;
  /// Removes what a task has written for a checkpoint that nobody waits for any more. Its folder may have gone before, and have been made
  /// anew by the write. Shared files stay: they are the registry's business.
  virtual void discardAborted(int64_t checkpointId, std::span<const uint8_t> location, const TaskStateSnapshot& state) {
    (void)checkpointId, (void)location, (void)state;
  }
};

/// Writes and disposes whole checkpoints: the coordinator's view. Blocking; used on an I/O actor. Flink: CheckpointStorageCoordinatorView,
/// CheckpointStorageLocation, CompletedCheckpointStorageLocation.
class CheckpointCoordinatorStorage {
 public:
  virtual ~CheckpointCoordinatorStorage() = default;
  /// Makes the job's folders; an unwritable directory is found here, before the job runs.
  virtual Result<void> initializeBaseLocations() = 0;
  /// Makes `chk-<id>`.
  virtual Result<void> initializeCheckpoint(int64_t checkpointId) = 0;
  /// Writes `_metadata` (temporary name, sync, rename) and returns the path of the checkpoint's folder.
  virtual Result<std::string> writeMetadata(int64_t checkpointId, const std::vector<OperatorState>& operators) = 0;
  /// Removes what belongs to checkpoint `id` alone. Fine if it is gone.
  virtual Result<void> discardCheckpoint(int64_t checkpointId) = 0;
  /// Removes the file behind a handle of a late acknowledgement.
  virtual Result<void> discard(const OperatorSubtaskState& state) = 0;

  /// Makes the folder of a savepoint (`savepoint-<first 6 hex of the job>-<random>`) in `directory` and returns its path.
  virtual Result<std::string> initializeSavepoint(int64_t checkpointId, const std::string& directory) {
    (void)checkpointId, (void)directory;
    return noSavepoints();
  }
  /// Writes `_metadata` into the folder of a savepoint.
  virtual Result<void> writeSavepointMetadata(int64_t checkpointId, const std::string& path, const std::vector<OperatorState>& operators) {
    (void)checkpointId, (void)path, (void)operators;
    return noSavepoints();
  }
  /// Removes the folder of a savepoint, or of a claimed checkpoint, with all in it. Fine if it is gone.
  virtual Result<void> discardSavepoint(const std::string& path) {
    (void)path;
    return noSavepoints();
  }

 private:
  static Error noSavepoints() { return {ErrorCode::kUnsupported, "this checkpoint storage takes no savepoints: use a file system"}; }
};

}  // namespace weir
