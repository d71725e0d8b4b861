#pragma once

#include "weir/config/config_option.h"

// Options of the JobManager and of its connections to TaskManagers. Flink: JobManagerOptions, HeartbeatManagerOptions.
namespace weir {

inline constexpr ConfigOption<std::string> kJobManagerAddress{"jobmanager.rpc.address"};
inline constexpr ConfigOption<int32_t> kJobManagerPort{"jobmanager.rpc.port", 6123, complainBelow<0>};
inline constexpr ConfigOption<std::string> kJobManagerBindHost{"jobmanager.bind-host"};
inline constexpr ConfigOption<int32_t> kAttemptsHistorySize{"jobmanager.execution.attempts-history-size", 16, complainBelow<0>};
inline constexpr ConfigOption<Duration> kHeartbeatInterval{"heartbeat.interval", Duration(std::chrono::seconds(10)), complainZero};
inline constexpr ConfigOption<Duration> kHeartbeatTimeout{"heartbeat.timeout", Duration(std::chrono::seconds(50)), complainZero};
inline constexpr ConfigOption<Duration> kSlotRequestTimeout{"slot.request.timeout", Duration(std::chrono::minutes(5))};
inline constexpr ConfigOption<Duration> kSlotIdleTimeout{"slot.idle.timeout", Duration(std::chrono::seconds(50))};
inline constexpr ConfigOption<std::string> kLogDirectory{"env.log.dir"};

}  // namespace weir
