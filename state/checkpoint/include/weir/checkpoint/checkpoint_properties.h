#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "weir/snapshot/checkpoint_options.h"

namespace weir {

/// When a checkpoint is discarded, and what it is. Flink: CheckpointProperties.
///
/// In `_metadata` it is a Java object, which Flink insists on. The object has the same shape for every value, so it is put together from
/// fixed pieces here, without knowing Java's serialization any further.
struct CheckpointProperties {
  SnapshotType type = SnapshotType::kCheckpoint;
  SavepointFormat format = SavepointFormat::kCanonical;  ///< savepoints only
  bool discardCancelled = false, discardFailed = false, discardFinished = true, discardSubsumed = true, discardSuspended = false;
  bool forced = false, unclaimed = false;

  bool operator==(const CheckpointProperties&) const = default;

  /// A checkpoint that the coordinator takes, by execution.checkpointing.externalized-checkpoint-retention.
  enum class Retention { kDeleteOnCancellation, kRetainOnCancellation, kNone };
  static CheckpointProperties forCheckpoint(SnapshotType type, Retention retention);
  static CheckpointProperties forSavepoint(SnapshotType type, SavepointFormat format);

  std::vector<std::byte> toJavaObject() const;
  /// Nothing if the object is none of those that toJavaObject() makes.
  static std::optional<CheckpointProperties> fromJavaObject(std::span<const std::byte> bytes);
};

}  // namespace weir
