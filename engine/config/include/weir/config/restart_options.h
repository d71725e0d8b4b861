#pragma once

#include <limits>

#include "weir/config/config_option.h"

// Options of what follows a failure. Flink: RestartStrategyOptions, JobManagerOptions (failover).
namespace weir {

enum class RestartStrategyType { kNone, kFixedDelay, kFailureRate, kExponentialDelay };
template <>
struct EnumNames<RestartStrategyType> {
  static constexpr std::string_view className = "restart-strategy.type";
  static constexpr std::array<std::pair<std::string_view, RestartStrategyType>, 9> names{
      {{"none", RestartStrategyType::kNone},
       {"off", RestartStrategyType::kNone},
       {"disable", RestartStrategyType::kNone},
       {"fixed-delay", RestartStrategyType::kFixedDelay},
       {"fixeddelay", RestartStrategyType::kFixedDelay},
       {"failure-rate", RestartStrategyType::kFailureRate},
       {"failurerate", RestartStrategyType::kFailureRate},
       {"exponential-delay", RestartStrategyType::kExponentialDelay},
       {"exponentialdelay", RestartStrategyType::kExponentialDelay}}};
};

/// Region: what is connected to the failed task by pipelined edges; full: everything.
enum class FailoverStrategy { kRegion, kFull };
template <>
struct EnumNames<FailoverStrategy> {
  static constexpr std::string_view className = "jobmanager.execution.failover-strategy";
  static constexpr std::array<std::pair<std::string_view, FailoverStrategy>, 2> names{
      {{"region", FailoverStrategy::kRegion}, {"full", FailoverStrategy::kFull}}};
};

/// Unset: none without periodic checkpoints, exponential delay with them.
inline constexpr ConfigOption<RestartStrategyType> kRestartStrategy{"restart-strategy.type"};
inline constexpr ConfigOption<int32_t> kFixedDelayAttempts{"restart-strategy.fixed-delay.attempts", 1, complainBelow<0>};
inline constexpr ConfigOption<Duration> kFixedDelayDelay{"restart-strategy.fixed-delay.delay", Duration(std::chrono::seconds(1))};
inline constexpr ConfigOption<int32_t> kFailureRateMaxFailures{"restart-strategy.failure-rate.max-failures-per-interval", 1,
                                                               complainBelow<1>};
inline constexpr ConfigOption<Duration> kFailureRateInterval{"restart-strategy.failure-rate.failure-rate-interval",
                                                             Duration(std::chrono::minutes(1)), complainZero};
inline constexpr ConfigOption<Duration> kFailureRateDelay{"restart-strategy.failure-rate.delay", Duration(std::chrono::seconds(1))};
inline constexpr ConfigOption<Duration> kExponentialDelayInitialBackoff{"restart-strategy.exponential-delay.initial-backoff",
                                                                        Duration(std::chrono::seconds(1)), complainZero};
inline constexpr ConfigOption<Duration> kExponentialDelayMaxBackoff{"restart-strategy.exponential-delay.max-backoff",
                                                                    Duration(std::chrono::minutes(1)), complainZero};
inline constexpr ConfigOption<double> kExponentialDelayBackoffMultiplier{
    "restart-strategy.exponential-delay.backoff-multiplier", 1.5, [](const double& value) { return value > 1 ? nullptr : "more than 1"; }};
inline constexpr ConfigOption<Duration> kExponentialDelayResetBackoffThreshold{"restart-strategy.exponential-delay.reset-backoff-threshold",
                                                                               Duration(std::chrono::hours(1)), complainZero};
inline constexpr ConfigOption<double> kExponentialDelayJitterFactor{"restart-strategy.exponential-delay.jitter-factor", 0.1,
                                                                    complainOutsideUnitDouble};
inline constexpr ConfigOption<int32_t> kExponentialDelayAttempts{"restart-strategy.exponential-delay.attempts-before-reset-backoff",
                                                                 std::numeric_limits<int32_t>::max(), complainBelow<1>};
inline constexpr ConfigOption<FailoverStrategy> kFailoverStrategy{"jobmanager.execution.failover-strategy", FailoverStrategy::kRegion};

}  // namespace weir
