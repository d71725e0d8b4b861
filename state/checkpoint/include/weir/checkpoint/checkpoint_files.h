#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/file_system.h"
#include "weir/base/random.h"
#include "weir/checkpoint/checkpoint_metadata.h"

namespace weir {

inline constexpr std::string_view kMetadataFileName = "_metadata";

/// The plain path behind what a user or a handle says: `/x`, `file:/x`, `file:///x`. Other schemes are an error.
Result<std::string> localPath(std::string_view pathOrUri);

/// Writes `_metadata` into `folder`: a temporary name, then a rename, so that a reader sees all of it or nothing. With `sync` it is on the
/// disk, with its name, when this returns. An error where there is one already; a failure leaves no file.
Result<void> writeMetadataFile(FileSystem& files, const std::string& folder, const CheckpointMetadata& metadata, bool sync, Random& random);

/// A checkpoint or savepoint as found on disk.
struct LoadedCheckpoint {
  CheckpointMetadata metadata;
  std::string folder;
};
/// Reads `_metadata` from the path of a checkpoint's folder or of the file itself, also as a `file:` URI. Looks at no other file.
Result<LoadedCheckpoint> readCheckpoint(FileSystem& files, std::string_view pathOrUri);
/// Looks at what was read before its files are looked for; may take something out, or find it wrong.
using CheckpointReview = std::function<Result<void>(CheckpointMetadata&)>;
/// readCheckpoint for a restore: every file that it refers to must be there with the length that it should have. The error is one sentence
/// and names the file.
Result<LoadedCheckpoint> loadCheckpoint(FileSystem& files, std::string_view pathOrUri, const CheckpointReview& review = {});

/// The folders `chk-<n>` with a `_metadata` in a job's folder, newest first.
Result<std::vector<std::string>> completedCheckpoints(FileSystem& files, const std::string& jobFolder);

struct FallBackCheckpoint {
  LoadedCheckpoint checkpoint;
  std::vector<Error> skipped;  ///< why newer ones were passed over, newest first
};
/// The newest checkpoint in a job's folder that can be loaded. Passing over one may repeat committed output: only for who asked for it
/// (weir.recovery.fall-back).
Result<FallBackCheckpoint> loadNewestCheckpoint(FileSystem& files, std::string_view jobFolder, const CheckpointReview& review = {});

/// "the state file /x/chk-1/...": a handle in messages.
std::string describe(const StreamHandle& handle);

/// Calls `visit` with every stream handle of the operators, coordinator state included.
void forEachStream(const std::vector<OperatorState>& operators, const std::function<void(const StreamHandle&)>& visit);
void forEachStream(const OperatorSubtaskState& state, const std::function<void(const StreamHandle&)>& visit);

}  // namespace weir
