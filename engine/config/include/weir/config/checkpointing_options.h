#pragma once

#include "weir/config/config_option.h"

// Options of checkpoints, savepoints and recovery. Flink: CheckpointingOptions, StateRecoveryOptions.
namespace weir {

/// Whether barriers are aligned or only counted. Flink: CheckpointingMode.
enum class CheckpointingMode { kExactlyOnce, kAtLeastOnce };
template <>
struct EnumNames<CheckpointingMode> {
  static constexpr std::string_view className = "org.apache.flink.core.execution.CheckpointingMode";
  static constexpr std::array<std::pair<std::string_view, CheckpointingMode>, 2> names{
      {{"EXACTLY_ONCE", CheckpointingMode::kExactlyOnce}, {"AT_LEAST_ONCE", CheckpointingMode::kAtLeastOnce}}};
};

/// What becomes of completed checkpoints when the job ends. Flink: ExternalizedCheckpointRetention.
enum class ExternalizedCheckpointRetention { kDeleteOnCancellation, kRetainOnCancellation, kNoExternalizedCheckpoints };
template <>
struct EnumNames<ExternalizedCheckpointRetention> {
  static constexpr std::string_view className = "org.apache.flink.configuration.ExternalizedCheckpointRetention";
  static constexpr std::array<std::pair<std::string_view, ExternalizedCheckpointRetention>, 3> names{
      {{"DELETE_ON_CANCELLATION", ExternalizedCheckpointRetention::kDeleteOnCancellation},
       {"RETAIN_ON_CANCELLATION", ExternalizedCheckpointRetention::kRetainOnCancellation},
       {"NO_EXTERNALIZED_CHECKPOINTS", ExternalizedCheckpointRetention::kNoExternalizedCheckpoints}}};
};

/// Who owns a snapshot that a job was restored from. Flink: RecoveryClaimMode.
enum class RecoveryClaimMode { kClaim, kNoClaim, kLegacy };
template <>
struct EnumNames<RecoveryClaimMode> {
  static constexpr std::string_view className = "org.apache.flink.core.execution.RecoveryClaimMode";
  static constexpr std::array<std::pair<std::string_view, RecoveryClaimMode>, 3> names{
      {{"CLAIM", RecoveryClaimMode::kClaim}, {"NO_CLAIM", RecoveryClaimMode::kNoClaim}, {"LEGACY", RecoveryClaimMode::kLegacy}}};
};

/// Unset: no periodic checkpoints.
inline constexpr ConfigOption<Duration> kCheckpointingInterval{"execution.checkpointing.interval", {}, complainBelow10Millis};
inline constexpr ConfigOption<Duration> kCheckpointingIntervalDuringBacklog{
    "execution.checkpointing.interval-during-backlog", {}, [](const Duration& value) {
      return value == Duration() ? nullptr : complainBelow10Millis(value) ? "0, or at least 10 ms" : nullptr;
    }};
inline constexpr ConfigOption<CheckpointingMode> kCheckpointingMode{"execution.checkpointing.mode", CheckpointingMode::kExactlyOnce};
inline constexpr ConfigOption<Duration> kCheckpointingTimeout{"execution.checkpointing.timeout", Duration(std::chrono::minutes(10)),
                                                              complainBelow10Millis};
inline constexpr ConfigOption<Duration> kMinPauseBetweenCheckpoints{"execution.checkpointing.min-pause", Duration()};
inline constexpr ConfigOption<int32_t> kMaxConcurrentCheckpoints{"execution.checkpointing.max-concurrent-checkpoints", 1, complainBelow<1>};
inline constexpr ConfigOption<int32_t> kTolerableFailedCheckpoints{"execution.checkpointing.tolerable-failed-checkpoints", 0,
                                                                   complainBelow<0>};
inline constexpr ConfigOption<bool> kUnalignedCheckpoints{"execution.checkpointing.unaligned.enabled", false};
inline constexpr ConfigOption<bool> kForceUnalignedCheckpoints{"execution.checkpointing.unaligned.forced", false};
inline constexpr ConfigOption<bool> kInterruptibleTimers{"execution.checkpointing.unaligned.interruptible-timers.enabled", false};
inline constexpr ConfigOption<int32_t> kMaxSubtasksPerChannelStateFile{
    "execution.checkpointing.unaligned.max-subtasks-per-channel-state-file", 5, complainBelow<1>};
/// Zero: unaligned from the start.
inline constexpr ConfigOption<Duration> kAlignedCheckpointTimeout{"execution.checkpointing.aligned-checkpoint-timeout", Duration()};
inline constexpr ConfigOption<ExternalizedCheckpointRetention> kExternalizedCheckpointRetention{
    "execution.checkpointing.externalized-checkpoint-retention", ExternalizedCheckpointRetention::kNoExternalizedCheckpoints};
inline constexpr ConfigOption<int32_t> kMaxRetainedCheckpoints{"execution.checkpointing.num-retained", 1, complainBelow<1>};
inline constexpr ConfigOption<bool> kCheckpointsAfterTasksFinish{"execution.checkpointing.checkpoints-after-tasks-finish", true};

/// "jobmanager" or "filesystem"; unset: filesystem where a folder is given.
inline constexpr ConfigOption<std::string> kCheckpointStorage{"execution.checkpointing.storage"};
inline constexpr ConfigOption<std::string> kCheckpointsDirectory{"execution.checkpointing.dir"};
inline constexpr ConfigOption<std::string> kSavepointDirectory{"execution.checkpointing.savepoint-dir"};
inline constexpr ConfigOption<bool> kCreateCheckpointSubDirectory{"execution.checkpointing.create-subdir", true};
inline constexpr ConfigOption<bool> kIncrementalCheckpoints{"execution.checkpointing.incremental", false};
inline constexpr ConfigOption<MemorySize> kDataInlineThreshold{
    "execution.checkpointing.data-inline-threshold", MemorySize::ofKibiBytes(20),
    [](const MemorySize& value) { return value > MemorySize::ofMebiBytes(1) ? "at most 1 mb" : nullptr; }};
inline constexpr ConfigOption<int32_t> kCheckpointWriteBufferSize{"execution.checkpointing.write-buffer-size", 4096, complainBelow<1>};
inline constexpr ConfigOption<bool> kSnapshotCompression{"execution.checkpointing.snapshot-compression", false};
/// Of the wire of Flink 1.4; -1: no limit.
inline constexpr ConfigOption<int64_t> kAlignmentMaxSize{"task.checkpoint.alignment.max-size", -1, [](const int64_t& value) {
                                                           return value == 0 || value < -1 ? "-1 or more than 0" : nullptr;
                                                         }};

inline constexpr ConfigOption<std::string> kStateRecoveryPath{"execution.state-recovery.path"};
inline constexpr ConfigOption<bool> kIgnoreUnclaimedState{"execution.state-recovery.ignore-unclaimed-state", false};
inline constexpr ConfigOption<RecoveryClaimMode> kRecoveryClaimMode{"execution.state-recovery.claim-mode", RecoveryClaimMode::kNoClaim};
/// -1: none.
inline constexpr ConfigOption<int64_t> kRecoverWithoutChannelStateCheckpointId{
    "execution.state-recovery.without-channel-state.checkpoint-id", -1};

}  // namespace weir
