#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace weir {

/// What is taken, with Flink's code on the wire. Flink: SnapshotType (CheckpointType, SavepointType).
enum class SnapshotType : uint8_t { kCheckpoint = 0, kSavepoint = 1, kSavepointSuspend = 2, kSavepointTerminate = 3, kFullCheckpoint = 4 };
enum class SavepointFormat : uint8_t { kCanonical = 0, kNative = 1 };
inline bool isSavepoint(SnapshotType t) {
  return t == SnapshotType::kSavepoint || t == SnapshotType::kSavepointSuspend || t == SnapshotType::kSavepointTerminate;
}
/// A synchronous savepoint: its tasks finish after it.
inline bool isSynchronous(SnapshotType t) { return t == SnapshotType::kSavepointSuspend || t == SnapshotType::kSavepointTerminate; }
/// As Flink logs it: `CheckpointType{name='Checkpoint', sharingFilesStrategy=FORWARD_BACKWARD}`.
std::string toString(SnapshotType type, SavepointFormat format);
/// `Checkpoint`, `Full Checkpoint`, `Savepoint`, ...
std::string snapshotName(SnapshotType type);

enum class AlignmentType : uint8_t { kAtLeastOnce = 0, kAligned = 1, kUnaligned = 2, kForcedAligned = 3 };

/// How one checkpoint is taken; travels in its barrier. A value. Flink: CheckpointOptions.
struct CheckpointOptions {
  static constexpr int64_t kNoTimeout = std::numeric_limits<int64_t>::max();

  SnapshotType type = SnapshotType::kCheckpoint;
  SavepointFormat format = SavepointFormat::kCanonical;
  std::vector<uint8_t> location;  ///< reference bytes; meaningful when hasLocation
  bool hasLocation = false;       ///< false: the default location reference
  AlignmentType alignment = AlignmentType::kAligned;
  int64_t alignedTimeoutMs = kNoTimeout;

  bool operator==(const CheckpointOptions&) const = default;

  static CheckpointOptions forConfig(SnapshotType type, SavepointFormat format, bool exactlyOnce, bool unaligned, int64_t alignedTimeoutMs);
  bool exactlyOnce() const { return alignment != AlignmentType::kAtLeastOnce; }
  bool needsAlignment() const { return exactlyOnce() && (isSavepoint(type) || alignment != AlignmentType::kUnaligned); }
  /// Aligned, but may turn unaligned after its timeout.
  bool isTimeoutable() const { return alignment == AlignmentType::kAligned && alignedTimeoutMs > 0 && alignedTimeoutMs != kNoTimeout; }
  bool isUnaligned() const { return alignment == AlignmentType::kUnaligned; }
  bool needsChannelState() const { return isUnaligned() || isTimeoutable(); }
  /// On an edge that cannot be unaligned: UNALIGNED or timeoutable becomes FORCED_ALIGNED, its timeout kept.
  CheckpointOptions withUnalignedUnsupported() const;
  /// Behind such an edge: FORCED_ALIGNED turns back.
  CheckpointOptions withUnalignedSupported() const;
  /// ALIGNED to UNALIGNED, the timeout dropped. Requires: ALIGNED or UNALIGNED.
  CheckpointOptions toUnaligned() const;
};

}  // namespace weir
