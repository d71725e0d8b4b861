#include "weir/snapshot/checkpoint_options.h"

#include "weir/base/check.h"

namespace weir {

std::string snapshotName(SnapshotType type) {
  switch (type) {
    case SnapshotType::kCheckpoint: return "Checkpoint";
    case SnapshotType::kFullCheckpoint: return "Full Checkpoint";
    case SnapshotType::kSavepoint: return "Savepoint";
    case SnapshotType::kSavepointSuspend: return "Suspend Savepoint";
    case SnapshotType::kSavepointTerminate: return "Terminate Savepoint";
  }
  return "?";
}

std::string toString(SnapshotType type, SavepointFormat format) {
  if (!isSavepoint(type)) {
    const char* sharing = type == SnapshotType::kCheckpoint ? "FORWARD_BACKWARD" : "FORWARD";
    return "CheckpointType{name='" + snapshotName(type) + "', sharingFilesStrategy=" + sharing + "}";
  }
  const char* action = type == SnapshotType::kSavepoint ? "NONE" : type == SnapshotType::kSavepointSuspend ? "SUSPEND" : "TERMINATE";
  return "SavepointType{name='" + snapshotName(type) + "', postCheckpointAction=" + action +
         ", formatType=" + (format == SavepointFormat::kCanonical ? "CANONICAL" : "NATIVE") + "}";
}

CheckpointOptions CheckpointOptions::forConfig(SnapshotType type, SavepointFormat format, bool exactlyOnce, bool unaligned,
                                               int64_t alignedTimeoutMs) {
  CheckpointOptions options;
  options.type = type;
  options.format = format;
  if (!exactlyOnce) {
    options.alignment = AlignmentType::kAtLeastOnce;
  } else if (isSavepoint(type) || !unaligned) {
    options.alignment = AlignmentType::kAligned;
  } else if (alignedTimeoutMs == 0 || alignedTimeoutMs == kNoTimeout) {
    options.alignment = AlignmentType::kUnaligned;
  } else {
    options.alignment = AlignmentType::kAligned;
    options.alignedTimeoutMs = alignedTimeoutMs;
  }
  return options;
}

CheckpointOptions CheckpointOptions::withUnalignedUnsupported() const {
  CheckpointOptions options = *this;
  if (isUnaligned() || isTimeoutable()) options.alignment = AlignmentType::kForcedAligned;
  return options;
}

CheckpointOptions CheckpointOptions::withUnalignedSupported() const {
  CheckpointOptions options = *this;
  if (alignment == AlignmentType::kForcedAligned)
    options.alignment = alignedTimeoutMs == kNoTimeout ? AlignmentType::kUnaligned : AlignmentType::kAligned;
  return options;
}

CheckpointOptions CheckpointOptions::toUnaligned() const {
  if (isUnaligned()) return *this;
  WEIR_CHECK(alignment == AlignmentType::kAligned, "only an aligned checkpoint can turn unaligned");
  CheckpointOptions options = *this;
  options.alignment = AlignmentType::kUnaligned;
  options.alignedTimeoutMs = kNoTimeout;
  return options;
}

}  // namespace weir
