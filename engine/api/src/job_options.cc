#include "weir/api/job_options.h"

#include "weir/base/memory_file_system.h"
#include "weir/channel/channel_state_reader.h"
#include "weir/checkpoint/checkpoint_files.h"
#include "weir/config/checkpointing_options.h"
#include "weir/config/execution_options.h"
#include "weir/config/metric_options.h"
#include "weir/config/rest_options.h"
#include "weir/config/restart_options.h"
#include "weir/config/weir_options.h"
#include "weir/exchange/partitioner.h"

namespace weir {
namespace {

CheckpointProperties::Retention retentionOf(ExternalizedCheckpointRetention retention) {
  switch (retention) {
    case ExternalizedCheckpointRetention::kDeleteOnCancellation: return CheckpointProperties::Retention::kDeleteOnCancellation;
    case ExternalizedCheckpointRetention::kRetainOnCancellation: return CheckpointProperties::Retention::kRetainOnCancellation;
    case ExternalizedCheckpointRetention::kNoExternalizedCheckpoints: break;
  }
  return CheckpointProperties::Retention::kNone;
}

/// As Flink: only exactly-once checkpoints can be unaligned; the wish is dropped with a warning, and the job runs.
Result<void> readUnaligned(const Configuration& c, CheckpointCoordinatorConfiguration& options, std::vector<std::string>& warnings) {
  WEIR_ASSIGN(options.unalignedEnabled, c.get(kUnalignedCheckpoints));
  WEIR_ASSIGN(options.alignedCheckpointTimeout, c.getMillis(kAlignedCheckpointTimeout));
  if (options.unalignedEnabled && !options.exactlyOnce) {
    warnings.emplace_back("Unaligned checkpoints can only be used with checkpointing mode EXACTLY_ONCE");
    options.unalignedEnabled = false;
  }
  if (options.unalignedEnabled && !options.isPeriodic()) {
    warnings.emplace_back("Unaligned checkpoints are enabled, but checkpointing is not: set execution.checkpointing.interval");
    options.unalignedEnabled = false;
  }
  return {};
}

Result<CheckpointCoordinatorConfiguration> readCheckpointing(const Configuration& c, std::vector<std::string>& warnings) {
  CheckpointCoordinatorConfiguration options;
  WEIR_ASSIGN(const auto interval, c.getOptional(kCheckpointingInterval));
  if (interval) options.interval = interval->toMillis();
  WEIR_ASSIGN(const auto duringBacklog, c.getOptional(kCheckpointingIntervalDuringBacklog));
  if (duringBacklog) {
    options.hasIntervalDuringBacklog = true;
    options.intervalDuringBacklog =
        *duringBacklog == Duration() ? CheckpointCoordinatorConfiguration::kDisabled : duringBacklog->toMillis();
  }
  WEIR_ASSIGN(options.timeout, c.getMillis(kCheckpointingTimeout));
  WEIR_ASSIGN(options.minPause, c.getMillis(kMinPauseBetweenCheckpoints));
  WEIR_ASSIGN(options.maxConcurrentCheckpoints, c.get(kMaxConcurrentCheckpoints));
  WEIR_ASSIGN(options.tolerableFailedCheckpoints, c.get(kTolerableFailedCheckpoints));
  WEIR_ASSIGN(const CheckpointingMode mode, c.get(kCheckpointingMode));
  options.exactlyOnce = mode == CheckpointingMode::kExactlyOnce;
  WEIR_TRY(readUnaligned(c, options, warnings));
  WEIR_ASSIGN(options.checkpointsAfterTasksFinish, c.get(kCheckpointsAfterTasksFinish));
  WEIR_ASSIGN(const auto retention, c.get(kExternalizedCheckpointRetention));
  options.retention = retentionOf(retention);
  WEIR_ASSIGN(options.numRetained, c.get(kMaxRetainedCheckpoints));
  WEIR_ASSIGN(options.historySize, c.get(kWebCheckpointsHistory));
  WEIR_ASSIGN(const auto savepoints, c.getOptional(kSavepointDirectory));
  options.savepointDirectory = savepoints.value_or("");
  WEIR_TRY(options.validate());
  return options;
}

RestartStrategyOptions::Type restartTypeOf(RestartStrategyType type) {
  switch (type) {
    case RestartStrategyType::kFixedDelay: return RestartStrategyOptions::Type::kFixedDelay;
    case RestartStrategyType::kFailureRate: return RestartStrategyOptions::Type::kFailureRate;
    case RestartStrategyType::kExponentialDelay: return RestartStrategyOptions::Type::kExponentialDelay;
    case RestartStrategyType::kNone: break;
  }
  return RestartStrategyOptions::Type::kNone;
}

Result<RestartStrategyOptions> readRestartStrategy(const Configuration& c, bool checkpointing) {
  RestartStrategyOptions options = RestartStrategyOptions::defaults(checkpointing);
  WEIR_ASSIGN(const auto type, c.getOptional(kRestartStrategy));
  if (type) options.type = restartTypeOf(*type);
  WEIR_ASSIGN(options.fixedDelayAttempts, c.get(kFixedDelayAttempts));
  WEIR_ASSIGN(options.fixedDelay, c.getMillis(kFixedDelayDelay));
  WEIR_ASSIGN(options.failureRateMaxFailures, c.get(kFailureRateMaxFailures));
  WEIR_ASSIGN(options.failureRateInterval, c.getMillis(kFailureRateInterval));
  WEIR_ASSIGN(options.failureRateDelay, c.getMillis(kFailureRateDelay));
  WEIR_ASSIGN(options.initialBackoff, c.getMillis(kExponentialDelayInitialBackoff));
  WEIR_ASSIGN(options.maxBackoff, c.getMillis(kExponentialDelayMaxBackoff));
  WEIR_ASSIGN(options.backoffMultiplier, c.get(kExponentialDelayBackoffMultiplier));
  WEIR_ASSIGN(options.resetBackoffThreshold, c.getMillis(kExponentialDelayResetBackoffThreshold));
  WEIR_ASSIGN(options.jitterFactor, c.get(kExponentialDelayJitterFactor));
  WEIR_ASSIGN(options.attemptsBeforeResetBackoff, c.get(kExponentialDelayAttempts));
  WEIR_TRY(options.validate());
  return options;
}

LatencyPer latencyPerOf(LatencyGranularity granularity) {
  switch (granularity) {
    case LatencyGranularity::kSingle: return LatencyPer::kSingle;
    case LatencyGranularity::kSubtask: return LatencyPer::kSubtask;
    case LatencyGranularity::kOperator: break;
  }
  return LatencyPer::kOperator;
}

Result<void> readTime(const Configuration& c, TaskSettings& settings) {
  WEIR_ASSIGN(settings.interruptibleTimers, c.get(kInterruptibleTimers));
  WEIR_ASSIGN(const Duration watermarks, c.get(kAutoWatermarkInterval));
  settings.autoWatermarkInterval = watermarks.toMillis();
  WEIR_ASSIGN(const Duration latency, c.get(kLatencyInterval));
  settings.latency.interval = latency.toMillis();
  WEIR_ASSIGN(const LatencyGranularity granularity, c.get(kLatencyGranularity));
  settings.latency.per = latencyPerOf(granularity);
  WEIR_ASSIGN(settings.latency.historySize, c.get(kLatencyHistorySize));
  return {};
}

}  // namespace

Result<JobOptions> JobOptions::from(const Configuration& c) {
  JobOptions options;
  WEIR_ASSIGN(options.checkpointing, readCheckpointing(c, options.warnings));
  WEIR_ASSIGN(options.scheduler.restart, readRestartStrategy(c, options.checkpointing.isPeriodic()));
  options.taskSettings = {options.checkpointing.isPeriodic(), options.checkpointing.exactlyOnce,
                          options.checkpointing.checkpointsAfterTasksFinish, options.checkpointing.maxConcurrentCheckpoints};
  WEIR_TRY(readTime(c, options.taskSettings));
  WEIR_ASSIGN(options.allowNonRestoredState, c.get(kIgnoreUnclaimedState));
  WEIR_ASSIGN(options.maxSubtasksPerChannelStateFile, c.get(kMaxSubtasksPerChannelStateFile));
  WEIR_ASSIGN(options.independentChannelStateAcks, c.get(kIndependentChannelStateAcks));
  WEIR_ASSIGN(options.forceUnaligned, c.get(kForceUnalignedCheckpoints));
  return options;
}

Result<void> JobOptions::check(const JobGraph& graph) const {
  if (!checkpointing.unalignedEnabled || forceUnaligned) return {};
  for (const IntermediateDataSet& dataSet : graph.dataSets())
    if (dataSet.shipStrategy == traitsOf(PartitionerKind::kCustom).name)
      return Error{ErrorCode::kUnsupported,
                   "Unaligned checkpoints are currently not supported for custom partitioners, as rescaling is not guaranteed to work "
                   "correctly.\nThe user can force Unaligned Checkpoints by using 'execution.checkpointing.unaligned.forced'"};
  return {};
}

Result<std::shared_ptr<FsCheckpointStorage>> openCheckpointStorage(const Configuration& c, FileSystem& files, const JobID& job,
                                                                   uint64_t seed) {
  FsCheckpointStorageOptions options;
  WEIR_ASSIGN(const auto directory, c.getOptional(kCheckpointsDirectory));
  WEIR_ASSIGN(const MemorySize threshold, c.get(kDataInlineThreshold));
  options.inlineThreshold = static_cast<size_t>(threshold.bytes);
  WEIR_ASSIGN(options.sync, c.get(kCheckpointSync));
  const Random random(seed, "checkpoint storage");
  std::shared_ptr<FileSystem> memory;
  if (!directory) {
    memory = std::make_shared<MemoryFileSystem>();
    options.directory = "/checkpoints";
    options.sync = false;
    options.elsewhere = &files;  // a job may start from a checkpoint on the disk all the same
  } else {
    options.directory = *directory;
  }
  auto created = FsCheckpointStorage::create(memory ? *memory : files, job, options, random);
  if (created.has_error()) return created.error().in(std::string(kCheckpointsDirectory.key));
  std::shared_ptr<FsCheckpointStorage> storage = std::move(*created);
  if (auto usable = storage->initializeBaseLocations(); usable.has_error())
    return Error{usable.error().code, usable.error().message + "; give execution.checkpointing.dir a folder that can be written"};
  if (!memory) return storage;
  return std::shared_ptr<FsCheckpointStorage>(storage.get(), [memory, storage](FsCheckpointStorage*) {});
}

namespace {

/// In-flight data is checked length by length, or taken out where the user gives it up.
CheckpointReview reviewInFlightData(CheckpointWorkerStorage& storage, int64_t withoutChannelStateOf, const Logger& log) {
  return [&storage, withoutChannelStateOf, log](CheckpointMetadata& metadata) -> Result<void> {
    if (metadata.checkpointId != withoutChannelStateOf) return checkChannelState(storage, metadata.operators);
    const ForgottenChannelState forgotten = forgetChannelState(metadata.operators);
    log.warn("Restoring checkpoint {} without its in-flight data: {} buffers with {} bytes of records are given up.", metadata.checkpointId,
             forgotten.buffers, forgotten.bytes);
    return {};
  };
}

}  // namespace

Result<std::optional<InitialCheckpoint>> loadInitialCheckpoint(const Configuration& c, FileSystem& files, CheckpointWorkerStorage& storage,
                                                               LogSink& log) {
  WEIR_ASSIGN(const auto path, c.getOptional(kStateRecoveryPath));
  if (!path) return std::optional<InitialCheckpoint>();
  WEIR_ASSIGN(const RecoveryClaimMode mode, c.get(kRecoveryClaimMode));
  WEIR_ASSIGN(const bool allowNonRestored, c.get(kIgnoreUnclaimedState));
  WEIR_ASSIGN(const bool fallBack, c.get(kRecoveryFallBack));
  WEIR_ASSIGN(const int64_t withoutChannelStateOf, c.get(kRecoverWithoutChannelStateCheckpointId));
  const Logger logger(log, "org.apache.flink.runtime.checkpoint.CheckpointCoordinator");
  const CheckpointReview review = reviewInFlightData(storage, withoutChannelStateOf, logger);
  auto loaded = loadCheckpoint(files, *path, review);
  if (loaded.has_error() && fallBack) {
    WEIR_ASSIGN(std::string local, localPath(*path));
    while (local.size() > 1 && local.back() == '/') local.pop_back();
    WEIR_ASSIGN(FallBackCheckpoint older, loadNewestCheckpoint(files, local.substr(0, local.find_last_of('/')), review));
    logger.warn("{}. Restoring {} instead, as weir.recovery.fall-back allows: output that was committed after it will be repeated.",
                loaded.error().message, older.checkpoint.folder);
    loaded = std::move(older.checkpoint);
  }
  if (loaded.has_error()) return loaded.error().in("execution.state-recovery.path");
  InitialCheckpoint initial;
  initial.path = loaded->folder;
  initial.checkpointId = loaded->metadata.checkpointId;
  initial.operators = std::move(loaded->metadata.operators);
  initial.mode = mode == RecoveryClaimMode::kClaim ? RestoreMode::kClaim : RestoreMode::kNoClaim;
  initial.allowNonRestoredState = allowNonRestored;
  return std::optional<InitialCheckpoint>(std::move(initial));
}

}  // namespace weir
