#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weir/base/file_system.h"
#include "weir/base/ids.h"
#include "weir/base/mutex.h"
#include "weir/base/random.h"
#include "weir/checkpoint/checkpoint_properties.h"
#include "weir/snapshot/checkpoint_storage.h"

namespace weir {

struct FsCheckpointStorageOptions {
  std::string directory;           ///< execution.checkpointing.dir: a path or a file: URI
  size_t inlineThreshold = 20480;  ///< execution.checkpointing.data-inline-threshold, bytes; larger state gets a file
  bool sync = false;               ///< weir.checkpoint.sync: files and folders are on the disk before a checkpoint completes
  CheckpointProperties properties =
      CheckpointProperties::forCheckpoint(SnapshotType::kCheckpoint, CheckpointProperties::Retention::kDeleteOnCancellation);
  /// Where files lie that are not on `files`: the disk, for a storage in memory that restores from it.
  FileSystem* elsewhere = nullptr;
};

/// Checkpoints in a directory, in Flink's layout: `<directory>/<job id>/{shared,taskowned,chk-<n>}`, state in files named by UUIDs, small
/// state inside `_metadata`. A small checkpoint costs one folder and one file: written, renamed.
///
/// Flink: FsCheckpointStorageAccess, FsCheckpointMetadataOutputStream. Differs: makes durable only with `sync`.
/// Threads: any; every call blocks on files. A failed write leaves no file behind. Outlives the outputs that it made.
class FsCheckpointStorage final : public CheckpointWorkerStorage, public CheckpointCoordinatorStorage {
 public:
  /// `random`: a stream of its own, for file names. An error where the directory is not on a local file system.
  static Result<std::unique_ptr<FsCheckpointStorage>> create(FileSystem& files, const JobID& job, FsCheckpointStorageOptions options,
                                                             Random random);

  std::shared_ptr<CheckpointStreamFactory> resolveCheckpointLocation(int64_t checkpointId, std::span<const uint8_t> location) override;
  Result<std::unique_ptr<CheckpointStateInput>> open(const StreamHandle& handle) override;
  void discardAborted(int64_t checkpointId, std::span<const uint8_t> location, const TaskStateSnapshot& state) override;

  Result<void> initializeBaseLocations() override;
  Result<void> initializeCheckpoint(int64_t checkpointId) override;
  Result<std::string> writeMetadata(int64_t checkpointId, const std::vector<OperatorState>& operators) override;
  Result<void> discardCheckpoint(int64_t checkpointId) override;
  /// Files in `shared/` stay: others may use them.
  Result<void> discard(const OperatorSubtaskState& state) override;
  Result<void> discardSavepoint(const std::string& path) override;

  /// `<directory>/<job id>`.
  const std::string& jobFolder() const { return jobFolder_; }
  std::string checkpointFolder(int64_t checkpointId) const;

 private:
  class Factory;
  class Output;
  FsCheckpointStorage(FileSystem& files, std::string directory, const JobID& job, FsCheckpointStorageOptions options, Random random);
  std::string uuid();
  /// The file system that has `path`.
  FileSystem& filesWith(const std::string& path);

  FileSystem& files_;
  const FsCheckpointStorageOptions options_;
  const std::string directory_, jobFolder_;
  Mutex mutex_;
  Random random_;  ///< guarded by mutex_
};

/// Where the bytes of `location` of a barrier's options point (a savepoint's folder), and the other way round. Flink:
/// AbstractFsCheckpointStorageAccess.encodePathAsReference.
std::vector<uint8_t> encodeLocation(const std::string& path);
Result<std::string> decodeLocation(std::span<const uint8_t> location);

/// All bytes of a handle.
Result<std::vector<std::byte>> readAll(CheckpointWorkerStorage& storage, const StreamHandle& handle);

}  // namespace weir
