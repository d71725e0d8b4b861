#pragma once

#include "weir/config/config_option.h"

// Options of a TaskManager. Flink: TaskManagerOptions.
namespace weir {

/// Of a cluster in one process. Flink: TaskManagerOptions.MINI_CLUSTER_NUM_TASK_MANAGERS.
inline constexpr ConfigOption<int32_t> kMiniClusterTaskManagers{"minicluster.number-of-taskmanagers", 1, complainOutside1To1024};
inline constexpr ConfigOption<int32_t> kNumberOfTaskSlots{"taskmanager.numberOfTaskSlots", 1, complainBelow<1>};
inline constexpr ConfigOption<std::string> kTaskManagerHost{"taskmanager.host"};
inline constexpr ConfigOption<std::string> kTaskManagerBindHost{"taskmanager.bind-host"};
inline const ConfigOption<std::string> kTaskManagerRpcPort{"taskmanager.rpc.port", "0"};
inline constexpr ConfigOption<int32_t> kTaskManagerDataPort{"taskmanager.data.port", 0, complainBelow<0>};
inline constexpr ConfigOption<std::string> kTaskManagerDataBindPort{"taskmanager.data.bind-port"};
inline constexpr ConfigOption<std::string> kTaskManagerResourceId{"taskmanager.resource-id"};
inline constexpr ConfigOption<Duration> kTaskManagerRegistrationTimeout{"taskmanager.registration.timeout",
                                                                        Duration(std::chrono::minutes(5))};
inline constexpr ConfigOption<MemorySize> kTaskManagerFlinkMemory{"taskmanager.memory.flink.size"};
inline constexpr ConfigOption<MemorySize> kTaskManagerProcessMemory{"taskmanager.memory.process.size"};
inline constexpr ConfigOption<MemorySize> kManagedMemorySize{"taskmanager.memory.managed.size"};
inline constexpr ConfigOption<float> kManagedMemoryFraction{"taskmanager.memory.managed.fraction", 0.4f, complainOutsideUnit};
inline constexpr ConfigOption<Duration> kTaskCancellationInterval{"task.cancellation.interval", Duration(std::chrono::seconds(30))};
/// Zero: never.
inline constexpr ConfigOption<Duration> kTaskCancellationTimeout{"task.cancellation.timeout", Duration(std::chrono::minutes(3))};
inline constexpr ConfigOption<Duration> kTaskCancellationTimersTimeout{"task.cancellation.timers.timeout", Duration(Millis(7500))};

}  // namespace weir
