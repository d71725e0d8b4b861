#include <algorithm>

#include "weir/config/checkpointing_options.h"
#include "weir/config/configuration.h"
#include "weir/config/execution_options.h"
#include "weir/config/job_manager_options.h"
#include "weir/config/known_options.h"
#include "weir/config/metric_options.h"
#include "weir/config/network_options.h"
#include "weir/config/rest_options.h"
#include "weir/config/restart_options.h"
#include "weir/config/security_options.h"
#include "weir/config/state_options.h"
#include "weir/config/task_manager_options.h"
#include "weir/config/weir_options.h"

namespace weir {
namespace {

template <const auto& kOption>
TypedOption typed() {
  using T = typename std::remove_cvref_t<decltype(kOption)>::Value;
  return {kOption.key, ConfigType<T>::kName, kOption.defaultValue ? ConfigType<T>::print(*kOption.defaultValue) : "",
          [](const Configuration& configuration) -> Result<void> {
            WEIR_TRY(configuration.getOptional(kOption));
            return {};
          }};
}

template <const auto&... kOptions>
std::vector<TypedOption> allTyped() {
  std::vector<TypedOption> options{typed<kOptions>()...};
  std::sort(options.begin(), options.end(), [](const TypedOption& a, const TypedOption& b) { return a.key < b.key; });
  return options;
}

}  // namespace

const std::vector<TypedOption>& typedOptions() {
  static const std::vector<TypedOption> options = allTyped<
      kCheckpointingInterval, kCheckpointingIntervalDuringBacklog, kCheckpointingMode, kCheckpointingTimeout, kMinPauseBetweenCheckpoints,
      kMaxConcurrentCheckpoints, kTolerableFailedCheckpoints, kUnalignedCheckpoints, kForceUnalignedCheckpoints, kInterruptibleTimers,
      kMaxSubtasksPerChannelStateFile, kAlignedCheckpointTimeout, kExternalizedCheckpointRetention, kMaxRetainedCheckpoints,
      kCheckpointsAfterTasksFinish, kCheckpointStorage, kCheckpointsDirectory, kSavepointDirectory, kCreateCheckpointSubDirectory,
      kIncrementalCheckpoints, kDataInlineThreshold, kCheckpointWriteBufferSize, kSnapshotCompression, kAlignmentMaxSize,
      kStateRecoveryPath, kIgnoreUnclaimedState, kRecoveryClaimMode, kRecoverWithoutChannelStateCheckpointId, kRuntimeMode,
      kBufferTimeoutEnabled, kBufferTimeout, kDefaultParallelism, kMaxParallelism, kOperatorChaining, kObjectReuse, kPipelineName,
      kAutoWatermarkInterval, kAutoGenerateUids, kGlobalJobParameters, kJobManagerAddress, kJobManagerPort, kJobManagerBindHost,
      kAttemptsHistorySize, kHeartbeatInterval, kHeartbeatTimeout, kSlotRequestTimeout, kSlotIdleTimeout, kLogDirectory, kMetricReporters,
      kMetricScopeDelimiter, kMetricScopeJobManager, kMetricScopeJobManagerJob, kMetricScopeJobManagerOperator, kMetricScopeTaskManager,
      kMetricScopeTaskManagerJob, kMetricScopeTask, kMetricScopeOperator, kLatencyInterval, kLatencyGranularity, kLatencyHistorySize,
      kMetricFetcherUpdateInterval, kMemorySegmentSize, kMinMemorySegmentSize, kStartingMemorySegmentSize, kNetworkMemoryFraction,
      kNetworkMemoryMin, kNetworkMemoryMax, kBuffersPerChannel, kFloatingBuffersPerGate, kMaxBuffersPerChannel, kMaxOverdraftBuffersPerGate,
      kMaxRequiredBuffersPerGate, kBuffersRequestTimeout, kBufferDebloatEnabled, kBufferDebloatPeriod, kBufferDebloatSamples,
      kBufferDebloatTarget, kBufferDebloatThresholdPercentages, kNetworkDetailedMetrics, kNetworkRetries, kConnectTimeoutSeconds,
      kKeepIdleSeconds, kKeepIntervalSeconds, kKeepCount, kSendReceiveBufferSize, kServerBacklog, kRequestBackoffInitial,
      kRequestBackoffMax, kPartitionRequestTimeout, kRestPort, kRestBindPort, kRestAddress, kRestBindAddress, kRestMaxContentLength,
      kRestAsyncStoreDuration, kWebRefreshInterval, kWebTimeout, kWebCheckpointsHistory, kWebExceptionHistorySize,
      kWebAccessControlAllowOrigin, kWebCancelEnable, kWebSubmitEnable, kRestartStrategy, kFixedDelayAttempts, kFixedDelayDelay,
      kFailureRateMaxFailures, kFailureRateInterval, kFailureRateDelay, kExponentialDelayInitialBackoff, kExponentialDelayMaxBackoff,
      kExponentialDelayBackoffMultiplier, kExponentialDelayResetBackoffThreshold, kExponentialDelayJitterFactor, kExponentialDelayAttempts,
      kFailoverStrategy, kStateBackend, kRocksDbLocalDirectory, kRocksDbTimerService, kRocksDbTransferThreads, kRocksDbThreads,
      kRocksDbWriteBufferSize, kRocksDbWriteBufferCount, kRocksDbBlockCacheSize, kRocksDbFixedMemoryPerSlot, kMiniClusterTaskManagers,
      kNumberOfTaskSlots, kTaskManagerHost, kTaskManagerBindHost, kTaskManagerRpcPort, kTaskManagerDataPort, kTaskManagerDataBindPort,
      kTaskManagerResourceId, kTaskManagerRegistrationTimeout, kTaskManagerFlinkMemory, kTaskManagerProcessMemory, kManagedMemorySize,
      kManagedMemoryFraction, kTaskCancellationInterval, kTaskCancellationTimeout, kTaskCancellationTimersTimeout, kExecutor, kPoolWorkers,
      kSimulationCores, kCheckpointSync, kRecoveryFallBack, kTracePath, kIndependentChannelStateAcks, kFlowControl,
      kSslInternalEnabled, kDataSslEnabled, kSslInternalKeyStore, kSslInternalKeyStorePassword, kSslInternalKeyPassword,
      kSslInternalTrustStore, kSslInternalTrustStorePassword, kSslKeyStore, kSslKeyStorePassword, kSslKeyPassword, kSslTrustStore,
      kSslTrustStorePassword, kSslInternalKeyStoreType, kSslInternalTrustStoreType, kSslInternalFingerprint, kSslInternalHandshakeTimeout,
      kSslProtocol, kSslAlgorithms>();
  return options;
}

}  // namespace weir
